"""A journal whose files a broker reads for us: the same pieces, read by the same steps, over its endpoint."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import attrs
import msgspec
import pyarrow as pa

from fmqbus.journal.readable import ReadableJournal
from fmqbus.journal.reading import read_segment
from fmqbus.journal.segments import FramePlace, frames_in
from fmqbus.journal.tables import read_table
from fmqbus.limits import KIB
from fmqbus.pipeline.endpoint import MOST_OCTETS, Endpoint, NoEndpoint

#: Where something new is looked for, so much is read ahead; then twice as much each time, as long as it goes on.
_AHEAD_OCTETS = 64 * KIB
#: A position is one request without a body; more shards do not fit into it.
_PATH_OCTETS = 12 * KIB


class _Ends(msgspec.Struct, frozen=True):
    format: int
    ends: dict[int, int]


class _Bounds(msgspec.Struct, frozen=True):
    first: int
    end: int


class _PieceLine(msgspec.Struct, frozen=True):
    is_table: bool
    first: int
    end: int
    earliest: int
    latest: int
    octets: int


class _Pieces(msgspec.Struct, frozen=True):
    pieces: list[_PieceLine]


class RemoteFile(io.RawIOBase):
    """Octets of a file that a broker has, as they are asked for; what is read is read a little ahead."""

    def __init__(self, endpoint: Endpoint, path: str, octets: int) -> None:
        """At a path below the endpoint; so many octets of it count."""
        self.name = endpoint.url + path
        self._endpoint = endpoint
        self._path = path
        self._octets = octets
        self._position = 0
        #: What was read last, and where it begins.
        self._window = memoryview(b"")
        self._begin = 0
        self._ahead = _AHEAD_OCTETS

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._octets}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def read(self, size: int = -1) -> bytes:
        """All of these octets, unless the file ends before."""
        left = max(self._octets - self._position, 0)
        left = left if size < 0 else min(size, left)
        pieces: list[memoryview] = []
        while left:
            piece = self._some(left)
            if not piece:
                break
            pieces.append(piece)
            self._position += len(piece)
            left -= len(piece)
        return b"".join(pieces)

    def readinto(self, buffer: Any) -> int:
        octets = self.read(len(buffer))
        buffer[: len(octets)] = octets
        return len(octets)

    def _some(self, most: int) -> memoryview:
        end = self._begin + len(self._window)
        if not self._begin <= self._position < end:
            self._ahead = min(2 * self._ahead, MOST_OCTETS) if self._position == end else _AHEAD_OCTETS
            count = min(max(most, self._ahead), MOST_OCTETS, self._octets - self._position)
            self._window = memoryview(self._endpoint.octets(self._path, self._position, count))
            self._begin = self._position
        at = self._position - self._begin
        return self._window[at : at + most]


@attrs.frozen
class RemotePiece:
    """A `fmqbus.journal.readable.ReadablePiece`."""

    endpoint: Endpoint
    shard: int
    is_table: bool
    first: int
    end: int
    earliest: int
    latest: int
    octets: int

    def read(self, first: int, end: int, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield these rows. Raises `FileNotFoundError` if the file has been sealed or trimmed away meanwhile."""
        with self._open() as file:
            if self.is_table:
                yield from read_table(cast(Any, file), self.first, first, end, columns)
            else:
                yield from read_segment(cast(Any, file), self.octets, first, end, columns)

    def frames(self) -> Iterator[FramePlace]:
        """The frames of a segment by their headers. Raises as `read`."""
        with self._open() as file:
            yield from frames_in(cast(Any, file), self.octets)

    def _open(self) -> RemoteFile:
        form = "table" if self.is_table else "log"
        return RemoteFile(self.endpoint, f"/{self.shard}/{form}/{self.first}", self.octets)


class RemoteJournal(ReadableJournal):
    """A `fmqbus.pipeline.access.Journal`."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def __str__(self) -> str:
        return self._endpoint.url

    def shards(self) -> Sequence[int]:
        """See `fmqbus.pipeline.access.Journal`."""
        return sorted(self._ends())

    def end(self, shard: int) -> int:
        """See `fmqbus.pipeline.access.Journal`."""
        return self._ends().get(shard, 0)

    def earliest(self, shard: int) -> int:
        """See `fmqbus.pipeline.access.Journal`."""
        try:
            bounds: _Bounds = self._endpoint.ask(f"/{shard}", _Bounds)
        except FileNotFoundError:
            return 0
        return bounds.first

    def pieces(self, shard: int, first: int = 0, end: int | None = None) -> Sequence[RemotePiece]:
        """See `fmqbus.pipeline.access.Journal`."""
        found: list[RemotePiece] = []
        while end is None or first < end:
            more = self._some_pieces(shard, first, end)
            found += more
            if not more or more[-1].end <= first:
                break
            first = more[-1].end
        return found

    def piece_at(self, shard: int, first: int, end: int | None = None) -> RemotePiece | None:
        """See `fmqbus.journal.readable.ReadableJournal`."""
        return next(iter(self._some_pieces(shard, first, end, "&most=1")), None)

    def keep_position(self, reader: str, offsets: Mapping[int, int]) -> None:
        """See `fmqbus.pipeline.access.Journal`. Raises `NoEndpoint` where the broker does not let us."""
        if not offsets:
            return
        told = "&".join(f"{shard}={offset}" for shard, offset in sorted(offsets.items()))
        if len(told) > _PATH_OCTETS:
            raise NoEndpoint(f"a position in {len(offsets)} shards is more than {self} takes: give path for readerName")
        try:
            self._endpoint.tell(f"/readers/{reader}?{told}")
        except FileNotFoundError:
            raise NoEndpoint(
                f"{self} knows no reader of the name {reader!r}: begin it with a letter or digit"
            ) from None

    def _ends(self) -> Mapping[int, int]:
        told: _Ends = self._endpoint.ask("", _Ends)
        if told.format != 1:
            raise NoEndpoint(f"{self} speaks format {told.format}, and we know 1: use a later fmqbus")
        return told.ends

    def _some_pieces(self, shard: int, first: int, end: int | None, more: str = "") -> Sequence[RemotePiece]:
        upto = "" if end is None else f"&end={end}"
        try:
            told: _Pieces = self._endpoint.ask(f"/{shard}/pieces?first={first}{upto}{more}", _Pieces)
        except FileNotFoundError:
            return []
        return [
            RemotePiece(self._endpoint, shard, p.is_table, p.first, p.end, p.earliest, p.latest, p.octets)
            for p in told.pieces
        ]
