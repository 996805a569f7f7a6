"""Can a stranger write each part from its page alone? Each page is followed to the letter, in an empty folder."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from fmqbus.app.plugs import NAMED_BY
from tests.docs.blocks import DOCS

#: Those that make a package, and those that make a file on the path.
PACKAGES = ["docs/extend/protocol.md"]
FILES = [
    f"docs/extend/{part}.md"
    for part in ("authorizer", "observer", "sasl-mechanism", "service-topic", "store", "transport", "umq-method")
]


@pytest.mark.packages
@pytest.mark.parametrize("page", PACKAGES)
def test_the_package_of_the_page_can_be_installed_and_works(page: str, follow: Callable[[str], None]) -> None:
    """Built, installed, tested, and used by a bus."""
    follow(page)


@pytest.mark.parametrize("page", FILES)
def test_the_part_of_the_page_is_found_and_works(page: str, follow: Callable[[str], None]) -> None:
    """Tested, and used by a bus."""
    follow(page)


def test_each_kind_of_part_has_a_page() -> None:
    """The list of them leads there."""
    rows = re.findall(r"^\| (\[.*) \| (`I.*) \|.*\|$", (DOCS / "plugs.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {name for _, contracts in rows for name in re.findall(r"`(\w+)`", contracts)} == {
        interface.__name__ for interface in NAMED_BY
    }
    assert all((DOCS / page).exists() for pages, _ in rows for page in re.findall(r"\]\(([^)#]+)\)", pages))
