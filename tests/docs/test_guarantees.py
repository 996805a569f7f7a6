"""Does docs/guarantees.md name a test for each promise?"""

from __future__ import annotations

import re

import pytest

from tests.docs.names import PAGES, read
from tests.protocols.pages import ROOT, docstrings_in

ROWS = re.findall(r"^\| \*\*(.*?)\*\* \|.*\| (.*) \|$", read("guarantees.md"), re.MULTILINE)


@pytest.mark.parametrize(("what", "tests"), ROWS)
def test_every_promise_names_tests_that_there_are(what: str, tests: str) -> None:
    """Tests, or a file of them, or another page that names them."""
    named = re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", tests)
    pages = re.findall(r"\]\(([\w/-]+\.md)\)", tests)
    assert named or pages, what
    for file, name in named:
        there_are = docstrings_in(ROOT / "tests" / file)
        assert name in there_are if name else there_are
    assert all((PAGES / page).is_file() for page in pages)
