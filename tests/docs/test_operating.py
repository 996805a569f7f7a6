"""Can an operator do what the pages for operators say? They are followed to the letter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

PAGES = ["docs/operate.md", "docs/plugs.md", "docs/secure.md"]


@pytest.mark.parametrize("page", PAGES)
def test_what_the_page_shows_can_be_done(page: str, follow: Callable[[str], None]) -> None:
    """In its order, on a bus of its own."""
    follow(page)
