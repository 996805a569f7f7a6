"""How does a new key pair come into files? Whole or not at all, over nothing that is there, and secret from the start.

The form is that of pyzmq's and czmq's certificates, so that their programs can use them too.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from fmqbus.errors import LocalError
from fmqbus.transports.zeromq.keys import PUBLIC_SUFFIX, SECRET_SUFFIX, KeyPair

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,99}")

_PUBLIC = """\
#   ZeroMQ CURVE public certificate. Everybody may read it; whoever lets somebody in by it has to be sure whose it is.

metadata
    name = "{name}"
curve
    public-key = "{pair.public}"
"""
_SECRET = """\
#   ZeroMQ CURVE **secret** certificate. Whoever can read it can pass for its owner.

metadata
    name = "{name}"
curve
    public-key = "{pair.public}"
    secret-key = "{pair.secret}"
"""


def write_new_pair(folder: Path, name: str, pair: KeyPair) -> tuple[Path, Path]:
    """Write ``NAME.key`` and ``NAME.key_secret``, and return their paths. Raises `LocalError`, also where one of them
    is there already; nothing has then changed."""
    if not _NAME.fullmatch(name):
        raise LocalError(f"{name!a} is no name for a key: letters, digits and _ . @ - are, up to 100")
    secret, public = folder / f"{name}{SECRET_SUFFIX}", folder / f"{name}{PUBLIC_SUFFIX}"
    _write(secret, _SECRET.format(name=name, pair=pair), 0o600)
    try:
        _write(public, _PUBLIC.format(name=name, pair=pair), 0o644)
    except LocalError:
        with suppress(OSError):
            secret.unlink()
        raise
    return public, secret


def _write(path: Path, text: str, mode: int) -> None:
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "w") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise LocalError(f"{path}: is there already") from None
    except OSError as error:
        raise LocalError(f"{path}: cannot be written: {error.strerror}") from None
