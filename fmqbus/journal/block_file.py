"""How do octets get to the disk without filling the system's cache? In whole blocks, from memory that is aligned.

Fresh pages of the cache cost the processor more than all the rest of writing does: at 128 octets a message, more than
routing does. So a file of the log is written past the cache (``O_DIRECT``), in blocks; the last one is filled up with
zeros, and written again with what comes next. What is not full is cut off when the file is closed. File systems that
cannot do so are written through the cache.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

from fmqbus.journal.frames import Octets
from fmqbus.limits import MIB

#: What every disk's blocks are a part of.
BLOCK = 4096
_BUFFER_OCTETS = 4 * MIB


class BlockFile:
    """A file that grows at its end. Everything here blocks, and raises `OSError`."""

    def __init__(self, path: Path, octets: int, mode: int) -> None:
        """Open or make the file at `path`; of what is in it, so many octets count."""
        self.octets = octets
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            self._file = os.open(path, flags | os.O_DIRECT, mode)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            self._file = os.open(path, flags, mode)
        self._buffer = mmap.mmap(-1, _BUFFER_OCTETS)
        self._view = memoryview(self._buffer)
        try:
            os.ftruncate(self._file, octets)
            #: What of the last block counts, if that is not full.
            self._tail = self._read_tail()
            os.fsync(self._file)
        except OSError:
            os.close(self._file)
            raise

    def _read_tail(self) -> bytes:
        rest = self.octets % BLOCK
        if rest and os.preadv(self._file, [self._view[:BLOCK]], self.octets - rest) < rest:
            raise OSError(errno.EIO, "the file's last block cannot be read")
        return bytes(self._view[:rest])

    def append(self, pieces: Iterable[Octets]) -> None:
        """Add these, and force them to the disk. If that fails, nothing has been added."""
        view, room = self._view, _BUFFER_OCTETS
        fill = len(self._tail)
        view[:fill] = self._tail
        at, added = self.octets - fill, 0
        try:
            for piece in pieces:
                begin, octets = 0, len(piece)
                source = memoryview(piece)
                while begin < octets:
                    count = min(room - fill, octets - begin)
                    view[fill : fill + count] = source[begin : begin + count]
                    fill += count
                    begin += count
                    if fill == room:
                        self._put(room, at)
                        at += room
                        fill = 0
                added += octets
            rest = fill % BLOCK
            padded = fill + (-fill % BLOCK)
            view[fill:padded] = bytes(padded - fill)
            self._put(padded, at)
            os.fdatasync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self.octets)
            # without its traceback, which would hold the pieces
            raise OSError(error.errno, error.strerror) from None
        self.octets += added
        self._tail = bytes(view[fill - rest : fill])

    def _put(self, octets: int, at: int) -> None:
        """Write the beginning of the buffer."""
        done = 0
        while done < octets:
            written = os.pwrite(self._file, self._view[done:octets], at + done)
            if written % BLOCK and done + written < octets:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            done += written

    def cut(self) -> None:
        """Cut off what does not count. May be repeated, and more may be appended."""
        os.ftruncate(self._file, self.octets)
        os.fsync(self._file)

    def close(self) -> None:
        """No call comes after this one."""
        os.close(self._file)
