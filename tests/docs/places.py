"""What of the documentation is made from the code and the tests, and where does it stand?

It is in the pages as they are read, also where nobody builds them; a test fails where one is not what would be made
now. `python -m tests.docs` makes all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import attrs

from tests.docs import commands, conformance, imports, options, schema

_PAGES = Path(__file__).parents[2] / "docs"


@attrs.frozen
class Place:
    """What stands between two comments of a page."""

    page: str
    name: str
    make: Callable[[], str]

    def __str__(self) -> str:
        return f"{self.page}:{self.name}"

    def is_current(self) -> bool:
        """The page has what would be made now."""
        return self._read() == self._made()

    def write(self) -> None:
        """Make it."""
        path = _PAGES / self.page
        path.write_text(self._made(), encoding="utf-8")

    def _read(self) -> str:
        return (_PAGES / self.page).read_text(encoding="utf-8")

    def _made(self) -> str:
        begin, end = f"<!-- {self.name}: begin -->", f"<!-- {self.name}: end -->"
        before, _, rest = self._read().partition(begin)
        _, found, after = rest.partition(end)
        assert found, f"{self.page} has no place for {self.name}"
        return f"{before}{begin}\n\n{self.make()}\n\n{end}{after}"


def _places() -> Iterator[Place]:
    yield Place("architecture.md", "imports", imports.house)
    for name in imports.PROTOCOLS:
        yield Place("imports.md", name, partial(imports.protocol, name))
    for name in conformance.PROTOCOLS:
        yield Place(f"conformance/{name}.md", "statement", partial(conformance.statement, name))
    for make in (schema.kinds, schema.columns, schema.source):
        yield Place("pipeline/schema.md", make.__name__, make)
    for make in (commands.services, commands.bus_commands, commands.pipeline_commands):
        yield Place("cli.md", make.__name__, make)
    yield Place("options.md", "tables", options.tables)
    yield Place("limits.md", "limits", options.limits)


#: All of them.
PLACES = tuple(_places())
