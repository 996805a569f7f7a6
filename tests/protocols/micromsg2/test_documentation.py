"""Does docs/protocols/micromsg2.md say of each reading which test shows it, and the statement of each requirement?"""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import pytest

from fmqbus.app.config import parse_config
from fmqbus.errors import BusError, Detached, Overloaded, Refused, StoreFailed
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.micromsg2.extensions.built_in import BUILT_IN
from fmqbus.protocols.micromsg2.plug import MICROMSG2, Options, parse_options
from fmqbus.protocols.micromsg2.properties import REDELIVERED
from fmqbus.protocols.micromsg2.requests import may_ask
from tests.protocols.micromsg2.test_conversation import REFUSALS
from tests.protocols.pages import ROOT, Row, ids_of, readings_named_by_tests, readings_named_in, rows_of
from tests.protocols.requirements import requirements_in

HERE = Path(__file__).parent
PAGE = (ROOT / "docs/protocols/micromsg2.md").read_text(encoding="utf-8")
ROWS = [*requirements_in(HERE), *rows_of(PAGE, HERE)]

#: How many requirements the specification has as we count them, and how many readings we chose.
REQUIREMENTS, READINGS = 42, 66


def test_every_requirement_and_every_reading_has_its_row() -> None:
    """None is left out, and none is there twice."""
    assert [row.id for row in ROWS] == ids_of("M", REQUIREMENTS, READINGS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_row_names_tests_that_exist_and_say_what_they_are_for(row: Row) -> None:
    """A requirement's tests name its section, those of a reading its number."""
    assert row.tests
    if row.id.startswith("M"):
        assert any("MicroMsg2, " in text and row.subject in text for text in row.docstrings)
    else:
        assert all(int(row.id) in readings_named_in(text) for text in row.docstrings)


def test_no_test_speaks_of_a_reading_that_does_not_exist() -> None:
    """Numbers are those of the page."""
    paths = [*HERE.glob("test_*.py"), ROOT / "tests/live/test_micromsg2.py"]
    assert readings_named_by_tests(paths) <= set(range(1, READINGS + 1))


def test_every_extension_is_on_the_page() -> None:
    """Those of the specification."""
    for extension in BUILT_IN:
        assert f"`{extension.name}`" in PAGE


def test_every_property_that_the_bus_knows_is_on_the_page() -> None:
    """In the table of those that ask for something, or as the one that it adds itself."""
    asking = re.findall(r"^\| `(\w+)` \| a (?:topic|queue) \|", PAGE, re.MULTILINE)
    assert asking == ["retain", "will", "priority", "ttl", "delay"]
    assert all(may_ask(f"{name}:".encode()) for name in asking)
    assert f"`{REDELIVERED}`" in PAGE


@pytest.mark.parametrize("kind", [Refused, Overloaded, Detached, StoreFailed])
def test_every_answer_of_the_bus_is_among_the_reasons_on_the_page(kind: type[BusError]) -> None:
    """MicroMsg2's table from error to reply."""
    assert f"| `{kind.reason}` |" in PAGE


def test_every_reason_that_ends_a_connection_is_on_the_page() -> None:
    """As the tests bring them about."""
    for reason in {reason for reason, _, _ in REFUSALS}:
        assert f"| `{reason}` | yes | ends |" in PAGE


def test_the_page_names_only_limits_that_exist() -> None:
    """And the default place to listen at."""
    named = re.findall(r"`(\w+_(?:octets|peer|visits|topics|seconds|messages|clauses))`", PAGE)
    assert set(named) <= set(attrs.asdict(DEFAULT_LIMITS))
    assert all(f"`micromsg2:{place}`" in PAGE for place in MICROMSG2.default_listen)


def test_the_options_on_the_page_are_those_there_are() -> None:
    """With the names that they have."""
    [table] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    options = parse_config(table, "page").protocols["micromsg2"]
    parse_options(options)
    assert tuple(options) == Options.__struct_fields__
