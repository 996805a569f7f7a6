"""How are users kept in a file?

JSON, written by ``fmqbus user`` and by nobody else. It tells no password, except where one was kept readable for
CRAM-MD5. Whatever is wrong with it is an error that names the file: a file that is empty, half-written or open to
others is never taken for one without users.

A file is replaced as a whole, so that a bus which reads it meanwhile sees the old users or the new ones. Who changes it
locks its folder, so that of two changes at a time none is lost.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec

from fmqbus.auth.passwords import LEAST_ITERATIONS, MOST_ITERATIONS, check_name
from fmqbus.auth.who import Who
from fmqbus.errors import ConfigError, LocalError
from fmqbus.guarded_files import check_belongs_to_us, read_guarded
from fmqbus.limits import MIB
from fmqbus.logins import Secret

#: Some 250 octets a user. The reactor reads it at SIGHUP: 10,000 users in some 70 ms.
MOST_OCTETS = 16 * MIB
#: Only we write it, or root does; others do not even read it. The operator may let a group read it.
_FORBIDDEN = stat.S_IWGRP | stat.S_IRWXO
#: What EXTERNAL can go by, of all that rules know (`fmqbus.auth.who`): what only one peer can have.
EXTERNAL_KINDS = ("san", "cert", "key", "uid")
_KEY_OCTETS = 32


class Keys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What SCRAM-SHA-256 needs, see `Secret`."""

    salt: Annotated[bytes, msgspec.Meta(min_length=12, max_length=64)]
    iterations: Annotated[int, msgspec.Meta(ge=LEAST_ITERATIONS, le=MOST_ITERATIONS)]
    stored_key: Annotated[bytes, msgspec.Meta(min_length=_KEY_OCTETS, max_length=_KEY_OCTETS)]
    server_key: Annotated[bytes, msgspec.Meta(min_length=_KEY_OCTETS, max_length=_KEY_OCTETS)]

    @classmethod
    def of(cls, secret: Secret) -> Keys:
        """What is kept of a secret."""
        return cls(secret.salt, secret.iterations, secret.stored_key, secret.server_key)

    def __repr__(self) -> str:
        return "<Keys>"


class User(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One user."""

    groups: tuple[str, ...] = ()
    #: None for one who has no password, and comes by EXTERNAL.
    scram_sha_256: Keys | None = None
    #: Whoever the carrier vouches for so is this user: words of `Who`, of `EXTERNAL_KINDS`.
    external: tuple[str, ...] = ()
    #: The password itself; only for clients that know nothing better than CRAM-MD5.
    cram_md5: bytes | None = None

    def __repr__(self) -> str:
        return f"<User in {self.groups}>"


class UserFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    format: Annotated[int, msgspec.Meta(ge=1, le=1)]
    #: What the answers for users that are not there are made of, so that they are the same each time.
    decoys: Annotated[bytes, msgspec.Meta(min_length=_KEY_OCTETS, max_length=_KEY_OCTETS)]
    users: Mapping[str, User] = {}

    def __repr__(self) -> str:
        return f"<UserFile of {len(self.users)}>"


def new_file() -> UserFile:
    """A file without users."""
    return UserFile(1, secrets.token_bytes(_KEY_OCTETS))


def read_users(path: Path) -> UserFile:
    """Return what the file says. Raises `ConfigError`."""
    return parse_users(read_guarded(path, MOST_OCTETS, _check_status), str(path))


def parse_users(octets: bytes, origin: str) -> UserFile:
    """As `read_users`, for octets that stand in `origin`. No complaint quotes a secret."""
    try:
        file = msgspec.json.decode(octets, type=UserFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{origin}: is no file of users: {error}") from None
    for name, user in file.users.items():
        try:
            check_name(name)
            check_user(user)
        except LocalError as error:
            raise ConfigError(f"{origin}: user {name!a}: {error}") from None
    return file


def check_user(user: User) -> None:
    """Raise `LocalError` for what cannot be meant."""
    for group in user.groups:
        check_name(group)
    for text in user.external:
        external(text)


def external(text: str) -> Who:
    """Read what a user comes by. Raises `ConfigError`."""
    if text.partition(":")[0] not in EXTERNAL_KINDS:
        raise ConfigError(f"{text!a}: write one of {', '.join(f'{kind}:...' for kind in EXTERNAL_KINDS)}")
    return Who(text)


def _check_status(path: Path, status: os.stat_result) -> None:
    if status.st_mode & _FORBIDDEN:
        mode = stat.S_IMODE(status.st_mode)
        raise ConfigError(f"{path}: its mode is {mode:04o}, so others can read or change it; chmod 600 {path}")
    check_belongs_to_us(path, status)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Nobody else changes the file meanwhile; waits for who does so now. Raises `ConfigError`."""
    try:
        folder = os.open(path.resolve().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
        except OSError as error:
            raise ConfigError(f"{path}: its folder cannot be locked: {error.strerror}") from None
        yield
    finally:
        os.close(folder)


def write_users(path: Path, file: UserFile) -> None:
    """Replace the file, or make it; to be called while it is `locked`. Mode and owner stay as they were, so that root
    may change what a bus without his rights reads. Raises `ConfigError`; the old file is then whole."""
    target = path.resolve()
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        _write_draft(draft, target, msgspec.json.format(msgspec.json.encode(file, order="sorted")) + b"\n")
        os.replace(draft, target)
        _sync(target.parent)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from None


def _write_draft(draft: Path, target: Path, octets: bytes) -> None:
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as written:
        if target.exists():
            former = target.stat()
            if former.st_uid != os.geteuid() or former.st_gid != os.getegid():
                os.fchown(written.fileno(), former.st_uid, former.st_gid)
            os.fchmod(written.fileno(), stat.S_IMODE(former.st_mode) & ~_FORBIDDEN)
        written.write(octets)
        written.flush()
        os.fsync(written.fileno())


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
