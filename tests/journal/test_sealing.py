"""Do tables have what the segments had, wherever a run is broken off, and is only trimmed what nobody needs?"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from fmqbus.cli.seal import command
from fmqbus.journal import sealing
from fmqbus.journal.errors import DamagedFrame, JournalError, MissingRows
from fmqbus.journal.folder import JournalFolder
from fmqbus.journal.journal_schema import SCHEMA
from fmqbus.journal.log import Log
from fmqbus.journal.places import log_folder, manifest_path
from fmqbus.journal.readers import forget_reader, position_path, read_position, write_position
from fmqbus.journal.samples import START, write_sample
from fmqbus.journal.sealing import Sealed, SealSettings, seal
from fmqbus.journal.segments import CLOSED

ROWS = 3_000
UMASK = os.umask(0)
os.umask(UMASK)
#: Long after all rows.
NOW = START / 1e6 + 100_000
AT_ONCE = SealSettings(wait_seconds=0.0, table_octets=1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A journal of five closed segments and an open one."""
    write_sample(tmp_path, ROWS, segment_rows=450, frame_rows=200, run=20, payload=40)
    return tmp_path


def rows(root: Path, first: int = 0, end: int = ROWS, columns: list[str] | None = None) -> pa.Table:
    """Rows as any reader gets them."""
    return pa.Table.from_batches(JournalFolder(root).read(0, first, end, columns))


def closed(root: Path) -> list[Path]:
    """The closed segments."""
    return sorted(log_folder(root, 0).glob("*" + CLOSED))


def test_tables_have_the_rows_of_the_segments_which_are_then_gone(root: Path) -> None:
    """In the same order, under the same offsets, whatever range is asked for."""
    before = rows(root)
    sealed = seal(root, AT_ONCE, NOW)
    assert len(sealed.tables) > 3
    assert (sealed.faults, closed(root)) == ([], [])
    assert rows(root).equals(before)
    pieces = JournalFolder(root).pieces(0)
    assert [piece.is_table for piece in pieces] == [True] * (len(pieces) - 1) + [False]
    for first, end in ((0, 1), (449, 1_301), (777, ROWS - 5)):
        assert rows(root, first, end, ["size", "offset"]).equals(
            before.slice(first, end - first).select(["size", "offset"])
        )
    times = before["time"].cast(pa.int64()).to_pylist()
    time = times[1_234]
    assert JournalFolder(root).offset_at(0, time) == next(at for at, each in enumerate(times) if each >= time)


def test_a_table_is_plain_parquet_named_by_its_rows(root: Path) -> None:
    """Any program can read it, without us."""
    (line, *_) = seal(root, AT_ONCE, NOW).tables
    assert line.file == f"tables/date=2026-01-01/hour=00/0000-{0:020d}-{line.end - 1:020d}.parquet"
    table = pq.ParquetFile(root / line.file).read()
    assert table.schema.equals(SCHEMA)
    assert table["offset"].to_pylist() == list(range(line.end))


def test_small_segments_gather_in_one_table_and_wait_for_others(root: Path) -> None:
    """Up to its size, or until the oldest has waited long enough."""
    waiting = SealSettings(wait_seconds=1_000.0)
    assert seal(root, waiting, START / 1e6 + 10).tables == []
    (line,) = seal(root, waiting, NOW).tables
    assert (line.first, line.end) == (0, JournalFolder(root).pieces(0)[-1].first)


def test_the_open_segment_is_left_to_the_broker_which_goes_on_behind_the_tables(root: Path) -> None:
    """Even where nothing but tables is left."""
    log = Log(root, 0, 10**9, 60.0, lambda: NOW)
    log.open()
    log.close()
    seal(root, AT_ONCE, NOW)
    shutil.rmtree(log_folder(root, 0))
    log = Log(root, 0, 10**9, 60.0, lambda: NOW)
    log.open()
    assert log.next == ROWS
    log.close()


@pytest.mark.parametrize("step", ["append_line", "_remove", "_force"])
def test_a_run_that_is_broken_off_is_finished_by_the_next(
    root: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """No row is lost or told twice, before or after."""
    before = rows(root)

    def broken(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sealing, step, broken)
        with pytest.raises(KeyboardInterrupt):
            seal(root, AT_ONCE, NOW)
    assert rows(root).equals(before)
    seal(root, AT_ONCE, NOW)
    assert rows(root).equals(before)
    assert closed(root) == []
    files = {str(path.relative_to(root)) for path in root.glob("tables/*/*/*.parquet")}
    assert files == {line.file for line in JournalFolder(root).tables()}


def test_a_damaged_segment_is_told_and_stays(root: Path) -> None:
    """The others are sealed."""
    bad = closed(root)[1]
    octets = bytearray(bad.read_bytes())
    octets[len(octets) // 2] ^= 1
    bad.write_bytes(octets)
    sealed = seal(root, AT_ONCE, NOW)
    assert [bad.name in fault for fault in sealed.faults] == [True]
    assert closed(root) == [bad]


def test_a_reader_goes_on_where_its_segment_becomes_a_table_meanwhile(root: Path) -> None:
    """It sees each row once."""
    reader = JournalFolder(root).read(0, 0, ROWS, ["offset"])
    offsets = next(reader).column(0).to_pylist()
    seal(root, AT_ONCE, NOW)
    offsets += [offset for batch in reader for offset in batch.column(0).to_pylist()]
    assert offsets == list(range(ROWS))


def trimmed(root: Path, **settings: Any) -> Sealed:
    """Seal, and trim by these settings."""
    return seal(root, SealSettings(wait_seconds=0.0, table_octets=1, **settings), NOW)


def test_old_tables_and_too_many_are_trimmed_from_the_beginning(root: Path) -> None:
    """Who asks for their rows is told why they are not there."""
    assert trimmed(root).trimmed == []
    tables = JournalFolder(root).tables()
    gone = trimmed(root, keep_octets=sum(line.octets for line in tables[2:])).trimmed
    assert list(gone) == tables[:2]
    assert not any(root.joinpath(line.file).exists() for line in gone)
    first = JournalFolder(root).earliest(0)
    assert first == tables[2].first
    with pytest.raises(MissingRows, match=f"trimmed away: the oldest that are kept begin at {first}"):
        rows(root)
    rows(root, first)
    assert len(trimmed(root, keep_seconds=1.0).trimmed) == len(tables) - 2
    assert JournalFolder(root).earliest(0) == JournalFolder(root).pieces(0)[0].first


def test_what_a_named_reader_needs_is_kept_until_it_has_long_said_nothing(root: Path) -> None:
    """A reader that nobody has ended would else fill the disk."""
    seal(root, AT_ONCE, NOW)
    tables = JournalFolder(root).tables()
    write_position(root, "report", {0: tables[1].first + 1})
    os.utime(position_path(root, "report"), (NOW, NOW))
    assert list(trimmed(root, keep_seconds=1.0).trimmed) == tables[:1]
    os.utime(position_path(root, "report"), (NOW - 100, NOW - 100))
    assert len(trimmed(root, keep_seconds=1.0, reader_seconds=99.0).trimmed) == len(tables) - 1


def test_positions_are_kept_by_name(tmp_path: Path) -> None:
    """And forgotten when they are told to be."""
    assert read_position(tmp_path, "a.b-1") == {}
    write_position(tmp_path, "a.b-1", {1: 5, 0: 7})
    assert read_position(tmp_path, "a.b-1") == {0: 7, 1: 5}
    forget_reader(tmp_path, "a.b-1")
    assert read_position(tmp_path, "a.b-1") == {}
    for name in ("", "../a", ".a", "a/b", "x" * 101):
        with pytest.raises(JournalError, match="no name"):
            write_position(tmp_path, name, {})
    position_path(tmp_path, "bad").write_text("no")
    with pytest.raises(JournalError, match="bad"):
        read_position(tmp_path, "bad")


def test_half_a_line_of_the_manifest_does_not_count(root: Path) -> None:
    """It is still being written; the segments are there as long."""
    before = rows(root)
    copies = {path: path.read_bytes() for path in closed(root)}
    seal(root, AT_ONCE, NOW)
    manifest = manifest_path(root).read_bytes()
    manifest_path(root).write_bytes(manifest[: len(manifest) - 5])
    for path, octets in copies.items():
        path.write_bytes(octets)
    assert rows(root).equals(before)
    seal(root, AT_ONCE, NOW)
    assert rows(root).equals(before)


def test_others_than_the_brokers_user_and_group_see_nothing(tmp_path: Path) -> None:
    """Payloads are nobody else's business, in the log or in tables."""
    root = tmp_path / "journal"
    log = Log(root, 0, 10**9, 60.0, lambda: NOW)
    log.open()
    log.close()
    assert root.stat().st_mode & 0o777 == log_folder(root, 0).stat().st_mode & 0o777 == 0o750 & ~UMASK
    write_sample(tmp_path / "open", ROWS, segment_rows=450, frame_rows=200)
    seal(tmp_path / "open", AT_ONCE, NOW)
    assert (tmp_path / "open" / "tables").stat().st_mode & 0o007 == 0


def test_two_sealers_are_one_too_many(root: Path) -> None:
    """The second is told so."""
    with sealing._alone(root), pytest.raises(JournalError, match="another process seals it"):
        seal(root, AT_ONCE, NOW)


@pytest.fixture
def run() -> Callable[..., tuple[int, str]]:
    """Run ``fmqbus seal``; its exit code and what it says."""

    def run(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(command, arguments)
        return result.exit_code, result.output

    return run


def test_the_command_seals_and_tells(root: Path, run: Callable[..., tuple[int, str]]) -> None:
    """Each table with its rows; what is wrong ends it with 1."""
    code, said = run(str(root), "--keep", "1d")
    assert code == 0
    assert said.startswith("sealed tables/date=2026-01-01/hour=00/0000-")
    assert "rows" in said
    assert "trimmed tables/" in said
    closed_one = log_folder(root, 0) / f"{5:020d}{CLOSED}"
    closed_one.write_bytes(b"no frame")
    assert run(str(root), "--keep", "1x")[0] == 2
    with sealing._alone(root):
        code, said = run(str(root))
    assert (code, "another process" in said) == (1, True)


def test_a_flipped_bit_in_a_table_is_told(root: Path) -> None:
    """Each page of a column has a checksum; without it, Parquet would give another payload."""
    seal(root, AT_ONCE, NOW)
    table = root / JournalFolder(root).tables()[0].file
    before = table.read_bytes()
    for position in range(len(before) // 40, len(before), len(before) // 20):
        table.write_bytes(before[:position] + bytes([before[position] ^ 1]) + before[position + 1 :])
        try:
            found = rows(root, 0, 400)
        except DamagedFrame:
            continue
        # what is in no page, such as statistics, changes no row
        assert found.num_rows == 400
        assert found.column("payload").null_count < 400
