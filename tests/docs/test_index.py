"""Is every page of the documentation in its table of contents, in one place?"""

from __future__ import annotations

import re

from tests.docs.names import PAGES, read


def test_every_page_is_in_the_contents_once() -> None:
    """A new page is put where its readers look for it."""
    listed: list[str] = []
    for contents in re.findall(r"^```\{toctree\}\n(.*?)^```", read("index.md"), re.MULTILINE | re.DOTALL):
        for entry in re.findall(r"^([\w/*-]+)$", contents, re.MULTILINE):
            found = sorted(PAGES.glob(f"{entry}.md"))
            assert found, entry
            listed += [path.relative_to(PAGES).as_posix() for path in found]
    pages = [path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.md") if "_build" not in path.parts]
    assert sorted(listed) == sorted(page for page in pages if page != "index.md")
