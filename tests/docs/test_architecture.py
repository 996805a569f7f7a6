"""Does docs/architecture.md speak of all that there is, and of nothing else?"""

from __future__ import annotations

import re

import pytest
from zope.interface import Interface

from fmqbus import interfaces
from fmqbus.interfaces import IPeer, ISession
from tests.docs import imports
from tests.docs.names import PAGES, find, names_on, read

PAGE = read("architecture.md")


def part(title: str) -> str:
    """What stands below a heading of the page."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_part_of_the_house_has_its_row() -> None:
    """None is left out, and none is there twice."""
    told = re.findall(r"^\| (`.*?`) \|", part("What is where"), re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(told))) == sorted(imports.parts_of("fmqbus"))


def test_every_protocol_has_its_row_with_the_files_that_it_has() -> None:
    """The five have one shape; where one has no such file, there is a dash."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| \[", part("One shape for five protocols"), re.MULTILINE)
    assert [name for name, _ in rows] == list(imports.PROTOCOLS[:5])
    for name, cells in rows:
        folder = PAGES.parent / "fmqbus" / "protocols" / name
        for file in re.findall(r"`([\w/]+)`", cells):
            assert (folder / f"{file}.py").is_file() or (folder / file).is_dir()


@pytest.mark.parametrize("name", sorted(set(names_on(PAGE))))
def test_every_name_on_the_page_is_there(name: str) -> None:
    """A module, a class or a function."""
    assert find(name) is not None


def test_every_word_of_the_two_interfaces_is_one() -> None:
    """As the table has them."""
    table = part("Two narrow interfaces")
    for interface in (ISession, IPeer):
        [row] = re.findall(rf"^\| `{interface.__name__}` \|.*$", table, re.MULTILINE)
        words = re.findall(r"`([a-z_]+)`", row)
        assert words
        assert set(words) <= set(interface)


def test_every_interface_on_the_page_exists() -> None:
    """By its name."""
    for name in set(re.findall(r"`(I[A-Z]\w+)`", PAGE)):
        assert issubclass(type(getattr(interfaces, name)), type(Interface))
