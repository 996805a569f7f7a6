"""How far have the named readers of a journal come? Each has a file; what it still needs is not trimmed away."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from fmqbus.journal.errors import JournalError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_decode = msgspec.json.Decoder(dict[int, int]).decode


def position_path(root: Path, name: str) -> Path:
    """Where a reader's position is. Raises `JournalError` for a name that is none."""
    if not _NAME.fullmatch(name):
        raise JournalError(
            f"{name!r} is no name of a reader: letters, digits, dots, hyphens and underscores, 100 at most"
        )
    return root / "readers" / f"{name}.json"


def write_position(root: Path, name: str, offsets: Mapping[int, int]) -> None:
    """Say that this reader needs nothing below these offsets, by shard. Raises `OSError`."""
    path = position_path(root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with fresh.open("wb") as file:
        file.write(msgspec.json.encode({str(shard): offset for shard, offset in sorted(offsets.items())}))
        file.flush()
        os.fsync(file.fileno())
    fresh.rename(path)


def read_position(root: Path, name: str) -> Mapping[int, int]:
    """What was written last; empty if nothing was. Raises `JournalError` for a file that makes no sense."""
    path = position_path(root, name)
    try:
        return _decode(path.read_bytes())
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as error:
        raise JournalError(f"{path}: {error}") from None


def forget_reader(root: Path, name: str) -> None:
    """This reader is no more, and keeps nothing from being trimmed."""
    position_path(root, name).unlink(missing_ok=True)


def positions(root: Path, seen_since: float = 0.0) -> Mapping[str, Mapping[int, int]]:
    """Of all readers that have said something since then (POSIX seconds), by name."""
    folder = root / "readers"
    paths = folder.glob("[A-Za-z0-9]*.json") if folder.exists() else ()
    return {path.stem: read_position(root, path.stem) for path in sorted(paths) if path.stat().st_mtime >= seen_since}
