"""The blocking side of one shard's log: frames go to the disk, and what a crash has left is put in order.

Everything here blocks and is called in one thread alone. The order in which things are written is what a crash cannot
break:

1. Frames are written and forced to the disk; only then does the head say so, and only then do readers see them.
2. A segment that is full gets its line in the index, is renamed, and the next one begins.

A frame that was cut off by a crash was never seen by anybody: it is cut away, and its offsets are given again. Where
octets are damaged that the head had told to be safe, the file is kept aside, and their offsets are not given again.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from fmqbus.journal.block_file import BLOCK, BlockFile
from fmqbus.journal.entries import FrameBuilder
from fmqbus.journal.errors import DamagedFrame, JournalError
from fmqbus.journal.files import FILE_MODE, FOLDER_MODE, append_line, cut_last_line, force_names
from fmqbus.journal.frames import check_body
from fmqbus.journal.places import (
    Head,
    SegmentLine,
    TableLine,
    head_path,
    index_path,
    line_from,
    lines_of,
    log_folder,
    manifest_path,
)
from fmqbus.journal.segments import CLOSED, OPEN, FramePlace, first_of, frames_in, segment_name

#: So many lines of segments that are sealed away are left in the index before it is written anew.
_STALE_LINES = 4_096


class Log:
    """One shard's log. Nobody else can write it while this one is open. Raises `OSError` wherever the disk fails."""

    def __init__(
        self, root: Path, shard: int, segment_octets: int, segment_seconds: float, now: Callable[[], float]
    ) -> None:
        """`now` tells the POSIX time. A segment is closed when it is so large, or so old."""
        #: The offset of the next row.
        self.next = 0
        #: What an operator should know of the opening, in words.
        self.notes: list[str] = []
        self._root = root
        self._shard = shard
        self._folder = log_folder(root, shard)
        self._segment_octets = segment_octets
        self._segment_seconds = segment_seconds
        self._now = now
        self._lock = self._head = -1
        #: The open segment, its first offset, the times of its rows, and when it began to have any.
        self._file: BlockFile | None = None
        self._first = 0
        self._times: tuple[int, int] | None = None
        self._began = 0.0

    # opening

    def open(self) -> None:
        """Find the end, whatever has happened. Raises `JournalError` where it cannot be told, or another broker has
        it."""
        for folder in (self._root, self._folder.parent, self._folder):  # each with its mode: `parents` would not
            folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        self._lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise JournalError(f"{self._folder}: another broker writes it; give each a shard of its own") from None
        head = self._read_head()
        known = self._finish_closing()
        self.next = max([head.end if head else 0, *(line.end for line in known.values()), *self._sealed_ends()])
        opened = self._paths(OPEN)
        self._head = os.open(head_path(self._root, self._shard), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        if opened:
            self._take_up(opened[-1], head)
        else:
            self._begin_segment()
        self._write_head()

    def _paths(self, suffix: str) -> list[Path]:
        return sorted(path for path in self._folder.glob("*" + suffix) if first_of(path.name) is not None)

    def _read_head(self) -> Head | None:
        try:
            return Head.decode(head_path(self._root, self._shard).read_bytes())
        except FileNotFoundError:
            return None
        except DamagedFrame:
            self.notes.append("the head was not as it was written; the end is told by the segments")
            return None

    def _sealed_ends(self) -> list[int]:
        lines = lines_of(manifest_path(self._root), TableLine)
        return [line.end for line in lines if line.shard == self._shard]

    def _finish_closing(self) -> dict[int, SegmentLine]:
        """Have a line for each closed segment, and a closed one for each line; returns the lines."""
        path = index_path(self._root, self._shard)
        cut_last_line(path)
        known = {line.first: line for line in lines_of(path, SegmentLine)}
        opened = self._paths(OPEN)
        for segment in [*self._paths(CLOSED), *opened[:-1]]:
            first = first_of(segment.name)
            assert first is not None, "it was looked for by its name"
            if first not in known:
                self.notes.append(f"{segment.name} was not in the index")
                known[first] = self._line_for(segment, first)
                append_line(path, line_from(known[first]))
        for segment in opened:
            if first_of(segment.name) in known:
                segment.rename(segment.with_suffix(CLOSED))
        self._forget_stale(known)
        return known

    def _forget_stale(self, known: dict[int, SegmentLine]) -> None:
        """Leave no lines of segments that have long been sealed away, if there are many."""
        path = index_path(self._root, self._shard)
        kept = [line for first, line in known.items() if path.with_name(segment_name(first)).exists()]
        if len(known) - len(kept) > _STALE_LINES:
            fresh = path.with_suffix(".new")
            fresh.unlink(missing_ok=True)
            append_line(fresh, b"".join(map(line_from, kept)))
            fresh.rename(path)

    def _line_for(self, segment: Path, first: int) -> SegmentLine:
        places, fault = _whole_frames(segment)
        if fault is not None:
            self.notes.append(str(fault))
        headers = [place.header for place in places]
        return SegmentLine(
            first,
            headers[-1].end if headers else first,
            min((header.earliest for header in headers), default=0),
            max((header.latest for header in headers), default=0),
            places[-1].end if places else 0,
        )

    def _take_up(self, segment: Path, head: Head | None) -> None:
        """Go on with the segment that was open, behind its last whole frame."""
        first = first_of(segment.name)
        assert first is not None, "it was looked for by its name"
        places, fault = _whole_frames(segment)
        end, octets = (places[-1].header.end, places[-1].end) if places else (first, 0)
        if fault is not None:
            self.notes.append(f"{fault}: cut off there, rows go on at {end}")
        if head is not None and head.end > end and head.segment <= first:
            self.notes.append(f"rows {end} to {head.end - 1} had been written, and are damaged or gone")
            segment.with_suffix(".damaged").write_bytes(segment.read_bytes())
        self._file = BlockFile(segment, octets, FILE_MODE)
        self._first = first
        self._times = None
        for place in places:
            self._note_times(place.header.earliest, place.header.latest)
        self._began = self._now()
        if end < self.next:  # what was told to be safe is gone: its offsets are not given again
            self.next, rest = end, self.next
            self._close_segment()
            self.next = rest
            self._begin_segment()
        self.next = max(self.next, end)

    # writing

    def commit(self, frames: Sequence[FrameBuilder]) -> None:
        """Write these and force them to the disk. If that fails, nothing has been written; it may be tried again."""
        file = self._file
        if file is not None and file.octets and self._is_due(file):
            self._close_segment()
            file = None
        if file is None:
            file = self._begin_segment()
        if not frames:
            return
        is_first = not file.octets
        file.append(piece for frame, offset in self._numbered(frames) for piece in frame.finish(offset))
        if is_first:
            self._began = self._now()
        for frame in frames:
            self._note_times(frame.earliest, frame.latest)
        self.next += sum(frame.rows for frame in frames)
        with suppress(OSError):  # the rows are safe; readers see them when the next head can be written
            self._write_head()

    def _numbered(self, frames: Sequence[FrameBuilder]) -> Iterator[tuple[FrameBuilder, int]]:
        """The frames, each with the offset of its first row."""
        offset = self.next
        for frame in frames:
            yield frame, offset
            offset += frame.rows

    def _is_due(self, file: BlockFile) -> bool:
        age = self._now() - self._began
        if age < 0:  # the clock was set back
            self._began, age = self._now(), 0.0
        return file.octets >= self._segment_octets or age >= self._segment_seconds

    def _note_times(self, earliest: int, latest: int) -> None:
        times = self._times or (earliest, latest)
        self._times = min(times[0], earliest), max(times[1], latest)

    def _write_head(self) -> None:
        octets = 0 if self._file is None else self._file.octets
        os.pwrite(self._head, Head(self.next, self._first, octets).encode(), 0)

    def _begin_segment(self) -> BlockFile:
        path = self._folder / segment_name(self.next, OPEN)
        file = BlockFile(path, 0, FILE_MODE)
        force_names(self._folder)
        self._file, self._first, self._times = file, self.next, None
        self._write_head()
        return file

    def _close_segment(self) -> None:
        assert self._file is not None, "there is a segment"
        path = self._folder / segment_name(self._first, OPEN)
        file = self._file
        if file.octets:
            file.cut()
            earliest, latest = self._times or (0, 0)
            line = SegmentLine(self._first, self.next, earliest, latest, file.octets)
            append_line(index_path(self._root, self._shard), line_from(line))
            path.rename(path.with_suffix(CLOSED))
        else:
            path.unlink(missing_ok=True)
        self._file = None
        file.close()

    def close(self) -> None:
        """Close the segment, so that all of it can be sealed. No call comes after this one; may be repeated."""
        if self._file is not None:
            self._close_segment()
            self._first = self.next
            self._write_head()
            os.fsync(self._head)
            force_names(self._folder)
        self._close_files()

    def _close_files(self) -> None:
        for file in (self._head, self._lock):
            if file >= 0:
                os.close(file)
        self._head = self._lock = -1


def _whole_frames(segment: Path) -> tuple[list[FramePlace], DamagedFrame | None]:
    """The frames up to the first that is none, and what is wrong with that; nothing, if it is what fills up the last
    block. Raises `NewerFormat`."""
    places: list[FramePlace] = []
    try:
        with segment.open("rb") as file:
            for place in frames_in(file, os.fstat(file.fileno()).st_size):
                try:
                    check_body(place.header, file.read(place.header.body_octets), place.position)
                except DamagedFrame as error:
                    raise DamagedFrame(f"{segment}, frame at {place.position}: {error}", place.position) from None
                places.append(place)
    except DamagedFrame as error:
        rest = segment.stat().st_size - error.position
        if rest < BLOCK and segment.read_bytes()[error.position :] == bytes(rest):
            return places, None
        return places, error
    return places, None
