"""What lies where in a journal's folder? Names, and the small files that say what is in the large ones.

======================================================  ==========================================================
``log/shard=NNNN/FIRST.fmqj``                           a closed segment, see `fmqbus.journal.segments`
``log/shard=NNNN/FIRST.open``                           the one that the broker writes
``log/shard=NNNN/index.jsonl``                          a line for each closed segment, see `SegmentLine`
``log/shard=NNNN/head``                                 how far the open one is safe on the disk, see `Head`
``tables/date=D/hour=H/NNNN-FIRST-LAST.parquet``        a sealed table; LAST is the offset of its last row
``manifest.jsonl``                                      a line for each table, or for its removal, see `TableLine`
``readers/NAME.json``                                   how far a named reader has come: shard → next offset
======================================================  ==========================================================

Lines are only ever added, each by one write. One without its end is still being written, or was when the machine
stopped, and does not count.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import attrs
import msgspec

from fmqbus.journal.errors import DamagedFrame

T = TypeVar("T")

_HEAD = struct.Struct("<4sHxxqqq")
_HEAD_MAGIC = b"FMQH"


class SegmentLine(msgspec.Struct, frozen=True):
    """A closed segment. Times are in POSIX microseconds, `end` is exclusive."""

    first: int
    end: int
    earliest: int
    latest: int
    octets: int


class TableLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A sealed table, or what has become of it."""

    #: Below the journal's folder.
    file: str
    shard: int
    first: int
    end: int
    earliest: int
    latest: int
    octets: int
    schema: int
    #: CRC-32 of the file.
    crc: int
    #: It has been trimmed away.
    is_removed: bool = False


@attrs.frozen(slots=True)
class Head:
    """Readers see nothing beyond it, so that not even a power failure takes back what they have seen."""

    #: The offset of the next row.
    end: int
    #: The first offset of the open segment, and how many of its octets are safe.
    segment: int
    octets: int

    def encode(self) -> bytes:
        """As it stands in the file."""
        octets = _HEAD.pack(_HEAD_MAGIC, 1, self.end, self.segment, self.octets)
        return octets + zlib.crc32(octets).to_bytes(4, "little")

    @classmethod
    def decode(cls, octets: bytes) -> Head:
        """Raises `DamagedFrame`; it may have been read while it was written."""
        body, crc = octets[: _HEAD.size], octets[_HEAD.size :]
        if len(body) < _HEAD.size or zlib.crc32(body) != int.from_bytes(crc, "little"):
            raise DamagedFrame("the head is not as it was written")
        _, _, *fields = _HEAD.unpack(body)
        return cls(*fields)


def log_folder(root: Path, shard: int) -> Path:
    """Where the log of a shard is."""
    return root / "log" / f"shard={shard:04d}"


def index_path(root: Path, shard: int) -> Path:
    """Where its closed segments are told."""
    return log_folder(root, shard) / "index.jsonl"


def head_path(root: Path, shard: int) -> Path:
    """Where its head is."""
    return log_folder(root, shard) / "head"


def manifest_path(root: Path) -> Path:
    """Where the tables are told."""
    return root / "manifest.jsonl"


def lines_of(path: Path, kind: type[T]) -> Iterator[T]:
    """The whole lines of a file, none if there is no file. Raises `DamagedFrame` for one that makes no sense."""
    try:
        octets = path.read_bytes()
    except FileNotFoundError:
        return
    decoder = msgspec.json.Decoder(kind)
    for number, line in enumerate(octets.split(b"\n")[:-1], 1):
        try:
            yield decoder.decode(line)
        except msgspec.DecodeError as error:
            raise DamagedFrame(f"{path}, line {number}: {error}") from None


def line_from(entry: msgspec.Struct) -> bytes:
    """An entry as the line that `lines_of` reads."""
    return msgspec.json.encode(entry) + b"\n"
