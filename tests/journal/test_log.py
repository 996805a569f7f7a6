"""Are offsets dense and given once, and is what readers have seen there again, whatever happened to the files?"""

from __future__ import annotations

import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from fmqbus.journal import log as log_module
from fmqbus.journal.entries import PACKET_HEAD, PACKETS, FrameBuilder
from fmqbus.journal.errors import JournalError, MissingRows, NewerFormat
from fmqbus.journal.folder import JournalFolder
from fmqbus.journal.kinds import Kind
from fmqbus.journal.log import Log
from fmqbus.journal.places import index_path, log_folder
from fmqbus.journal.segments import CLOSED, OPEN
from tests.journal.test_entries import summed


class Writer:
    """A log with a clock that stands still, whose messages are numbered as its rows are."""

    def __init__(self, root: Path, segment_octets: int = 1_000_000, segment_seconds: float = 60.0) -> None:
        self.now = 1_000.0
        self.log = Log(root, 0, segment_octets, segment_seconds, lambda: self.now)
        self.log.open()

    def write(self, *frames: int) -> Writer:
        """Commit frames of so many rows each."""
        builders = []
        number = self.log.next
        for rows in frames:
            builder = FrameBuilder(0, 0)
            bodies = [b"%08d" % each for each in range(number, number + rows)]
            data = b"".join(PACKET_HEAD.pack(0, 1, 8) + b"t" + body for body in bodies)
            builder.add(Kind.PUBLISH, PACKETS, None, int(self.now * 1e6), rows, data)
            builders.append(builder)
            number += rows
        self.log.commit(builders)
        return self

    def crash(self) -> None:
        """Leave everything as it is, but the lock, which goes with a process."""
        self.log._close_files()


def check(root: Path, end: int, first: int = 0) -> None:
    """The rows up to `end` are there, each the one that was written under its offset."""
    folder = JournalFolder(root)
    assert (folder.earliest(0), folder.end(0)) == (first, end)
    payloads = [p for batch in folder.read(0, first, end, ["payload"]) for p in batch.column(0).to_pylist()]
    assert payloads == [b"%08d" % number for number in range(first, end)]


def opened(root: Path) -> Path:
    """The segment that is open."""
    (path,) = log_folder(root, 0).glob("*" + OPEN)
    return path


def test_rows_are_there_after_a_crash_and_after_a_clean_end(tmp_path: Path) -> None:
    """And offsets go on where they were."""
    Writer(tmp_path).write(3, 5).crash()
    check(tmp_path, 8)
    Writer(tmp_path).write(4).log.close()
    check(tmp_path, 12)
    assert [path.name for path in log_folder(tmp_path, 0).glob("*" + CLOSED)] == [f"{0:020d}{CLOSED}"]
    Writer(tmp_path).write(1).crash()
    check(tmp_path, 13)


def test_an_end_without_rows_leaves_the_offsets(tmp_path: Path) -> None:
    """However often."""
    Writer(tmp_path).write(3).log.close()
    for _ in range(3):
        Writer(tmp_path).log.close()
        Writer(tmp_path).crash()
    Writer(tmp_path).write(2).crash()
    check(tmp_path, 5)


def test_what_no_reader_has_seen_is_cut_off_at_the_first_frame_that_is_not_whole(tmp_path: Path) -> None:
    """Wherever the machine stopped: rows that were safe stay, the offsets of the others are given again."""
    Writer(tmp_path / "made").write(3).crash()
    safe = opened(tmp_path / "made").read_bytes().rstrip(b"\0")
    head = log_folder(tmp_path / "made", 0).joinpath("head").read_bytes()
    Writer(tmp_path / "made").write(5).crash()
    both = opened(tmp_path / "made").read_bytes().rstrip(b"\0")
    for cut in range(len(safe), len(both) + 1):
        root = tmp_path / "cut"
        shutil.copytree(tmp_path / "made", root)
        opened(root).write_bytes(both[:cut])
        log_folder(root, 0).joinpath("head").write_bytes(head)
        check(root, 3)
        writer = Writer(root)
        whole = cut == len(both)
        assert writer.log.next == (8 if whole else 3)
        assert [note for note in writer.log.notes if "cut off" in note] == writer.log.notes
        assert len(writer.log.notes) == (0 if cut in (len(safe), len(both)) else 1)
        writer.write(2).crash()
        check(root, writer.log.next)
        shutil.rmtree(root)


def test_a_changed_bit_in_safe_rows_is_told_and_their_offsets_are_not_given_again(tmp_path: Path) -> None:
    """The damaged file is kept; readers are told of the rows that are gone."""
    Writer(tmp_path / "made").write(3).write(5).crash()
    octets = opened(tmp_path / "made").read_bytes()
    size = len(octets.rstrip(b"\0"))
    for position in range(0, size, 13):
        root = tmp_path / "bad"
        shutil.copytree(tmp_path / "made", root)
        changed = bytearray(octets)
        changed[position] ^= 1 << position % 8
        opened(root).write_bytes(changed)
        writer = Writer(root)
        assert any("damaged or gone" in note for note in writer.log.notes)
        writer.write(2).crash()
        folder = JournalFolder(root)
        assert folder.end(0) == 10
        assert [p for batch in folder.read(0, 8, 10, ["payload"]) for p in batch.column(0).to_pylist()]
        with pytest.raises(MissingRows) as caught:
            list(folder.read(0, 0, 10))
        assert (caught.value.first, caught.value.end) in ((0, 8), (3, 8))
        assert [path.read_bytes() for path in log_folder(root, 0).glob("*.damaged")] == [bytes(changed)]
        shutil.rmtree(root)


def test_a_segment_is_closed_when_it_is_large_or_old(tmp_path: Path) -> None:
    """Also if nothing more comes; a clock that was set back does not stop that."""
    writer = Writer(tmp_path, segment_octets=400)
    for _ in range(4):
        writer.write(20)
    assert len(list(log_folder(tmp_path, 0).glob("*" + CLOSED))) == 3
    writer.now -= 10_000
    writer.log.commit([])
    writer.now += 60
    writer.log.commit([])
    assert len(list(log_folder(tmp_path, 0).glob("*" + CLOSED))) == 4
    writer.crash()
    check(tmp_path, 80)


def test_a_crash_between_the_steps_of_closing_is_put_right(tmp_path: Path) -> None:
    """A line without its file's new name, a file without its line, half a line, no new segment."""
    Writer(tmp_path / "made", segment_octets=100).write(5).write(5).crash()
    folder = log_folder(tmp_path / "made", 0)
    line = index_path(tmp_path / "made", 0).read_bytes()
    closed = folder / f"{0:020d}{CLOSED}"
    for step in ("line", "half a line", "renamed", "no line"):
        root = tmp_path / step
        shutil.copytree(tmp_path / "made", root)
        index, copy = index_path(root, 0), log_folder(root, 0) / closed.name
        if step != "no line":
            opened(root).unlink()
        if step in ("line", "half a line"):
            copy.rename(copy.with_suffix(OPEN))
        if step != "line":
            index.write_bytes(b"" if step == "no line" else line[: len(line) // 2] if "half" in step else line)
        (log_folder(root, 0) / "head").unlink()
        writer = Writer(root)
        end = writer.log.next
        assert end == (10 if step == "no line" else 5)
        writer.write(3).crash()
        check(root, end + 3)


def test_a_log_has_one_writer(tmp_path: Path) -> None:
    """A second broker is told that it needs a shard of its own."""
    writer = Writer(tmp_path)
    with pytest.raises(JournalError, match="another broker"):
        Writer(tmp_path)
    writer.log.close()
    Writer(tmp_path).crash()


def test_a_log_of_a_later_format_is_not_touched(tmp_path: Path) -> None:
    """It is not damage: nothing may be cut off."""
    Writer(tmp_path).write(3).crash()
    octets = bytearray(opened(tmp_path).read_bytes())
    octets[4] = 9
    opened(tmp_path).write_bytes(summed(octets))
    with pytest.raises(NewerFormat):
        Writer(tmp_path)
    assert opened(tmp_path).read_bytes() == summed(octets)


@contextmanager
def full_disk(octets: int) -> Iterator[None]:
    """No file can grow beyond so many octets."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (octets, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_could_not_be_written_can_be_tried_again(tmp_path: Path) -> None:
    """Nothing of it is seen before; nothing twice afterwards."""
    writer = Writer(tmp_path).write(10)
    with full_disk(8192):
        for _ in range(2):
            with pytest.raises(OSError, match="File too large"):
                writer.write(2_000)
            check(tmp_path, 10)
    writer.write(2_000).write(5).crash()
    check(tmp_path, 2_015)


def test_a_segment_that_cannot_be_closed_is_closed_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are kept back as by a disk that is full, and come in their order."""
    writer = Writer(tmp_path, segment_octets=100).write(20)

    def fail(*arguments: object) -> None:
        raise OSError(5, "Input/output error")

    for step in ("append_line", "BlockFile", "force_names"):
        with monkeypatch.context() as patched:
            patched.setattr(log_module, step, fail)
            with pytest.raises(OSError, match="Input/output"):
                writer.write(20)
        check(tmp_path, writer.log.next)
        writer.write(20)
        check(tmp_path, writer.log.next)
    assert writer.log.next == 80
    writer.crash()
    check(tmp_path, 80)


def test_a_segment_that_was_left_open_before_the_last_is_closed(tmp_path: Path) -> None:
    """Whatever has led to that."""
    Writer(tmp_path, segment_octets=100).write(20).write(20).crash()
    closed = log_folder(tmp_path, 0) / f"{0:020d}{CLOSED}"
    closed.rename(closed.with_suffix(OPEN))
    index_path(tmp_path, 0).unlink()
    Writer(tmp_path).write(5).crash()
    check(tmp_path, 45)


def test_frames_larger_than_the_buffer_are_written_whole(tmp_path: Path) -> None:
    """Over several turns of it, and with a part of a block before and after."""
    writer = Writer(tmp_path, segment_octets=10**9).write(1)
    writer.write(400_000, 1, 400_000)
    writer.write(3).crash()
    folder = JournalFolder(tmp_path)
    offsets = pa.Table.from_batches(folder.read(0, 0, 800_005, ["offset", "payload"]))
    assert offsets.num_rows == folder.end(0) == 800_005
    assert offsets["payload"][800_004].as_py() == b"00800004"
