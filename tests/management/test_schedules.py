"""`fmqbus.management.schedules`: what an operator can ask about schedules, and what he is told."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.task import Clock
from zope.interface.verify import verifyObject

from fmqbus.errors import Refused
from fmqbus.interfaces import IServiceTopic
from fmqbus.management.schedules import SCHEDULES
from fmqbus.model import Action
from fmqbus.router.service import Router
from fmqbus.schedules.errands import ScheduleSettings
from fmqbus.testing.bus import OpenPolicy, make_router
from fmqbus.testing.schedule_store import MemoryScheduleStore
from tests.management.operator import Operator

START = 1_795_824_000.0  # a midnight, UTC


def begun(**options: Any) -> tuple[Router, Clock, Operator]:
    """A bus that runs, and its operator."""
    clock = Clock()
    router = make_router(
        clock,
        wall=lambda: START + clock.seconds(),
        service_topics=[SCHEDULES],
        schedule_settings=ScheduleSettings(zone="Europe/Stockholm"),
        **options,
    )
    router.startService()
    return router, clock, Operator(router, SCHEDULES.topic)


@pytest.fixture
def operator() -> Operator:
    """The operator of a bus that runs."""
    return begun()[2]


def test_it_is_a_service_topic_like_any_other() -> None:
    """The contract IServiceTopic holds."""
    verifyObject(IServiceTopic, SCHEDULES)


def test_what_is_added_is_done_and_shown() -> None:
    """With all that is known of it."""
    router, clock, operator = begun()
    added = operator.ask(
        do="add", key="k", queue="/q/", text="grüße", every=60, runs=5, missed="all", properties={"a": "b"}, priority=3
    )
    assert added == {"added": "k"}
    clock.advance(0)
    (stored,) = router.peek(b"q", 10)
    assert (stored.message.payload.decode(), stored.priority) == ("grüße", 3)
    assert operator.ask(do="show", key="k") == {
        "schedule": {
            "key": "k",
            "queue": "q",
            "every": 60.0,
            "due": START + 60,
            "missed": "all",
            "runs_left": 4,
            "paused": False,
            "runs": 1,
            "failed": {},
            "last_run": START,
            "octets": 7,
            "text": "grüße",
            "properties": {"a": "b"},
            "retain": False,
            "priority": 3,
            "time_to_live": None,
            "delay": 0.0,
            "owner": {"protocol": "memory", "identity": None, "address": ""},
        }
    }


def test_cron_is_of_the_zone_that_is_configured_unless_it_says_another(operator: Operator) -> None:
    """The times show it. It can be for a topic, too, and octets of any kind."""
    operator.ask(do="add", key="a", topic="t", base64="/wA=", cron="0 3 * * *", at_once=False, retain=True)
    operator.ask(do="add", key="b", queue="q", text="", cron="0 3 * * *", zone="UTC", at_once=False)
    first, second = operator.ask(do="list")["schedules"]
    assert (first["topic"], first["cron"], first["zone"], first["due"]) == (
        "t",
        "0 3 * * *",
        "Europe/Stockholm",
        START + 2 * 3600,
    )
    assert (second["zone"], second["due"]) == ("UTC", START + 3 * 3600)
    shown = operator.ask(do="show", key="a")["schedule"]
    assert (shown["base64"], shown["retain"]) == ("/wA=", True)


def test_a_long_list_is_told_in_parts_and_of_one_queue_if_asked(operator: Operator) -> None:
    """Each part begins after the last key of the former."""
    for number in range(5):
        operator.ask(do="add", key=f"k{number}", queue=f"q{number % 2}", text="x", every=60)

    def keys(**request: Any) -> tuple[list[str], bool]:
        answer = operator.ask(do="list", **request)
        return [schedule["key"] for schedule in answer["schedules"]], answer["more"]

    assert keys(most=3) == (["k0", "k1", "k2"], True)
    assert keys(most=3, after="k2") == (["k3", "k4"], False)
    assert keys(queue="q1") == (["k1", "k3"], False)
    assert keys(topic="q0") == (["k0", "k2", "k4"], False)


def test_no_list_is_endless(operator: Operator) -> None:
    """However much is asked for."""
    for number in range(1001):
        operator.ask(do="add", key=f"{number:04}", queue="q", text="x", every=60)
    answer = operator.ask(do="list", most=10**9)
    assert (len(answer["schedules"]), answer["more"]) == (1000, True)


def test_it_is_edited_paused_and_goes_on(operator: Operator) -> None:
    """Of a cron expression, text and zone each alone."""

    def when() -> list[Any]:
        schedule = operator.ask(do="show", key="k")["schedule"]
        return [schedule.get(name) for name in ("every", "cron", "zone", "due", "paused")]

    operator.ask(do="add", key="k", queue="q", text="x", every=60)
    assert operator.ask(do="edit", key="k", cron="0 12 * * *") == {"edited": "k"}
    assert when() == [None, "0 12 * * *", "Europe/Stockholm", START + 11 * 3600, False]
    operator.ask(do="edit", key="k", zone="UTC")
    assert when() == [None, "0 12 * * *", "UTC", START + 12 * 3600, False]
    operator.ask(do="edit", key="k", cron="0 13 * * *", paused=True)
    assert when() == [None, "0 13 * * *", "UTC", None, True]
    operator.ask(do="edit", key="k", every=5, paused=False)
    assert when() == [5.0, None, None, START + 5, False]
    assert list(operator.ask(do="edit", key="k", zone="UTC")) == ["error"]


def test_it_is_done_now_and_removed(operator: Operator) -> None:
    """And then it is no more."""
    operator.ask(do="add", key="k", queue="q", text="x", every=60, at_once=False)
    assert operator.ask(do="run", key="k") == {"run": "k"}
    consumer = operator.consume(b"q")
    assert len(consumer.unsettled) == 1
    assert operator.ask(do="remove", key="k") == {"removed": "k"}
    for do in ("show", "edit", "remove", "run"):
        assert operator.ask(do=do, key="k") == {"error": "there is no such schedule"}


@pytest.mark.parametrize(
    "request_",
    [
        {"queue": "q", "text": "x"},
        {"queue": "q", "text": "x", "every": 60, "cron": "* * * * *"},
        {"queue": "q", "text": "x", "every": 0},
        {"queue": "q", "text": "x", "every": -5},
        {"queue": "q", "text": "x", "every": 10**12},
        {"queue": "q", "text": "x", "cron": "0 0 31 2 *"},
        {"queue": "q", "text": "x", "cron": "* * * * *", "zone": "Mars/Olympus"},
        {"queue": "q", "text": "x", "every": 60, "zone": "UTC"},
        {"queue": "q", "text": "x", "every": 60, "runs": 0},
        {"queue": "q", "text": "x", "every": 60, "missed": "never"},
        {"queue": "q", "text": "x", "every": 60, "priority": 10},
        {"queue": "q", "text": "x", "every": 60, "key": ""},
        {"queue": "q", "topic": "t", "text": "x", "every": 60},
        {"text": "x", "every": 60},
        {"queue": "q", "every": 60},
        {"queue": "q", "text": "x", "base64": "eA==", "every": 60},
        {"queue": "q", "base64": "x", "every": 60},
        {"queue": "$/q", "text": "x", "every": 60},
        {"queue": "*", "text": "x", "every": 60},
        {"queue": "", "text": "x", "every": 60},
        {"topic": "$/signals/stop", "text": "x", "every": 60},
        {"queue": "q", "text": "x", "every": 60, "hurry": True},
    ],
)
def test_a_request_that_cannot_be_meant_is_answered_with_what_is_wrong(
    operator: Operator, request_: dict[str, Any]
) -> None:
    """And does nothing."""
    assert list(operator.ask(do="add", **{"key": "k", **request_})) == ["error"]
    assert operator.ask(do="list")["schedules"] == []


def test_managing_takes_the_right_to_control_the_topic_and_adding_those_of_any_client() -> None:
    """Who may look after schedules may not for that put messages everywhere."""
    policy = OpenPolicy()
    router, _, operator = begun(authorizers=[policy])
    policy.deny(Action.ENQUEUE, b"q")
    assert operator.ask(do="add", key="k", queue="q", text="x", every=60) == {"error": "enqueue is not allowed"}
    policy.deny(Action.CONTROL, SCHEDULES.topic)
    router.policy_changed()
    with pytest.raises(Refused):
        operator.ask(do="list")


def test_what_came_to_nothing_and_a_failed_store_are_told() -> None:
    """An operator has to learn that nothing is kept any more."""
    policy = OpenPolicy()
    store = MemoryScheduleStore()
    router, clock, operator = begun(authorizers=[policy], schedule_store=store)
    operator.ask(do="add", key="k", queue="q", text="x", every=60)
    policy.deny(Action.ENQUEUE, b"q")
    router.policy_changed()
    clock.advance(0)
    store.break_down("the disk is full")
    clock.advance(60)
    answer = operator.ask(do="list")
    assert (answer["failed"], answer["store_failure"]) == ({"refused": 2}, "the disk is full")
    assert answer["schedules"][0]["failed"] == {"refused": 2}
    assert operator.ask(do="run", key="k") == {"error": "the disk is full"}


@pytest.mark.parametrize("do", ["show", "edit", "run", "remove", "add"])
def test_each_schedule_takes_the_right_to_manage_its_queue(do: str) -> None:
    """And is not listed without it."""
    policy = OpenPolicy()
    router, _, operator = begun(authorizers=[policy])
    for queue in ("open", "secret"):
        operator.ask(do="add", key=queue, queue=queue, text="x", every=60)
    policy.deny(Action.MANAGE, b"secret")
    router.policy_changed()
    more = {"queue": "open", "text": "x", "every": 60} if do == "add" else {"runs": 3} if do == "edit" else {}
    assert operator.ask(do=do, key="secret", **more) == {"error": "it takes the right to manage secret"}
    assert [schedule["key"] for schedule in operator.ask(do="list")["schedules"]] == ["open"]
    assert "error" not in operator.ask(do=do, key="open", **more)
