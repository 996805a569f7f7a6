"""Is what the pages have from the code and the tests still so?"""

from __future__ import annotations

import pytest

from tests.docs.places import PLACES, Place


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_what_is_made_is_what_stands_there(place: Place) -> None:
    """If not, `python -m tests.docs` (or `tox -e pages`) writes it anew."""
    assert place.is_current(), f"{place} is out of date: python -m tests.docs"
