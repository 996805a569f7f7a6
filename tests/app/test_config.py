"""The configuration file: what it may say, and how well its errors are placed."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import pytest
from twisted.internet.testing import MemoryReactorClock

from fmqbus.app.assembly import Bus
from fmqbus.app.config import Access, Config, Outbox, OutboxRule, parse_config, read_config
from fmqbus.app.config_calls import CallsTable, MethodRule
from fmqbus.app.config_journal import JournalRule, JournalTable
from fmqbus.app.config_logins import SASLTable, UsersTable
from fmqbus.app.config_queues import QueueRule, QueuesTable
from fmqbus.app.config_schedules import SchedulesTable
from fmqbus.app.plugs import find_plugs
from fmqbus.auth.policy import Rule
from fmqbus.auth.who import FORMS
from fmqbus.calls import Choice, MethodSettings
from fmqbus.errors import ConfigError
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.model import Action, Overflow, QueueOverflow, QueueSettings
from fmqbus.schedules.errands import ScheduleSettings
from fmqbus.schedules.table import Missed
from tests.auth.users import write as write_users

WHOLE = """\
# Everything that may stand in the file, once.
listen = [
    "fmqp:tcp:7700",
    "fmqp:unix:/run/fmqbus/fmqp",
]
log_format = "json"
retained_store = "disk"

[limits]
connections = 10
idle_seconds = 2.5

[outbox]
policy = "conflate"

[[outbox.rules]]
pattern = "video/*"
policy = "drop-newest"

[protocols.fmqp]
signals = true

[access]
authorizers = ["rules", "local"]

[[access.rules]]
effect = "deny"
actions = "*"
who = ["remote"]
names = ["$/**"]

[[access.rules]]
effect = "allow"
actions = ["publish", "subscribe"]
who = ["address:10.0.0.0/8", "uid:1000"]
names = ["room/*", "hall"]
protocol = "fmqp"

[queues]
max_messages = 1_000
dead_letter = "late"

[[queues.rules]]
pattern = "orders/*"
overflow = "pause"
dead_letter = ""

[calls]
deadline = 5

[[calls.rules]]
pattern = "sum/*"
choice = "hash"
key = "customer"

[schedules]
zone = "Europe/Stockholm"
missed = "skip"
"""


def test_a_whole_file_becomes_typed_values() -> None:
    """Each table has its place, and what is left out its default."""
    config = parse_config(WHOLE, "bus.toml")
    assert config.listen == ("fmqp:tcp:7700", "fmqp:unix:/run/fmqbus/fmqp")
    assert config.log_format == "json"
    assert config.limits == attrs.evolve(DEFAULT_LIMITS, connections=10, idle_seconds=2.5)
    assert config.protocols == {"fmqp": {"signals": True}}
    assert config.outbox.policy is Overflow.CONFLATE
    assert [(rule.pattern, rule.policy) for rule in config.outbox.rules] == [("video/*", Overflow.DROP_NEWEST)]
    deny, allow = config.access.rules
    assert (deny.effect, deny.actions, deny.protocol) == ("deny", "*", None)
    assert (allow.actions, allow.protocol) == ((Action.PUBLISH, Action.SUBSCRIBE), "fmqp")
    assert [who.text for who in allow.who] == ["address:10.0.0.0/8", "uid:1000"]
    assert [pattern.text for pattern in allow.names] == ["room/*", "hall"]


def test_an_empty_file_says_the_same_as_no_file() -> None:
    """Nothing has to be written."""
    assert parse_config("", "bus.toml") == Config()


def test_every_limit_can_be_set() -> None:
    """The table has the fields of `Limits`, no more and no fewer, with their defaults."""
    assert Config().limits == DEFAULT_LIMITS
    for field in attrs.fields(Limits):
        config = parse_config(f"[limits]\n{field.name} = 7", "bus.toml")
        assert getattr(config.limits, field.name) == 7


def test_queue_settings_are_inherited_from_the_general_to_the_rule() -> None:
    """A rule says only what is different; an empty name is no queue for dead letters."""
    queues = parse_config(WHOLE, "bus.toml").queues
    assert queues.settings == QueueSettings(max_messages=1000, dead_letter=b"late")
    different = QueueSettings(max_messages=1000, overflow=QueueOverflow.PAUSE, dead_letter=None)
    assert queues.settings_by_pattern == [(b"orders/*", different)]
    assert Config().queues.settings == QueueSettings()


def test_settings_of_methods_are_inherited_too() -> None:
    """As those of queues."""
    calls = parse_config(WHOLE, "bus.toml").calls
    assert calls.settings == MethodSettings(deadline=5.0)
    different = MethodSettings(deadline=5.0, choice=Choice.HASH, key="customer")
    assert calls.settings_by_pattern == [(b"sum/*", different)]
    assert Config().calls.settings == MethodSettings()


def test_what_holds_for_schedules_that_say_nothing_themselves() -> None:
    """Where the file says nothing either, UTC, and once."""
    settings = parse_config(WHOLE, "bus.toml").schedules.settings
    assert settings == ScheduleSettings(zone="Europe/Stockholm", missed=Missed.SKIP)
    assert Config().schedules.settings == ScheduleSettings()


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("connections = 10", "conections = 10", "line 10: limits.conections: "),
        ("connections = 10", "connections = 0", "line 10: limits.connections: "),
        ("connections = 10", "connections = true", "line 10: limits.connections: "),
        ("idle_seconds = 2.5", "idle_seconds = nan", "line 11: limits.idle_seconds: "),
        ("idle_seconds = 2.5", "idle_seconds = inf", "line 11: limits.idle_seconds: "),
        ('"fmqp:tcp:7700"', "7700", "line 2: listen[0]: "),
        ('"json"', '"xml"', "line 6: log_format: "),
        ('"conflate"', '"forget"', "line 14: outbox.policy: "),
        ('"video/*"', '"//"', "line 16: outbox.rules[0]: '//' is no pattern"),
        ('effect = "allow"\n', "", "line 32: access.rules[1]: "),
        ('"publish", "sub', '"publish", "pub', "line 34: access.rules[1].actions[1]: "),
        ('["publish", "subscribe"]', "[]", "line 34: access.rules[1].actions: "),
        ('"uid:1000"', '"root"', "line 35: access.rules[1].who[1]: 'root' names nobody"),
        ('"uid:1000"', "1000", "line 35: access.rules[1].who[1]: "),
        ('"hall"', '"/"', "line 36: access.rules[1].names[1]: "),
        ('protocol = "fmqp"', 'protocols = ["fmqp"]', "line 37: access.rules[1].protocols: "),
        ("max_messages = 1_000", "max_messages = 0", "line 40: queues.max_messages: "),
        ('"late"', '"$/late"', "line 39: queues: '$/late' is no queue"),
        ('"orders/*"', '"/"', "line 43: queues.rules[0]: '/' is no pattern"),
        ('"pause"', '"wait"', "line 45: queues.rules[0].overflow: "),
        ('dead_letter = ""', "retry_factor = 0.5", "line 46: queues.rules[0].retry_factor: "),
        ("deadline = 5", "deadline = 0", "line 49: calls.deadline: "),
        ('"sum/*"', '""', "line 51: calls.rules[0]: '' is no pattern"),
        ('"hash"', '"luck"', "line 53: calls.rules[0].choice: "),
        ('"customer"', '""', "line 54: calls.rules[0].key: "),
        ('"Europe/Stockholm"', '"Europe/Atlantis"', "line 56: schedules: there is no time zone 'Europe/Atlantis'"),
        ('"skip"', '"never"', "line 58: schedules.missed: "),
        ("[access]", "[access", "line 23"),
        ("# Everything", "colour = 1 #", "line 1: colour: "),
    ],
)
def test_an_error_names_file_line_and_key(old: str, new: str, place: str) -> None:
    """Whoever wrote the file finds the place without searching."""
    assert old in WHOLE
    with pytest.raises(ConfigError) as caught:
        parse_config(WHOLE.replace(old, new), "bus.toml")
    assert str(caught.value).startswith("bus.toml")
    assert place in str(caught.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    """Missing, or not text."""
    path = tmp_path / "bus.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"bus\.toml: cannot be read"):
        read_config(path)


DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = [
    (page, example)
    for page in ("configuration.md", "access.md", "users.md")
    for example in re.findall(r"^```toml\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
]


(POLICY_EXAMPLE,) = re.findall(
    r"^```{code-block} toml\n:caption: .*policy.toml\n\n(.*?)^```",
    (DOCS / "access.md").read_text(),
    re.MULTILINE | re.DOTALL,
)


@pytest.mark.parametrize(("page", "example"), EXAMPLES)
def test_what_the_documentation_shows_can_be_used(page: str, example: str, tmp_path: Path) -> None:
    """Every example is a file that a bus would start with, if there are the users that it speaks of."""
    example = example.replace("/etc/fmqbus/users.json", str(write_users(tmp_path / "users.json")))
    (tmp_path / "policy.toml").write_text(POLICY_EXAMPLE)
    example = example.replace("/etc/fmqbus/policy.toml", str(tmp_path / "policy.toml"))
    Bus(MemoryReactorClock(), parse_config(example, page), find_plugs())


def test_the_documentation_shows_every_key_of_the_file() -> None:
    """But the limits, which have a page of their own."""
    shown = (DOCS / "configuration.md").read_text() + (DOCS / "access.md").read_text()
    tables = (Config, Outbox, OutboxRule, QueuesTable, QueueRule, CallsTable, MethodRule, SchedulesTable)
    tables += (JournalTable, JournalRule, Access, Rule, UsersTable, SASLTable)
    assert [key for table in tables for key in table.__struct_encode_fields__ if key not in shown] == []
    assert [action.value for action in Action if f"`{action.value}`" not in shown] == []
    assert [form for form in FORMS if f"`{form.removesuffix('...')}" not in shown] == []
