"""What does the page of a protocol say of its tests? The rows of its last table, and what those tests say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]


@attrs.frozen
class Row:
    """A requirement of the specification, or a reading of ours."""

    id: str
    #: The specification's section, or what is read.
    subject: str
    tests: Sequence[str]
    #: Where tests are whose folder is not named.
    folder: Path

    @property
    def docstrings(self) -> list[str]:
        """What the tests say of themselves."""
        return [self._docstring_of(test) for test in self.tests]

    def _docstring_of(self, test: str) -> str:
        file, _, name = test.partition("::")
        return docstrings_in(ROOT / file if "/" in file else self.folder / file)[name]


def rows_of(page: str, folder: Path) -> Iterator[Row]:
    """The rows of a page's readings, which begin with a number."""
    for line in page.splitlines():
        if match := re.fullmatch(r"\| (\d+) \| (.*?) \| (.*) \| (.*) \|", line):
            yield Row(match[1], match[2], re.findall(r"`(\S+\.py::\w+)`", match[4]), folder)


def ids_of(letter: str, requirements: int, readings: int) -> list[str]:
    """What requirements and readings are to be called."""
    return [*(f"{letter}{number}" for number in range(1, requirements + 1)), *map(str, range(1, readings + 1))]


@cache
def docstrings_in(path: Path) -> dict[str, str]:
    """The docstrings of a file's tests by their names."""
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {function.name: ast.get_docstring(function) or "" for function in functions}


def readings_named_in(docstring: str) -> set[int]:
    """The numbers after ``reading`` or ``readings``, as in "readings 3, 5 and 7"."""
    phrases = re.findall(r"[Rr]eadings? (\d+(?:(?:,\s+|\s+and\s+)\d+)*)", docstring)
    return {int(number) for phrase in phrases for number in re.findall(r"\d+", phrase)}


def readings_named_by_tests(paths: Iterable[Path]) -> set[int]:
    """All that the tests of these files speak of."""
    return {
        reading
        for path in paths
        for docstring in docstrings_in(path).values()
        for reading in readings_named_in(docstring)
    }
