"""Has the write-ahead log lost something that was committed?

SQLite appends what it commits to a log beside the database, and reads the log up to the first frame whose checksum is
wrong. That is right after a power cut, when the last transaction may be there in part: nobody was told that it was
committed. But a frame that was damaged later, on the disk, takes all that follows with it, and SQLite says nothing.

The two can be told apart by what follows. Before the next transaction is begun, the one before is on the disk. So
where frames follow that belong to a later transaction, something committed is lost.

The format: https://www.sqlite.org/fileformat2.html, section 4. Must be asked before SQLite opens the file, for that may
make an end of the log.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import attrs

#: Of the log: magic, format, page size, number, two salts, two checksums. Big-endian whatever the machine.
_HEAD = struct.Struct(">8I")
#: Of a frame: page, size of the database if it ends a transaction, two salts, two checksums.
_FRAME = struct.Struct(">6I")
#: The last bit tells in which order of octets checksums are made.
_MAGIC = 0x377F0682


@attrs.frozen
class Tail:
    """What stands in a log after the frames that SQLite will read."""

    #: Frames of the same life of the log, hence not left over from the one before.
    frames: int
    #: How many of them end a transaction.
    commits: int
    #: The last of them ends one.
    ends_with_commit: bool

    @property
    def is_loss(self) -> bool:
        """A transaction was committed and cannot be read."""
        return self.commits > 1 or (self.commits == 1 and not self.ends_with_commit)


NO_TAIL = Tail(0, 0, False)


def log_of(database: Path) -> Path:
    """Where SQLite keeps the log of a database."""
    return Path(f"{database}-wal")


def read_tail(log: Path) -> Tail:
    """Look at a log, if there is one. Takes less than 0.1 s for 4 MiB, more than which there seldom is."""
    try:
        with log.open("rb") as file:
            return _read_tail(file)
    except FileNotFoundError:
        return NO_TAIL


def _read_tail(file: BinaryIO) -> Tail:
    head = file.read(_HEAD.size)
    if len(head) < _HEAD.size or not any(head):
        return NO_TAIL  # nothing of it has reached the disk
    magic, _, page_octets, _, salt, other_salt, *expected = _HEAD.unpack(head)
    order = ">" if magic & 1 else "<"
    sums = _checksum(order, head[:24], (0, 0))
    is_whole = magic & ~1 == _MAGIC and sums == tuple(expected)
    if not is_whole:
        # The head is on the disk before the first frame is written: without it nothing can be read, and all is lost.
        return Tail(1, 2, False)
    frames = commits = 0
    ends_with_commit = False
    for frame, page in _frames(file, page_octets):
        number, size, frame_salt, frame_other_salt, *expected = _FRAME.unpack(frame)
        if is_whole:
            sums = _checksum(order, frame[:8] + page, sums)
            is_whole = number > 0 and (frame_salt, frame_other_salt) == (salt, other_salt) and sums == tuple(expected)
        # One salt is enough: the other may be what is damaged.
        if not is_whole and (frame_salt == salt or frame_other_salt == other_salt):
            frames += 1
            commits += size > 0
            ends_with_commit = size > 0
    return Tail(frames, commits, ends_with_commit)


def _frames(file: BinaryIO, page_octets: int) -> Iterator[tuple[bytes, bytes]]:
    while True:
        frame, page = file.read(_FRAME.size), file.read(page_octets)
        if len(page) < page_octets:
            return
        yield frame, page


def _checksum(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for one, two in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + two + first) & 0xFFFFFFFF
    return first, second
