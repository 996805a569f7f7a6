"""Rows as readers get them: whatever range, whatever file they are in, and never fewer than asked for in silence."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from fmqbus.journal.errors import DamagedFrame, MissingRows
from fmqbus.journal.folder import JournalFolder
from fmqbus.journal.journal_schema import SCHEMA
from fmqbus.journal.kinds import NAMES
from fmqbus.journal.places import log_folder
from fmqbus.journal.samples import write_sample

ROWS = 5_000


@pytest.fixture
def journal(tmp_path: Path) -> JournalFolder:
    """A journal of several segments, of which the last is open."""
    write_sample(tmp_path, ROWS, segment_rows=1_500, frame_rows=400, run=20)
    return JournalFolder(tmp_path)


def _rows(journal: JournalFolder, first: int, end: int, columns: list[str] | None = None) -> pa.Table:
    return pa.Table.from_batches(list(journal.read(0, first, end, columns)), None if columns else SCHEMA)


def test_all_rows_are_there_in_the_schema(journal: JournalFolder) -> None:
    """Each offset once, with values that Arrow finds valid, of kinds that are documented."""
    table = _rows(journal, 0, ROWS)
    table.validate(full=True)
    assert table.schema.equals(SCHEMA)
    assert table["offset"].to_pylist() == list(range(ROWS))
    assert set(table["kind"].to_pylist()) <= set(NAMES.values())
    assert (journal.shards(), journal.earliest(0), journal.end(0)) == ([0], 0, ROWS)


@pytest.mark.parametrize(("first", "end"), [(0, 1), (1_499, 1_501), (777, 3_210), (ROWS - 1, ROWS), (5, 5)])
def test_a_range_gives_the_same_rows_as_the_whole(journal: JournalFolder, first: int, end: int) -> None:
    """Also across segments, and in the midst of runs."""
    assert _rows(journal, first, end).equals(_rows(journal, 0, ROWS).slice(first, end - first))


def test_columns_can_be_chosen(journal: JournalFolder) -> None:
    """In the order that is asked for."""
    columns = ["topic", "offset", "size"]
    assert _rows(journal, 0, ROWS, columns).equals(_rows(journal, 0, ROWS).select(columns))


def test_a_payload_is_as_long_as_its_size_says(journal: JournalFolder) -> None:
    """Where it is kept; where not, the size is there all the same."""
    rows = _rows(journal, 0, ROWS, ["payload", "size", "kind"]).to_pylist()
    assert all(len(row["payload"]) == row["size"] for row in rows if row["payload"] is not None)
    assert any(row["payload"] is None and row["size"] for row in rows if row["kind"] == "publish")


def test_a_time_leads_to_an_offset(journal: JournalFolder) -> None:
    """To the first row that is not before it; beyond the last, to the end."""
    times = _rows(journal, 0, ROWS, ["time"])["time"].cast(pa.int64()).to_pylist()
    for time in (times[0], times[0] - 1, times[1_500], times[-1], times[2_000] + 1):
        assert journal.offset_at(0, time) == next(at for at, each in enumerate(times) if each >= time)
    assert journal.offset_at(0, max(times) + 1) == ROWS


def test_what_is_beyond_the_end_is_told(journal: JournalFolder) -> None:
    """After the rows that are there."""
    with pytest.raises(MissingRows, match=f"rows {ROWS} to {ROWS + 9} .* the journal ends at {ROWS}"):
        _rows(journal, ROWS - 10, ROWS + 10)


def test_a_segment_that_is_missing_in_the_middle_is_told(journal: JournalFolder) -> None:
    """With the rows that it had."""
    lost = journal.pieces(0)[1]
    lost.found().unlink()
    with pytest.raises(MissingRows) as caught:
        _rows(journal, 0, ROWS)
    assert (caught.value.first, caught.value.end) == (lost.first, lost.end)


def test_without_a_head_the_open_segment_is_read_as_far_as_it_is_whole(journal: JournalFolder) -> None:
    """As after the loss of that file alone."""
    log_folder(journal.path, 0).joinpath("head").unlink()
    opened = journal.pieces(0)[-1].found()
    with opened.open("ab") as file:
        file.write(opened.read_bytes()[:100])
    assert _rows(journal, 0, ROWS).num_rows == journal.end(0) == ROWS


def test_damage_in_a_segment_is_told_with_its_place(journal: JournalFolder) -> None:
    """Whichever octet of it has changed."""
    path = journal.pieces(0)[0].found()
    octets = bytearray(path.read_bytes())
    for position in range(0, len(octets), 2_003):
        octets[position] ^= 1
        path.write_bytes(octets)
        octets[position] ^= 1
        with pytest.raises(DamagedFrame, match=r"\.fmqj, frame at \d+"):
            _rows(journal, 0, ROWS)
