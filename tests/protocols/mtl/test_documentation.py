"""Does docs/protocols/mtl.md say of each reading which test shows it, and the statement of each requirement?"""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import msgspec
import pytest

from fmqbus.app.config import parse_config
from fmqbus.app.plugs import find_plugs
from fmqbus.interfaces import IMTLProfile
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.mtl import field_table, properties
from fmqbus.protocols.mtl.conversation import State
from fmqbus.protocols.mtl.protocol import SOCKETS
from fmqbus.protocols.mtl.settings import MTLSettings, read_settings
from fmqbus.protocols.mtl.statuses import Status
from tests.protocols.pages import ROOT, Row, ids_of, readings_named_by_tests, readings_named_in, rows_of
from tests.protocols.requirements import requirements_in

HERE = Path(__file__).parent
PAGE = (ROOT / "docs/protocols/mtl.md").read_text(encoding="utf-8")
ROWS = [*requirements_in(HERE), *rows_of(PAGE, HERE)]

#: How many requirements the specification has as we count them, and how many readings we chose.
REQUIREMENTS, READINGS = 39, 55
#: Settings that the page tells of beside the table, for their defaults are none.
OPTIONAL = {"profiles", "virtual-hosts"}


def part(title: str) -> str:
    """What stands below a heading of the page."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def told(title: str, first_column: str = r"`([\w-]+)`|(\w+)") -> list[str]:
    """What stands in the first column of a part's tables."""
    rows = re.findall(rf"^\| (?:{first_column}) \| ", part(title), re.MULTILINE)
    return [row if isinstance(row, str) else next(filter(None, row)) for row in rows]


def test_every_requirement_and_every_reading_has_its_row() -> None:
    """None is left out, and none is there twice."""
    assert [row.id for row in ROWS] == ids_of("M", REQUIREMENTS, READINGS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_row_names_tests_that_exist_and_say_what_they_are_for(row: Row) -> None:
    """Each of a requirement's tests names its section, each of a reading's its number."""
    assert row.tests
    if row.id.startswith("M"):
        assert all(re.search(rf"MTL, .*{re.escape(row.subject)}(?!\w)", text, re.DOTALL) for text in row.docstrings)
    else:
        assert all(int(row.id) in readings_named_in(text) for text in row.docstrings)


def test_no_test_speaks_of_a_reading_that_does_not_exist() -> None:
    """Numbers are those of the page."""
    assert readings_named_by_tests(HERE.glob("test_*.py")) <= set(range(1, READINGS + 1))


def test_the_sockets_on_the_page_are_those_there_are() -> None:
    """With their ports and kinds."""
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (\d+) \|", part("Where it listens"), re.MULTILINE)
    assert rows == [(plan.name, plan.kind.name, str(plan.default_port)) for plan in SOCKETS]


def test_every_state_and_every_status_is_on_the_page() -> None:
    """But for 403, which data flows have alone."""
    words = told("The control flow")
    assert [word for word in words if word in {state.value for state in State}] == [state.value for state in State]
    assert [int(word) for word in words if word.isdigit()] == [
        status.value for status in Status if status is not Status.FORBIDDEN
    ]


def test_every_profile_is_on_the_page() -> None:
    """Those that come with us."""
    installed = find_plugs().of(IMTLProfile)
    assert {word for word in told("Profiles") if word != "profile"} == {"topic", "queue", "test"} <= set(installed)


def test_every_field_that_means_something_is_on_the_page() -> None:
    """By its name."""
    named = {getattr(properties, name) for name in ("RETAIN", "PRIORITY", "TIME_TO_LIVE", "DELAY")}
    named |= {properties.REDELIVERED, properties.DELIVERIES}
    fields = part("Field tables").partition("| field | in |")[2]
    assert set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", fields, re.MULTILINE)))) == named


def test_every_type_of_a_field_is_on_the_page() -> None:
    """No octet but these is one."""
    types = part("Field tables").partition("| field | in |")[0]
    page = set(re.findall(r"`(\w)`", types))
    assert page == set(map(chr, (*field_table._NUMBERS, *field_table._SIZED))) | {"D", "T", "V"}


def test_the_settings_on_the_page_are_those_there_are_with_their_defaults() -> None:
    """In their order; those without a default are told of beside."""
    [table] = re.findall(r"```toml\n(.*?)```", part("Settings"), re.DOTALL)
    options = parse_config(table, "page").protocols["mtl"]
    assert read_settings(options) == MTLSettings()
    known = [field.encode_name for field in msgspec.structs.fields(MTLSettings)]
    assert list(options) == [name for name in known if name not in OPTIONAL]
    beside = part("Settings").partition("```\n\n")[2]
    assert all(f"`{name} = " in beside for name in OPTIONAL)
    for example in re.findall(r"`(\S+ = [\[{].*?[\]}])`", beside, re.DOTALL):
        assert read_settings(parse_config(f"[protocols.mtl]\n{' '.join(example.split())}", "page").protocols["mtl"])


def test_the_configuration_page_has_the_defaults_too() -> None:
    """As far as it tells of them."""
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    [table] = re.findall(r"```toml\n(.*?)```", page.partition("## An example with most keys")[2], re.DOTALL)[:1]
    assert read_settings(parse_config(table, "page").protocols["mtl"]) == MTLSettings()


def test_the_limits_on_the_page_exist() -> None:
    """By their names."""
    named = re.findall(r"`(\w+_(?:octets|peer|seconds|lease)|connections|leases|window)`", PAGE)
    assert set(named) <= set(attrs.asdict(DEFAULT_LIMITS))
