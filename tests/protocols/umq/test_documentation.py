"""Does docs/protocols/umq.md say of each reading which test shows it, and the statement of each requirement?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.protocols.pages import ROOT, Row, ids_of, readings_named_by_tests, readings_named_in, rows_of
from tests.protocols.requirements import requirements_in
from tests.protocols.umq.clients import BUILT_IN

HERE = Path(__file__).parent
PAGE = (ROOT / "docs/protocols/umq.md").read_text(encoding="utf-8")
ROWS = [*requirements_in(HERE), *rows_of(PAGE, HERE)]

#: How many requirements the specification has as we count them, and how many readings we chose.
REQUIREMENTS, READINGS = 19, 47


def test_every_requirement_and_every_reading_has_its_row() -> None:
    """None is left out, and none is there twice."""
    assert [row.id for row in ROWS] == ids_of("Q", REQUIREMENTS, READINGS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_row_names_tests_that_exist_and_say_what_they_are_for(row: Row) -> None:
    """Each of a requirement's tests names its section, each of a reading's its number."""
    assert row.tests
    if row.id.startswith("Q"):
        assert all(re.search(rf"UMQ, .*{re.escape(row.subject)}(?!\w)", text, re.DOTALL) for text in row.docstrings)
    else:
        assert all(int(row.id) in readings_named_in(text) for text in row.docstrings)


def test_no_test_speaks_of_a_reading_that_does_not_exist() -> None:
    """Numbers are those of the page."""
    assert readings_named_by_tests(HERE.glob("test_*.py")) <= set(range(1, READINGS + 1))


def test_every_method_is_on_the_page() -> None:
    """In the table of methods."""
    told = re.findall(r"^\| `(\w+)` \| ", PAGE.partition("## Methods")[2].partition("| update of |")[0], re.MULTILINE)
    assert sorted(told) == sorted(method.name for method in BUILT_IN)
