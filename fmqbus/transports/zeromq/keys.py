"""The files in which CURVE keys are kept, as pyzmq and czmq have them: who may use one, and what is in it?

``NAME.key`` has a public key, ``NAME.key_secret`` both. A public key is no secret, but whoever can exchange it lets
himself in: so nobody but root and the one who runs the bus may change a file that says who is let in, or its folder.
Whatever is wrong with a file is an error that names it; none is passed over.
"""

from __future__ import annotations

import os
import re
import stat
import struct
from functools import partial
from pathlib import Path

import attrs
import zmq
from zmq.utils import z85

from fmqbus.errors import ConfigError
from fmqbus.guarded_files import check_belongs_to_us, read_guarded

PUBLIC_SUFFIX, SECRET_SUFFIX = ".key", ".key_secret"

#: pyzmq's files have some 400.
_MOST_OCTETS = 16 * 1024
OTHERS_CHANGE_IT = stat.S_IWGRP | stat.S_IWOTH
#: The operator may let a group read it.
_OTHERS_READ_IT = stat.S_IWGRP | stat.S_IRWXO
_LINE = re.compile(rb"""\s*(public-key|secret-key)\s*=\s*["']?([^"'\s]*)["']?\s*""")


@attrs.frozen
class KeyPair:
    """A key pair of CURVE, each half as 40 letters of Z85."""

    public: str
    secret: str = attrs.field(repr=False)

    @classmethod
    def new(cls) -> KeyPair:
        """One that nobody has had."""
        public, secret = zmq.curve_keypair()
        return cls(public.decode(), secret.decode())


def read_key_pair(path: Path) -> KeyPair:
    """The key pair in a file, which nobody but its owner and perhaps a group may read. Raises `ConfigError`."""
    public, secret = _read(path, _OTHERS_READ_IT)
    if len(secret) != 1:
        raise ConfigError(f"{path}: has no secret key" if not secret else f"{path}: has several secret keys")
    belongs = zmq.curve_public(secret[0].encode()).decode()
    if public not in ([], [belongs]):
        raise ConfigError(f"{path}: the public key is not that of the secret one")
    return KeyPair(belongs, secret[0])


def read_public_keys(path: Path) -> list[str]:
    """The public keys in a file, at least one. A secret one is of no use there, and must not lie about. Raises
    `ConfigError`."""
    public, secret = _read(path, OTHERS_CHANGE_IT)
    if secret:
        raise ConfigError(f"{path}: has a secret key, and is to have public ones only")
    if not public:
        raise ConfigError(f"{path}: has no public key")
    return public


def read_any(path: Path) -> list[str]:
    """The public keys in a file of either kind. Raises `ConfigError`."""
    public, _ = _read(path, OTHERS_CHANGE_IT)
    return public


def read_server_key(path: Path) -> str:
    """The one public key in a file of either kind. Raises `ConfigError`."""
    public = read_any(path)
    if len(public) != 1:
        raise ConfigError(f"{path}: has {len(public) or 'no'} public keys, and is to have one")
    return public[0]


def _read(path: Path, forbidden: int) -> tuple[list[str], list[str]]:
    """The public and the secret keys in a file."""
    octets = read_guarded(path, _MOST_OCTETS, partial(check_owner, forbidden=forbidden))
    found: dict[bytes, list[str]] = {b"public-key": [], b"secret-key": []}
    for number, line in enumerate(octets.splitlines(), 1):
        if line.strip().startswith(tuple(found)):
            if (match := _LINE.fullmatch(line)) is None:
                raise ConfigError(f'{path}, line {number}: a key is written as public-key = "..."')
            found[match[1]].append(_checked(match[2], f"{path}, line {number}"))
    return found[b"public-key"], found[b"secret-key"]


def check_owner(path: Path, status: os.stat_result, forbidden: int) -> None:
    """Raise `ConfigError` where somebody else could do what the bits of a mode say that are forbidden."""
    if status.st_mode & forbidden:
        mode = stat.S_IMODE(status.st_mode)
        does = "read or change" if forbidden & stat.S_IROTH else "change"
        raise ConfigError(
            f"{path}: its mode is {mode:04o}, so others can {does} it; chmod {mode & ~forbidden:o} {path}"
        )
    check_belongs_to_us(path, status)


def _checked(key: bytes, origin: str) -> str:
    """No complaint quotes a key: it may be a secret one."""
    try:
        if len(z85.decode(key)) == 32:
            return key.decode()
    except (KeyError, ValueError, struct.error):
        """As any other that is none."""
    raise ConfigError(f"{origin}: a key has 40 letters of Z85")
