"""Schedules by UMQ's calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from twisted.internet.task import Clock

from fmqbus.model import Action
from fmqbus.router.service import Router
from fmqbus.schedules.errands import ScheduleSettings
from fmqbus.schedules.timing import Cron
from fmqbus.testing.bus import MemoryClient, OpenPolicy
from fmqbus.testing.schedule_store import MemoryScheduleStore
from tests.protocols.umq.clients import Client, greeted, make_bus


def begun(**options: Any) -> tuple[Router, Clock, Client]:
    """A bus that runs, and a client of it."""
    clock = Clock()
    bus = make_bus(clock=clock, **options)
    bus.startService()
    return bus, clock, greeted(bus)


def test_a_message_comes_at_its_times_until_it_is_no_longer_scheduled() -> None:
    """With its properties."""
    bus, clock, client = begun()
    consumer = MemoryClient(bus)
    consumer.consume(b"q")
    assert client.ask("1", "schedule", "k", "q", "x", {"every": 60, "properties": {"a": "b"}}) == ["R1:null"]
    clock.pump([0, 60, 60])
    assert consumer.taken_payloads == [b"x"] * 3
    assert consumer.taken[0][1].message.properties == {"a": "b"}
    assert client.ask("2", "unschedule", "k") == ["R2:true"]
    assert client.ask("3", "unschedule", "k") == ["R3:false"]
    clock.pump([60, 60])
    assert len(consumer.taken) == 3


def test_it_says_how_often_and_from_when_on() -> None:
    """And may be for a topic."""
    bus, clock, client = begun()
    listener = MemoryClient(bus)
    listener.subscribe(b"t")
    options = {"every": 60, "to": "topic", "at_once": False, "runs": 2, "retain": True}
    assert client.ask("1", "schedule", "k", "t", "x", options) == ["R1:null"]
    clock.pump([0, 59])
    assert listener.payloads == []
    clock.pump([1, 60, 60, 60])
    assert listener.payloads == [b"x", b"x"]
    assert bus.retained.get(b"t") is not None


def test_cron_is_of_the_bus_s_zone_unless_it_says_another() -> None:
    """As configured."""
    bus, _, client = begun(schedule_settings=ScheduleSettings(zone="Asia/Tokyo"))
    client.ask("1", "schedule", "a", "q", "x", {"cron": "0 3 * * *"})
    client.ask("2", "schedule", "b", "q", "x", {"cron": "0 3 * * *", "zone": "Europe/Stockholm"})
    timings = [status.schedule.timing for status in bus.scheduling.page()]
    assert timings == [Cron("0 3 * * *", "Asia/Tokyo"), Cron("0 3 * * *", "Europe/Stockholm")]


def test_it_is_answered_when_the_store_has_it() -> None:
    """And not before."""
    store = MemoryScheduleStore(is_slow=True)
    _, _, client = begun(schedule_store=store)
    assert client.ask("1", "schedule", "k", "q", "x", {"every": 60}) == []
    store.write()
    assert client.heard() == ["R1:null"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["k", "q", "x"], 3),
        (["k", "q", "x", {"every": 0}], 3),
        (["k", "q", "x", {"every": 60, "cron": "* * * * *"}], 3),
        (["k", "q", "x", {"cron": "61 * * * *"}], 3),
        (["k", "q", "x", {"cron": "* * * * *", "zone": "../x"}], 3),
        (["k", "q", "x", {"every": 60, "runs": 0}], 3),
        (["k", "q", "x", {"every": 60, "to": "nobody"}], 3),
        (["k", "q", None, {"every": 60}], 3),
        (["", "q", "x", {"every": 60}], 3),
        (["k", "no", "x", {"every": 60}], 1),
    ],
)
def test_what_cannot_be_is_an_error(arguments: list[Any], code: int) -> None:
    """With the code for it."""
    policy = OpenPolicy()
    policy.deny(Action.SCHEDULE, b"no")
    bus, _, client = begun(authorizers=[policy])
    (answer,) = client.ask("1", "schedule", *arguments)
    assert str(answer).startswith(f"E1:{code} "), json.dumps(arguments)
    assert bus.scheduling.page() == []
