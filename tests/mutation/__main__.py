"""Make small mistakes in the codecs and in the router, see whether the tests notice, and write the figures into
docs/reliability.md.

Fails if the tests fail by themselves, or if less is noticed than is said below.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from tests import measured
from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.session import Session, Verdict
from tests.mutation.targets import TARGETS, Target

_ROOT = Path(__file__).parents[2]
PAGE = _ROOT / "docs" / "reliability.md"
_SMOKE_EACH = 3
#: Others go first.
_NICE = 15
#: Of what the tests come by, so much is noticed; in the short form, which chance may treat badly, less.
_LEAST, _SMOKE_LEAST = 0.85, 0.5


def main() -> None:
    """Read the command line."""
    arguments = argparse.ArgumentParser("python -m tests.mutation", description=__doc__)
    arguments.add_argument("--each", type=int, help="so many mistakes in each file, chosen at random (default: all)")
    arguments.add_argument("--smoke", action="store_true", help=f"only {_SMOKE_EACH} in each; writes no page")
    arguments.add_argument("--seed", type=int, default=1, help="for the choice")
    arguments.add_argument("--write", action="store_true", help="write the page although not all were made")
    arguments.add_argument("modules", nargs="*", metavar="MODULE", help="only these, such as fmqbus/names.py")
    chosen = arguments.parse_args()
    os.nice(_NICE)
    most = _SMOKE_EACH if chosen.smoke else chosen.each
    verdicts: dict[str, list[Verdict]] = {target.title: [] for target in TARGETS}
    begun = time.monotonic()
    for target in TARGETS:
        if modules := [each for each in target.modules if not chosen.modules or each in chosen.modules]:
            verdicts[target.title] = _verdicts(target, modules, most, chosen.seed)
    account = measured.table(_HEAD, _ALIGNMENT, _rows(verdicts))
    print(account)
    print(f"{time.monotonic() - begun:.0f} s")
    if chosen.write or not (chosen.modules or most):
        said = f" -- --each {most} --write" if most else ""
        measured.write(PAGE, "mutation", account, f"tox -e mutation{said}")
        print(f"written to {PAGE}")
    least = _SMOKE_LEAST if chosen.smoke else _LEAST
    if (share := _share([one for all_ in verdicts.values() for one in all_])) < least:
        sys.exit(f"only {share:.0%} are noticed, at least {least:.0%} should be")


_HEAD = ("in", "mistakes", "noticed", "not noticed", "no test comes by", "share of those that tests come by")
_ALIGNMENT = ("---", "--:", "--:", "--:", "--:", "--:")


def _rows(verdicts: dict[str, list[Verdict]]) -> Iterator[measured.Cells]:
    together = [one for all_ in verdicts.values() for one in all_]
    for title, found in [*verdicts.items(), ("**all**", together)]:
        if found:
            ends = Counter(one.end for one in found)
            noticed = ends["noticed"] + ends["too slow"]
            counts = (len(found), noticed, ends["survived"], ends["not run"])
            yield title, *(f"{count:,}" for count in counts), f"{_share(found):.0%}"


def _share(verdicts: Sequence[Verdict]) -> float:
    ends = Counter(one.end for one in verdicts)
    made = ends["noticed"] + ends["too slow"] + ends["survived"]
    return 1 - ends["survived"] / made if made else 1.0


def _chosen(module: str, most: int | None, random: Random) -> Sequence[Mutant]:
    path = _ROOT / module
    mutants = list(mutants_of(path.read_text(), str(path)))
    if most is None:
        return mutants
    return sorted(random.sample(mutants, min(most, len(mutants))), key=lambda mutant: mutant.line)


def _verdicts(target: Target, modules: Sequence[str], most: int | None, seed: int) -> list[Verdict]:
    mutants = [mutant for module in modules for mutant in _chosen(module, most, Random(f"{seed} {module}"))]
    begun = time.monotonic()
    # a child for each target: what tests have loaded and left behind is gone with it
    reading, writing = os.pipe()
    if os.fork() == 0:
        _run(mutants, [str(_ROOT / test) for test in target.tests], writing)
    os.close(writing)
    with os.fdopen(reading) as told:
        ends = [line.rstrip("\n").split("\t") for line in told]
    os.wait()
    if len(ends) != len(mutants):
        sys.exit(f"{target.title}: {' '.join(ends[-1]) if ends else 'nothing was told'}")
    found = [Verdict(mutant, end, int(tests)) for mutant, (end, tests) in zip(mutants, ends, strict=True)]
    counts = ", ".join(f"{count} {end}" for end, count in sorted(Counter(one.end for one in found).items()))
    print(f"{target.title}: {counts} ({time.monotonic() - begun:.0f} s)", flush=True)
    for one in found:
        if one.end in ("survived", "not run"):
            where = f"{Path(one.mutant.path).relative_to(_ROOT)}:{one.mutant.line}"
            print(f"    {one.end}: {where} {one.mutant.function}: {one.mutant.what}", flush=True)
    return found


def _run(mutants: Sequence[Mutant], tests: Sequence[str], writing: int) -> None:
    """Never returns."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 1)
    session = Session(mutants)
    try:
        # a reactor, which pytest-twisted runs, cannot be run again in each child; none of these tests needs one
        pytest.main(["-q", "-p", "no:twisted", "-p", "no:cacheprovider", *tests], plugins=[session])
        with os.fdopen(writing, "w") as told:
            for one in session.verdicts:
                told.write(f"{one.end}\t{one.tests}\n")
            if session.failure:
                told.write(session.failure + "\n")
    finally:
        os._exit(0)


main()
