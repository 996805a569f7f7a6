"""Users for tests, whose passwords cost next to nothing."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fmqbus.auth.passwords import LEAST_ITERATIONS, make_secret
from fmqbus.auth.user_file import Keys, User, UserFile, locked, write_users
from fmqbus.auth.users import Users

FINGERPRINT = "0123456789abcdef" * 4
DECOYS = bytes(range(32))


@cache
def keys(password: str) -> Keys:
    """Of a password."""
    return Keys.of(make_secret(password, LEAST_ITERATIONS))


def file_of(**users: User) -> UserFile:
    """A file of these users; without any, of anna and those beside her."""
    known = {
        "anna": User(("ops", "staff"), keys("open sesame"), cram_md5=b"open sesame"),
        "bo": User((), keys("tiger")),
        "pump": User(("devices",), external=("san:dns:pump.example", "uid:1000")),
        "valve": User(external=(f"cert:{FINGERPRINT}", "uid:1000")),
    }
    return UserFile(1, DECOYS, users or known)


def users_of(**users: User) -> Users:
    """The users of such a file."""
    return Users(file_of(**users))


def write(path: Path, **users: User) -> Path:
    """Write such a file."""
    with locked(path):
        write_users(path, file_of(**users))
    return path
