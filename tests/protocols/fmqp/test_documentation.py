"""Does docs/protocols/fmqp.md say of each reading which test shows it, and the statement of each requirement?"""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import pytest

from fmqbus.errors import BusError, Detached, Overloaded, Refused
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.fmqp.plug import FMQP
from tests.protocols.fmqp.test_vectors import AFTERWARDS
from tests.protocols.pages import ROOT, Row, ids_of, readings_named_by_tests, readings_named_in, rows_of
from tests.protocols.requirements import requirements_in

HERE = Path(__file__).parent
PAGE = (ROOT / "docs/protocols/fmqp.md").read_text(encoding="utf-8")
ROWS = [*requirements_in(HERE), *rows_of(PAGE, HERE)]

#: How many requirements the specification has as we count them, and how many readings we chose.
REQUIREMENTS, READINGS = 34, 52


def test_every_requirement_and_every_reading_has_its_row() -> None:
    """None is left out, and none is there twice."""
    assert [row.id for row in ROWS] == ids_of("F", REQUIREMENTS, READINGS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_row_names_tests_that_exist_and_say_what_they_are_for(row: Row) -> None:
    """A requirement's tests name its section, those of a reading its number."""
    assert row.tests
    if row.id.startswith("F"):
        assert any(f"section {row.subject}" in text or f"sections {row.subject}" in text for text in row.docstrings)
    else:
        assert all(int(row.id) in readings_named_in(text) for text in row.docstrings)


def test_no_test_speaks_of_a_reading_that_does_not_exist() -> None:
    """Numbers are those of the page."""
    paths = [*HERE.glob("test_*.py"), *(ROOT / "tests/live").glob("test_fmqp_*.py")]
    assert readings_named_by_tests(paths) <= set(range(1, READINGS + 1))


def test_every_service_topic_is_on_the_page() -> None:
    """Those of the specification, and ours."""
    for topic in FMQP.service_topics({}):
        assert f"| `{topic.topic.decode()}` |" in PAGE


@pytest.mark.parametrize("kind", [Refused, Overloaded, Detached])
def test_every_answer_of_the_bus_is_among_the_reasons_on_the_page(kind: type[BusError]) -> None:
    """FMQP's table from error to reply, where each reply is silence."""
    assert f"| `{kind.reason}` |" in PAGE


def test_every_reason_that_a_packet_was_discarded_for_is_on_the_page() -> None:
    """As the vectors bring them about."""
    for reason in {reason for known in AFTERWARDS.values() for reason in known.drops}:
        assert f"| `{reason}` |" in PAGE


def test_the_page_names_only_limits_that_exist() -> None:
    """And the default place to listen at."""
    named = re.findall(r"`(\w+_(?:octets|peer|visits|topics|seconds|address))`", PAGE)
    assert set(named) <= set(attrs.asdict(DEFAULT_LIMITS))
    assert all(f"`fmqp:{place}`" in PAGE for place in FMQP.default_listen)
