"""Who does a command log in as? As the environment says; a password is never a word of the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fmqbus.cli.exits import CommandFailed
from fmqbus.client import credentials
from fmqbus.client.url import parse_url
from fmqbus.errors import LocalError

USER, PASSWORD_FILE = "FMQBUS_USER", "FMQBUS_PASSWORD_FILE"

#: What can carry a login so far.
_PROTOCOLS = frozenset({"umq"})


def login_options(url: str) -> Mapping[str, Any]:
    """What to make the client of a URL with. Raises `CommandFailed` for a file that cannot be used, and `InvalidURL`.

    Without a password, the user is who the carrier vouches for."""
    user, file = os.environ.get(USER), os.environ.get(PASSWORD_FILE)
    if not user or parse_url(url).protocol not in _PROTOCOLS:
        return {}
    try:
        return {"credentials": credentials.plain(user, _first_line(file)) if file else credentials.external(user)}
    except (OSError, UnicodeDecodeError, LocalError) as error:
        raise CommandFailed(f"{PASSWORD_FILE}: {error}") from None


def _first_line(file: str) -> str:
    return Path(file).read_bytes().split(b"\n", 1)[0].removesuffix(b"\r").decode()
