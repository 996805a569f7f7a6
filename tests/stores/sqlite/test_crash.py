"""What is there after the end of a process that was not asked, and after a power cut? (threats, row 35)"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

import fmqbus
from fmqbus.model import StoredMessage
from tests.stores.sqlite.samples import append, database, read, remove
from tests.stores.sqlite.scribe import steps

#: Far more than a scribe has time for.
MOST_STEPS = 1_000_000

Kept = dict[tuple[bytes, int], tuple[bytes, int]]


class Scribe:
    """A child that writes, and can be killed."""

    def __init__(self, path: Path, seed: int, first: int) -> None:
        root = Path(__file__).parents[3]
        paths = os.pathsep.join([str(Path(fmqbus.__file__).parents[1]), str(root)])
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.stores.sqlite.scribe", str(path), str(seed), str(first)],
            env=os.environ | {"PYTHONPATH": paths},
            stdout=subprocess.PIPE,
            text=True,
        )

    def kill_after(self, commits: int) -> int:
        """Kill it when it has told of so many commits; returns how many steps it said are safe."""
        assert self._child.stdout is not None
        lines = list(itertools.islice(self._child.stdout, 1 + commits))
        self._child.kill()
        rest, _ = self._child.communicate()
        return int([*lines, *rest.splitlines()][-1])


def kept_in(path: Path) -> tuple[Kept, list[StoredMessage]]:
    """What the next broker would find, as it would."""
    one = database(path)
    try:
        messages = one.messages()
    finally:
        one.close(in_order=False)
    return {(each.queue, each.number): (each.message.payload, each.deliveries) for each in messages}, messages


def test_a_killed_process_leaves_what_it_had_committed_and_nothing_torn(tmp_path: Path) -> None:
    """Killed at random moments, again and again over the same file: each time there is what a whole number of steps
    leads to, not fewer than it had said, on top of what was there before; and every message is marked."""
    path = tmp_path / "bus.db"
    random = Random(11)
    before: Kept = {}
    for round_ in range(5):
        first = round_ * MOST_STEPS
        safe = Scribe(path, round_, first).kill_after(random.randrange(1, 60))
        kept, messages = kept_in(path)
        expected = dict(before)
        told = steps(round_, first)
        for done in itertools.count(1):
            what, stored = next(told)
            key = (stored.queue, stored.number)
            if what == "remove":
                del expected[key]
            else:
                expected[key] = (stored.message.payload, stored.deliveries)
            if done >= safe and kept == expected:
                break
            assert done < safe + 100_000, f"round {round_}: not what any number of steps from {safe} on leads to"
        assert all(stored.is_redelivered for stored in messages)
        assert [(stored.queue, stored.number) for stored in messages] == sorted(kept)
        before = kept
    assert len(before) > 10


GROUPS = [
    [append(number, bytes([group]) * 500) for number in range(group * 20, group * 20 + 20)]
    + [remove(number) for number in range(group * 20 - 20, group * 20 - 10)]
    for group in range(10)
]


@pytest.mark.parametrize("seed", range(3))
def test_a_power_cut_leaves_what_had_been_committed(tmp_path: Path, seed: int) -> None:
    """It comes while a transaction is on its way to the disk: any of the pages that were written last may have reached
    it, in any order and in part. What was committed before is there, the last transaction as a whole or not at all,
    and the file is not taken for damaged."""
    random = Random(seed)
    live = tmp_path / "live" / "bus.db"
    torn = tmp_path / "torn"
    one = database(live)
    one.messages()
    states = [read(image(live, torn, {}))[0]]
    notes_seen = 0
    for group in GROUPS:
        if random.random() < 0.3:  # the log begins anew, over what it has
            one._opened().execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
        before = {file.name: file.read_bytes() for file in live.parent.iterdir()}
        one.write(group)
        states.append(read(image(live, torn, {}))[0])
        for _ in range(6):
            content, notes = read(image(live, torn, before, random))
            assert content in states[-2:]
            notes_seen += bool(notes)
    one.close(in_order=True)
    assert notes_seen > 0


def image(path: Path, folder: Path, before: dict[str, bytes], random: Random | None = None) -> Path:
    """The files as a disk may have them; with `random`, only some of what has changed since `before` is there."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(path.parent, folder)
    log = folder / f"{path.name}-wal"
    if random is not None:
        log.write_bytes(torn(before.get(log.name, b""), log.read_bytes(), random))
    return folder / path.name


def torn(old: bytes, new: bytes, random: Random) -> bytes:
    """Some of the blocks of 512 octets are still the old ones, and the file may still have its old length. The log's
    head is the new one: SQLite waits for it to be on the disk before it writes more."""
    length = random.choice((len(old), len(new), random.randint(min(len(old), len(new)), len(new))))
    likely = random.random()
    blocks = [
        new[at : at + 512] if random.random() < likely else old[at : at + 512].ljust(len(new[at : at + 512]), b"\0")
        for at in range(0, len(new), 512)
    ]
    return (new[:32] + b"".join(blocks)[32:])[: max(length, 32)]
