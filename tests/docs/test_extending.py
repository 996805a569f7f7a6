"""Can a stranger write each part from its page alone? Each page is followed to the letter, in an empty folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.reader import Reader


@pytest.mark.packages
@pytest.mark.parametrize("page", ["protocol"])
def test_the_package_of_the_page_can_be_installed_and_works(page: str, tmp_path: Path) -> None:
    """Built, installed, tested, and used by a bus."""
    with Reader(f"docs/extend/{page}.md", tmp_path) as reader:
        reader.read()


@pytest.mark.parametrize("page", ["authorizer", "observer", "sasl-mechanism", "service-topic", "store", "transport"])
def test_the_part_of_the_page_is_found_and_works(page: str, tmp_path: Path) -> None:
    """As a file on the path: tested, and used by a bus."""
    with Reader(f"docs/extend/{page}.md", tmp_path) as reader:
        reader.read()
