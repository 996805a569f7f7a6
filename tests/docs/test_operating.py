"""Can an operator do what the pages for operators say? They are followed to the letter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.reader import Reader


@pytest.mark.parametrize("page", ["operate", "plugs"])
def test_what_the_page_shows_can_be_done(page: str, tmp_path: Path) -> None:
    """In its order, on a bus of its own."""
    with Reader(f"docs/{page}.md", tmp_path) as reader:
        reader.read()
