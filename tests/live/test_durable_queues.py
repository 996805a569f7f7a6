"""A queue in a database, and a process that is killed while it produces and consumes (threats, row 35)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import fmqbus

_ROOTS = os.pathsep.join([str(Path(fmqbus.__file__).parents[1]), str(Path(__file__).parents[2])])
_MANY = 1_000_000


def run(database: Path, seed: int, first: int, most: int, lines: int | None = None) -> Iterator[tuple[str, int]]:
    """Run the program, and kill it after so many lines; yield what it said, to the end."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.live.queue_program", *map(str, (database, seed, first, most))],
        env=os.environ | {"PYTHONPATH": _ROOTS},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    said = list(islice(child.stdout, lines))
    if lines is not None:
        child.kill()
    rest, _ = child.communicate()
    assert (child.returncode == 0) is (lines is None)
    for line in [*said, *rest.splitlines(keepends=True)]:
        if line.endswith("\n"):  # the last one may be cut
            word, number = line.split()
            yield word, int(number)


def test_what_was_acknowledged_is_consumed_whenever_the_process_is_killed(tmp_path: Path) -> None:
    """In order, and what comes again says so."""
    database = tmp_path / "bus.db"
    random = Random(5)
    acknowledged: set[int] = set()
    taken: set[int] = set()
    accepted: set[int] = set()
    again = 0
    for life in range(5):
        is_last = life == 4
        said = run(
            database, life, life * _MANY, 100 if is_last else _MANY, None if is_last else random.randint(1, 2000)
        )
        latest = -1
        for word, number in said:
            if word == "acknowledged":
                acknowledged.add(number)
            elif word == "accepted":
                accepted.add(number)
            else:
                assert number > latest, "within a life, messages come in their order"
                assert word == "taken-again" or number not in taken, "what comes again says so"
                latest = number
                again += number in taken
                taken.add(number)
    assert len(acknowledged) > 100
    assert acknowledged <= accepted, "nothing that was acknowledged is lost"
    assert again > 0
