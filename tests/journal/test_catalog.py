"""Are files found by offset, however many there are, and lines read once, however they come?"""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

from fmqbus.journal.catalog import GrowingLines, Ranges
from fmqbus.journal.errors import DamagedFrame
from fmqbus.journal.folder import JournalFolder
from fmqbus.journal.places import Head, SegmentLine, head_path, index_path, line_from, log_folder
from fmqbus.journal.samples import write_sample


def line(first: int, end: int) -> SegmentLine:
    """A segment's line."""
    return SegmentLine(first, end, first, end, 100)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of lines."""
    return tmp_path / "index.jsonl"


def test_each_line_is_read_once_when_it_is_whole(path: Path) -> None:
    """However it comes."""
    lines = GrowingLines(path, SegmentLine)
    assert lines.news() == (False, [])
    octets = line_from(line(0, 5)) + line_from(line(5, 9))
    path.write_bytes(octets[:-10])
    assert lines.news() == (True, [line(0, 5)])
    assert lines.news() == (False, [])
    path.write_bytes(octets)
    assert lines.news() == (False, [line(5, 9)])


def test_a_file_that_is_written_anew_is_read_anew(path: Path) -> None:
    """Whether it is shorter, or another one."""
    lines = GrowingLines(path, SegmentLine)
    path.write_bytes(line_from(line(0, 5)) + line_from(line(5, 9)))
    lines.news()
    fresh = path.with_suffix(".new")
    fresh.write_bytes(line_from(line(5, 9)) * 3)
    fresh.rename(path)
    assert lines.news() == (True, [line(5, 9)] * 3)
    path.write_bytes(line_from(line(7, 9)))
    assert lines.news() == (True, [line(7, 9)])
    path.unlink()
    assert lines.news() == (True, [])


def test_a_line_that_makes_no_sense_is_told_each_time(path: Path) -> None:
    """With its number."""
    lines = GrowingLines(path, SegmentLine)
    path.write_bytes(line_from(line(0, 5)) + b"no\n")
    for _ in range(2):
        with pytest.raises(DamagedFrame, match=r"index\.jsonl, line 2"):
            lines.news()


def test_ranges_are_found_by_offset() -> None:
    """In whatever order they came; the last word on one counts."""
    ranges: Ranges[SegmentLine] = Ranges()
    for first, end in ((0, 5), (9, 12), (5, 9), (20, 21), (9, 13)):
        ranges.add(line(first, end))
    assert [each.end for each in ranges] == [5, 9, 13, 21]
    assert ranges.over(12) == line(9, 13)
    assert ranges.over(13) is ranges.over(21) is ranges.over(-1) is None
    assert list(ranges.between(4, 10)) == [line(0, 5), line(5, 9), line(9, 13)]
    assert list(ranges.between(14, 20)) == []
    assert list(ranges.between(9, None)) == [line(9, 13), line(20, 21)]


def test_a_hundred_thousand_tiny_segments_are_not_listed(tmp_path: Path) -> None:
    """A range has the pieces that it needs, and no file is looked for but theirs."""
    count = 100_000
    log_folder(tmp_path, 0).mkdir(parents=True)
    index_path(tmp_path, 0).write_bytes(b"".join(line_from(line(at, at + 1)) for at in range(count)))
    head_path(tmp_path, 0).write_bytes(Head(count, count, 0).encode())
    journal = JournalFolder(tmp_path)
    assert journal.end(0) == count
    assert [piece.first for piece in journal.pieces(0, 77_777, 77_780)] == [77_777, 77_778, 77_779]
    with index_path(tmp_path, 0).open("ab") as index:
        index.write(line_from(line(count, count + 5)))
    assert [piece.end for piece in journal.pieces(0, count - 1)] == [count, count + 5]


def test_a_journal_and_its_pieces_can_be_sent_elsewhere(tmp_path: Path) -> None:
    """Where they read the same."""
    write_sample(tmp_path, 1_000, segment_rows=300, frame_rows=100)
    journal = JournalFolder(tmp_path)
    rows = pa.Table.from_batches(journal.read(0, 0, 1_000))
    sent, pieces = pickle.loads(pickle.dumps((journal, journal.pieces(0))))
    assert pa.Table.from_batches(sent.read(0, 0, 1_000)).equals(rows)
    batches = [batch for piece in pieces for batch in piece.read(piece.first, piece.end)]
    assert pa.Table.from_batches(batches).equals(rows)
