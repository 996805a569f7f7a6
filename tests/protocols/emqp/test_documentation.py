"""Does docs/protocols/emqp.md say of each reading which test shows it, and the statement of each requirement?"""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import msgspec
import pytest

from fmqbus.app.config import parse_config
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.emqp import headers, job_message
from fmqbus.protocols.emqp.endings import End, outcome_of
from fmqbus.protocols.emqp.headers import Headers, parse_headers
from fmqbus.protocols.emqp.protocol import SOCKETS
from fmqbus.protocols.emqp.queue_lists import MOST_QUEUES
from fmqbus.protocols.emqp.settings import EMQPSettings, read_settings
from fmqbus.protocols.emqp.subscribers import MOST_LEVELS
from tests.protocols.pages import ROOT, Row, ids_of, readings_named_by_tests, readings_named_in, rows_of
from tests.protocols.requirements import requirements_in

HERE = Path(__file__).parent
PAGE = (ROOT / "docs/protocols/emqp.md").read_text(encoding="utf-8")
ROWS = [*requirements_in(HERE), *rows_of(PAGE, HERE)]

#: How many requirements the specification has as we count them, and how many readings we chose.
REQUIREMENTS, READINGS = 44, 67


def part(title: str) -> str:
    """What stands below a heading of the page."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_requirement_and_every_reading_has_its_row() -> None:
    """None is left out, and none is there twice."""
    assert [row.id for row in ROWS] == ids_of("E", REQUIREMENTS, READINGS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_row_names_tests_that_exist_and_say_what_they_are_for(row: Row) -> None:
    """Each of a requirement's tests names its section, each of a reading's its number."""
    assert row.tests
    if row.id.startswith("E"):
        assert all(re.search(rf"eMQP, .*{re.escape(row.subject)}(?!\w)", text, re.DOTALL) for text in row.docstrings)
    else:
        assert all(int(row.id) in readings_named_in(text) for text in row.docstrings)


def test_no_test_speaks_of_a_reading_that_does_not_exist() -> None:
    """Numbers are those of the page."""
    folders = (HERE, ROOT / "tests/worker", ROOT / "tests/schedules")
    paths = [path for folder in folders for path in folder.glob("test_*.py")]
    assert readings_named_by_tests(paths) <= set(range(1, READINGS + 1))


def test_every_section_of_the_specification_is_there() -> None:
    """Those with requirements in them."""
    assert {row.subject for row in ROWS if row.id.startswith("E")} == {
        "Topology",
        "ROUTER Addressing",
        "Global Frames",
        "Client",
        "Scheduler",
        "Worker",
        "Publisher",
        "Heartbeating",
        "Headers",
        "DISCONNECT and KBAI",
    }


def test_the_sockets_on_the_page_are_those_there_are() -> None:
    """With their ports and kinds."""
    told = re.findall(r"^\| `(\w+)` \| (\w+) \| (\d+) \|", part("Where it listens"), re.MULTILINE)
    assert told == [(plan.name, plan.kind.name, str(plan.default_port)) for plan in SOCKETS]


def test_the_settings_on_the_page_are_those_there_are_with_their_defaults() -> None:
    """In their order."""
    [table] = re.findall(r"```toml\n(.*?)```", part("Settings"), re.DOTALL)
    options = parse_config(table, "page").protocols["emqp"]
    assert read_settings(options) == EMQPSettings()
    assert list(options) == [field.encode_name for field in msgspec.structs.fields(EMQPSettings)]


def test_the_configuration_page_has_the_defaults_too() -> None:
    """As far as it tells of them."""
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    [table] = re.findall(r"```toml\n(.*?)```", page.partition("## An example with most keys")[2], re.DOTALL)[:1]
    assert read_settings(parse_config(table, "page").protocols["emqp"]) == EMQPSettings()


def test_every_setting_that_the_text_speaks_of_exists() -> None:
    """As settings are written."""
    known = {field.encode_name for field in msgspec.structs.fields(EMQPSettings)}
    assert set(re.findall(r"`((?:keep|goodbye|timeout|unknown)-\w+)`", PAGE)) <= known


def test_every_header_is_on_the_page_and_is_read() -> None:
    """In the table of headers, with what is ours among them."""
    told = re.findall(r"^\| `([\w-]+)(?::N|:\.\.\.)?` \|", part("Headers"), re.MULTILINE)
    fields = {field.name.replace("_", "-") for field in attrs.fields(Headers)} - {"others"}
    assert {name.replace("_", "-") for name in told} == fields | {headers.PROGRESS, "retain"}
    assert parse_headers(b"run_count:1").run_count == 1


def test_every_end_of_a_job_is_on_the_page() -> None:
    """The reasons of dead letters, and how often a job with the guarantee is given out."""
    told = re.findall(r"^\| `([\w-]+)` \|", part("How a job ends"), re.MULTILINE)
    assert told == [end.value for end in End]
    most = EMQPSettings().guarantee
    assert f"{most} times in all" in part("Headers")
    assert len({outcome_of(End.LOST, Headers(guarantee=True), tries, most, False) for tries in (most - 1, most)}) == 2


def test_every_property_of_a_job_is_on_the_page() -> None:
    """Other protocols see them."""
    told = re.findall(r"^\| `(emqp:\w+)` \|", part("Crossing"), re.MULTILINE)
    assert told == [getattr(job_message, f"EMQP_{name}") for name in ("ID", "HEADERS", "QUEUE", "CLIENT")]


def test_the_limits_on_the_page_exist() -> None:
    """Those with names, and those that are numbers."""
    named = re.findall(r"`(\w+_(?:octets|parts|window|peer|seconds|messages))`", PAGE)
    assert set(named) - {"class_kwargs"} <= set(attrs.asdict(DEFAULT_LIMITS))
    assert f"| {MOST_QUEUES}; `subscriptions` |" in PAGE
    assert f"more than {MOST_LEVELS} levels" in PAGE
    assert f"| {headers.MOST_HEADERS}; {headers.MOST_RETRIES:,}; a year |" in PAGE
