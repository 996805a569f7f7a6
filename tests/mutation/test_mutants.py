"""Which mistakes are made, and does a run of tests with a mistake in it tell whether they notice?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.live.broker import path_of_tests
from tests.mutation.mutants import mutants_of

SOURCE = '''\
"""A docstring."""
LIMIT = 5


def small(number: int = 1) -> bool:
    """Another."""
    return number < LIMIT


class Counter:
    step = 1

    def count(self, numbers, log):
        total = 0
        for number in numbers:
            if not number:
                continue
            if number > 9 and small(number):
                break
            total += number
        self.total = total
        if total == 0:
            raise ValueError("nothing" + "!")
        return total
'''


def test_mistakes_are_made_in_what_functions_do_and_nowhere_else() -> None:
    """Not in docstrings, defaults, constants of the module, or what errors say."""
    made = [(mutant.line, mutant.function, mutant.what) for mutant in mutants_of(SOURCE, "x.py")]
    assert made == [
        (7, "small", "returns None"),
        (7, "small", "Lt for LtE"),
        (14, "Counter.count", "0 for 1"),
        (16, "Counter.count", "without not"),
        (18, "Counter.count", "not if"),
        (18, "Counter.count", "And for Or"),
        (18, "Counter.count", "Gt for GtE"),
        (18, "Counter.count", "9 for 10"),
        (19, "Counter.count", "continue for break"),
        (20, "Counter.count", "Add for Sub"),
        (21, "Counter.count", "without it"),
        (22, "Counter.count", "Eq for NotEq"),
        (22, "Counter.count", "0 for 1"),
        (24, "Counter.count", "returns None"),
    ]


def test_each_mistake_is_another_code_that_can_take_the_functions_place() -> None:
    """It has a function's free variables, and differs."""
    namespace: dict[str, object] = {}
    exec(compile(SOURCE, "x.py", "exec"), namespace)
    small = namespace["small"]
    assert small(5) is False  # type: ignore[operator]
    (mutant,) = (one for one in mutants_of(SOURCE, "x.py") if one.what == "Lt for LtE")
    small.__code__ = mutant.code()  # type: ignore[attr-defined]
    assert small(5) is True  # type: ignore[operator]


TESTS = """\
import told

def test_one(): assert told.one(3) == 4

def test_two(): told.two([])
"""
TOLD = """\
def one(number): return number + 1

def two(numbers):
    for number in numbers:
        print(number)
    numbers.append(2)

def three(): return 3
"""
DRIVER = """\
import sys
from pathlib import Path
import pytest
from tests.mutation.mutants import mutants_of
from tests.mutation.session import Session
path = Path("told.py").resolve()
session = Session(list(mutants_of(path.read_text(), str(path))))
pytest.main(["-q", "-p", "no:twisted", "-p", "no:cacheprovider", "test_told.py"], plugins=[session])
for one in session.verdicts:
    print("told:", one.mutant.function, one.mutant.what, one.end, one.tests)
print("told:", session.failure)
"""


@pytest.mark.parametrize(
    ("tests", "told"),
    [
        (
            TESTS,
            [
                "one returns None noticed 1",
                "one Add for Sub noticed 1",
                "one 1 for 2 noticed 1",
                "two without a call not run 0",
                "two without a call survived 1",
                "two 2 for 3 survived 1",
                "three returns None not run 0",
                "three 3 for 4 not run 0",
                "",
            ],
        ),
        (TESTS.replace("== 4", "== 5"), ["the tests fail without any mistake"]),
        ("import nothing_of_this_name", ["the tests cannot be collected"]),
    ],
    ids=["passing", "failing", "broken"],
)
def test_a_run_tells_which_mistakes_its_tests_notice(tmp_path: Path, tests: str, told: list[str]) -> None:
    """By the tests that come by, and only if they pass without."""
    for name, text in (("told.py", TOLD), ("test_told.py", tests), ("driver.py", DRIVER)):
        (tmp_path / name).write_text(text)
    ended = subprocess.run(
        [sys.executable, "driver.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{tmp_path}:{path_of_tests()}", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    said = [line.removeprefix("told: ").rstrip() for line in ended.stdout.splitlines() if line.startswith("told:")]
    assert [line.removeprefix("told:") for line in said] == told, ended.stdout + ended.stderr
