"""How do closed segments become tables, and tables that nobody needs go? Blocking; a process of its own does it.

A table is written under another name, forced to the disk, renamed, and told in the manifest; only then do its segments
go. A crash between any two of these steps leaves every row in one place or in both, and the next run finishes. Readers
that have a segment open keep it; those that look for it afterwards find the table.
"""

from __future__ import annotations

import fcntl
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from fmqbus.journal.contents import Piece
from fmqbus.journal.errors import JournalError
from fmqbus.journal.files import FOLDER_MODE, append_line, cut_last_line, force_names
from fmqbus.journal.folder import JournalFolder
from fmqbus.journal.journal_schema import SCHEMA
from fmqbus.journal.kinds import SCHEMA_VERSION
from fmqbus.journal.places import TableLine, line_from, lines_of, manifest_path
from fmqbus.journal.readers import positions
from fmqbus.limits import MIB

#: Rows of a row group: some 10 MB, enough for skipping and for many tasks.
GROUP_ROWS = 125_000
#: Columns whose values repeat.
_REPEATING = ["kind", "protocol", "client", "principal", "topic", "outcome", "boot", "shard"]


@attrs.frozen(kw_only=True)
class SealSettings:
    """When is sealed, and how long is kept. Times in seconds; None is for ever."""

    #: Segments gather into one table up to so many octets of log,
    table_octets: int = 256 * MIB
    #: or until the oldest has waited so long.
    wait_seconds: float = 600.0
    #: What is older is trimmed away, and the oldest, while there is more than this.
    keep_seconds: float | None = None
    keep_octets: int | None = None
    #: Readers that have said nothing for so long do not keep anything from being trimmed.
    reader_seconds: float = 7 * 86_400.0


@attrs.frozen
class Sealed:
    """What a run has done."""

    tables: Sequence[TableLine]
    trimmed: Sequence[TableLine]
    #: What could not be done, in words.
    faults: Sequence[str]


def seal(
    root: Path, settings: SealSettings, now: float, told: Callable[[TableLine], None] = lambda line: None
) -> Sealed:
    """Seal what is due, and trim what may go. `now` is the POSIX time; `told` hears of each table that is made.

    Raises `JournalError` if another process does so, and `OSError` where the disk fails.
    """
    with _alone(root):
        _finish(root)
        folder = JournalFolder(root)
        tables: list[TableLine] = []
        faults: list[str] = []
        for shard in folder.shards():
            for group in _groups(folder, shard, settings, now):
                try:
                    line = _make_table(root, shard, group)
                except JournalError as error:
                    faults.append(str(error))
                    continue
                append_line(manifest_path(root), line_from(line))
                _remove(piece.found() for piece in group)
                tables.append(line)
                told(line)
        return Sealed(tables, _trim(root, settings, now), faults)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    file = os.open(root / "sealer.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise JournalError(f"{root}: another process seals it") from None
    try:
        yield
    finally:
        os.close(file)


def _finish(root: Path) -> None:
    """What a run that was broken off has left: segments of told tables, tables that are told to be gone."""
    cut_last_line(manifest_path(root))
    lines = {line.file: line for line in lines_of(manifest_path(root), TableLine)}
    for line in lines.values():
        if line.is_removed:
            root.joinpath(line.file).unlink(missing_ok=True)
    folder = JournalFolder(root)
    for shard in folder.shards():
        _remove(piece.found() for piece in folder.leftovers(shard))


def _remove(paths: Iterator[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _groups(folder: JournalFolder, shard: int, settings: SealSettings, now: float) -> Iterator[list[Piece]]:
    """Neighbouring closed segments of one hour, for one table each, of those that are due."""
    group: list[Piece] = []
    octets = 0
    for piece in folder.pieces(shard):
        if piece.is_table or not piece.is_closed():
            continue
        begins_anew = group and (
            octets + piece.octets > settings.table_octets
            or piece.first != group[-1].end
            or _hour(piece) != _hour(group[-1])
        )
        if begins_anew:
            yield group
            group, octets = [], 0
        group.append(piece)
        octets += piece.octets
    if group and (octets >= settings.table_octets or min(p.latest for p in group) / 1e6 <= now - settings.wait_seconds):
        yield group


def _hour(piece: Piece) -> str:
    return datetime.fromtimestamp(piece.earliest / 1e6, UTC).strftime("date=%Y-%m-%d/hour=%H")


def _make_table(root: Path, shard: int, group: Sequence[Piece]) -> TableLine:
    first, end = group[0].first, group[-1].end
    file = Path("tables", _hour(group[0]), f"{shard:04d}-{first:020d}-{end - 1:020d}.parquet")
    path = root / file
    for folder in (root / "tables", path.parent):
        folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}")
    rows = 0
    with pq.ParquetWriter(
        fresh, SCHEMA, compression="zstd", compression_level=1, use_dictionary=_REPEATING, write_page_checksum=True
    ) as writer:
        for table in _portions(batch for piece in group for batch in piece.read(piece.first, piece.end)):
            writer.write_table(table, row_group_size=GROUP_ROWS)
            rows += table.num_rows
    if rows != end - first:
        raise JournalError(f"{path}: {rows} rows instead of {end - first}")
    crc = _force(fresh)
    fresh.rename(path)
    force_names(path.parent)
    return TableLine(
        str(file),
        shard,
        first,
        end,
        min(piece.earliest for piece in group),
        max(piece.latest for piece in group),
        path.stat().st_size,
        SCHEMA_VERSION,
        crc,
    )


def _portions(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The rows in portions for a row group each."""
    gathered: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        while rows + batch.num_rows >= GROUP_ROWS:
            part = GROUP_ROWS - rows
            yield pa.Table.from_batches([*gathered, batch.slice(0, part)])
            batch, gathered, rows = batch.slice(part), [], 0
        if batch.num_rows:
            gathered.append(batch)
            rows += batch.num_rows
    if gathered:
        yield pa.Table.from_batches(gathered)


def _force(path: Path) -> int:
    """Force the file to the disk; returns its sum."""
    crc = 0
    with path.open("rb") as file:
        os.fsync(file.fileno())
        while octets := file.read(MIB):
            crc = zlib.crc32(octets, crc)
    return crc


def _trim(root: Path, settings: SealSettings, now: float) -> list[TableLine]:
    """Let go of the oldest tables of each shard that are too old, or too many, and that no reader needs."""
    trimmed: list[TableLine] = []
    folder = JournalFolder(root)
    needed = positions(root, now - settings.reader_seconds).values()
    tables = sorted(folder.tables(), key=lambda line: (line.latest, line.shard, line.first))
    octets = sum(line.octets for line in tables)
    stopped: set[int] = set()
    for line in tables:
        is_old = settings.keep_seconds is not None and line.latest / 1e6 < now - settings.keep_seconds
        is_much = settings.keep_octets is not None and octets > settings.keep_octets
        is_needed = any(line.end > offsets.get(line.shard, line.end) for offsets in needed)
        if is_needed or not (is_old or is_much) or line.shard in stopped:
            stopped.add(line.shard)  # a shard is trimmed from its beginning, and has no holes
            continue
        append_line(manifest_path(root), line_from(replace(line, is_removed=True)))
        root.joinpath(line.file).unlink(missing_ok=True)
        octets -= line.octets
        trimmed.append(line)
    return trimmed
