"""Does docs/crossing.md tell of every crossing, and name the test that shows it?"""

from __future__ import annotations

import re
from pathlib import Path

from tests.crossing.conftest import PROTOCOLS
from tests.protocols.pages import docstrings_in

_HERE = Path(__file__).parent
_PAGE = (_HERE.parents[1] / "docs" / "crossing.md").read_text(encoding="utf-8")
_ROWS = [row for row in _PAGE.partition("## What arrives")[2].splitlines() if row.startswith("| ")][1:]


def test_every_crossing_has_one_row_and_every_row_one_test() -> None:
    """What is tested is told, and what is told is tested."""
    named = [re.findall(r"`(test_\w+\.py::test_\w+)`", row) for row in _ROWS]
    tests = {
        f"{path.name}::{name}"
        for path in _HERE.glob("test_*.py")
        if path != Path(__file__)
        for name in docstrings_in(path)
        if name.startswith("test_")
    }
    assert all(len(names) == 1 for names in named)
    assert sorted(name for names in named for name in names) == sorted(tests)


def test_every_protocol_has_its_columns() -> None:
    """In both tables."""
    heads = re.findall(r"^(\|.*\|)\n\|---", _PAGE, re.MULTILINE)
    assert len(heads) == 2
    for kind in PROTOCOLS:
        assert all(f"{kind.protocol} |" in head.lower() for head in heads)
