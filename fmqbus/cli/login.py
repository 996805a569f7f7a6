"""Who does a command log in as? As the environment says; neither a password nor a key is a word of the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fmqbus.cli.exits import CommandFailed
from fmqbus.client import credentials
from fmqbus.client.url import BusURL, parse_url
from fmqbus.errors import LocalError

USER, PASSWORD_FILE = "FMQBUS_USER", "FMQBUS_PASSWORD_FILE"
SERVER_KEY_FILE, KEY_FILE = "FMQBUS_SERVER_KEY_FILE", "FMQBUS_KEY_FILE"


def _umq(user: str, password: str | None) -> Any:
    return credentials.external(user) if password is None else credentials.plain(user, password)


def _exchange(user: str, password: str | None) -> Any:
    # only where it is needed: each command is to start fast
    from fmqbus.client import sasl

    return sasl.external(user) if password is None else sasl.password(user, password)


#: What can carry a login so far, and as what its client takes it.
_CREDENTIALS: Mapping[str, Callable[[str, str | None], Any]] = {"umq": _umq, "micromsg2": _exchange, "mtl": _exchange}


def login_options(url: str) -> Mapping[str, Any]:
    """What to make the client of a URL with. Raises `CommandFailed` for a file that cannot be used, and `InvalidURL`.

    Without a password, the user is who the carrier vouches for. A URL that says who we are goes before the
    environment."""
    where = parse_url(url)
    return {**_credentials(where), **_passport(where)}


def _credentials(where: BusURL) -> Mapping[str, Any]:
    user, file = os.environ.get(USER), os.environ.get(PASSWORD_FILE)
    say = _CREDENTIALS.get(where.protocol)
    if not user or say is None or where.names_login:
        return {}
    try:
        return {"credentials": say(user, credentials.first_line(file) if file else None)}
    except (OSError, UnicodeDecodeError, LocalError) as error:
        raise CommandFailed(f"{PASSWORD_FILE}: {error}") from None


def _passport(where: BusURL) -> Mapping[str, Any]:
    server_key, key = os.environ.get(SERVER_KEY_FILE), os.environ.get(KEY_FILE)
    if where.protocol != "mtl" or not server_key or "server-key" in where.options:
        return {}
    from fmqbus.transports.zeromq.passport import curve

    try:
        return {"passport": curve(Path(server_key), Path(key) if key else None)}
    except LocalError as error:
        raise CommandFailed(f"{SERVER_KEY_FILE}, {KEY_FILE}: {error}") from None
