"""`fmqbus.management.queues`: what an operator can ask about queues, and what he is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from zope.interface.verify import verifyObject

from fmqbus.errors import Refused
from fmqbus.interfaces import IServiceTopic
from fmqbus.management.queues import QUEUES
from fmqbus.model import Action, Message, Outcome
from fmqbus.testing.bus import MemoryClient, OpenPolicy, make_router
from fmqbus.testing.message_store import MemoryMessageStore
from tests.management.operator import Operator

Ask = Callable[..., Any]


@pytest.fixture
def operator() -> Operator:
    """An operator of a bus that runs, alone with its queues."""
    router = make_router(service_topics=[QUEUES])
    router.startService()
    return Operator(router, QUEUES.topic)


def test_it_is_a_service_topic_like_any_other() -> None:
    """The contract IServiceTopic holds."""
    verifyObject(IServiceTopic, QUEUES)


def test_queues_are_listed_by_name_with_their_numbers(operator: Operator) -> None:
    """All that a status has, as JSON."""
    operator.enqueue(b"b", b"12345")
    operator.consume(b"a")
    answer = operator.ask(do="list")
    assert [queue["name"] for queue in answer["queues"]] == ["a", "b"]
    assert answer["queues"][0]["consumers"] == 1
    assert (answer["queues"][1]["ready"], answer["queues"][1]["octets"]) == (1, 6)
    assert (answer["more"], answer["store_failure"]) == (False, None)


def test_a_long_list_is_told_in_parts(operator: Operator) -> None:
    """Each part begins after the last name of the former."""
    for number in range(5):
        operator.enqueue(b"q%d" % number, b"x")
    first = operator.ask(do="list", most=3)
    assert ([queue["name"] for queue in first["queues"]], first["more"]) == (["q0", "q1", "q2"], True)
    second = operator.ask(do="list", most=3, after="q2")
    assert ([queue["name"] for queue in second["queues"]], second["more"]) == (["q3", "q4"], False)


def test_no_list_is_endless(operator: Operator) -> None:
    """However much is asked for."""
    for number in range(1001):
        operator.enqueue(b"q%d" % number, b"x")
    answer = operator.ask(do="list", most=10**9)
    assert (len(answer["queues"]), answer["more"]) == (1000, True)


def test_one_queue_is_shown_by_name(operator: Operator) -> None:
    """A name is written as anywhere else; one of no queue is answered too."""
    operator.enqueue(b"a/b", b"x")
    assert operator.ask(do="show", queue="/a/b/")["queue"]["name"] == "a/b"
    assert operator.ask(do="show", queue="b") == {"error": "there is no such queue"}


def test_messages_are_shown_and_stay(operator: Operator) -> None:
    """With all that is known of them."""
    operator.session.enqueue(b"q", Message(b"t", b"x", properties={"k": "v"}))
    operator.session.flush()
    [shown] = operator.ask(do="peek", queue="q")["messages"]
    assert shown == {
        "number": 1,
        "topic": "t",
        "octets": 1,
        "text": "x",
        "properties": {"k": "v"},
        "priority": 0,
        "expires_at": None,
        "not_before": None,
        "deliveries": 0,
        "redelivered": False,
        "held_since": None,
    }
    consumer = operator.consume(b"q")
    assert len(consumer.unsettled) == 1


@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        (b"", {"text": ""}),
        ("gruß".encode(), {"text": "gruß"}),
        (b"\xff\x00", {"base64": "/wA="}),
        ("ß".encode() * 4000, {"text": "ß" * 2048}),
        (b"x" + "ß".encode() * 4000, {"text": "x" + "ß" * 2047}),
        (b"x\xc3", {"base64": "eMM="}),
    ],
)
def test_payloads_are_shown_as_text_where_they_are_and_cut(
    operator: Operator, payload: bytes, shown: dict[str, str]
) -> None:
    """An answer is no way to move large messages; nor does a cut make text into something else."""
    operator.enqueue(b"q", payload)
    [message] = operator.ask(do="peek", queue="q")["messages"]
    assert message["octets"] == len(payload)
    assert {key: message[key] for key in ("text", "base64") if key in message} == shown


def test_as_many_messages_are_shown_as_asked_for_and_no_more_than_a_hundred(operator: Operator) -> None:
    """Ten, if nothing is said."""
    for _ in range(150):
        operator.enqueue(b"q", b"x")
    for most, shown in ((3, 3), (None, 10), (1000, 100)):
        assert len(operator.ask(do="peek", queue="q", most=most)["messages"]) == shown


def test_a_queue_is_purged(operator: Operator) -> None:
    """The answer tells how many went; what a consumer holds does not."""
    for _ in range(3):
        operator.enqueue(b"q", b"x")
    consumer = operator.consume(b"q", window=1)
    assert operator.ask(do="purge", queue="q") == {"purged": 2}
    assert operator.settle(consumer) == 1
    assert operator.ask(do="purge", queue="never/heard/of") == {"purged": 0}


def test_dead_letters_are_sent_back_by_one_request(operator: Operator) -> None:
    """All of them, or so many."""
    for _ in range(3):
        operator.enqueue(b"q", b"x")
    operator.settle(operator.consume(b"q"), outcome=Outcome.REJECT)
    assert operator.ask(do="requeue", queue="dead", most=1) == {"requeued": 1}
    assert operator.ask(do="requeue", queue="dead") == {"requeued": 2}
    assert operator.ask(do="list")["queues"][0]["unsettled"] == 3


def test_what_consumers_hold_is_shown_if_asked_for(operator: Operator) -> None:
    """With since when; the clock of this bus stands still."""
    for _ in range(3):
        operator.enqueue(b"q", b"x")
    operator.consume(b"q", window=2)
    held = operator.ask(do="peek", queue="q", held=True)["messages"]
    assert [(message["number"], message["held_since"]) for message in held] == [(1, 0.0), (2, 0.0)]
    assert [message["number"] for message in operator.ask(do="peek", queue="q")["messages"]] == [3]


def test_messages_are_found_by_number_or_by_what_is_said_of_them(operator: Operator) -> None:
    """Wherever in their queue they are."""
    for text in "abb":
        operator.session.enqueue(b"q", Message(b"q", text.encode(), properties={"k": text}))
    operator.consume(b"q", window=2)
    assert [each["text"] for each in operator.ask(do="find", queue="q", numbers=[3, 1, 7])["messages"]] == ["b", "a"]
    found = operator.ask(do="find", queue="q", properties={"k": "b"})["messages"]
    assert [message["number"] for message in found] == [2, 3]
    found = operator.ask(do="find", queue="q", properties={"k": "b"}, most=1)["messages"]
    assert [message["number"] for message in found] == [2]


def test_more_of_a_payload_is_told_if_asked_for_but_no_more_than_fits(operator: Operator) -> None:
    """The more messages, the less of each."""
    for _ in range(2):
        operator.enqueue(b"q", b"x" * 1_000_000)
    [one] = operator.ask(do="find", queue="q", numbers=[1], octets=10_000)["messages"]
    assert len(one["text"]) == 10_000
    two = operator.ask(do="peek", queue="q", octets=10**9)["messages"]
    assert [len(message["text"]) for message in two] == [256 * 1024] * 2


def test_single_messages_are_removed_and_the_others_are_told_of(operator: Operator) -> None:
    """Those that a consumer holds, and those that are not there."""
    for _ in range(4):
        operator.enqueue(b"q", b"x")
    operator.consume(b"q", window=1)
    answer = operator.ask(do="remove", queue="q", numbers=[4, 1, 9, 2, 4])
    assert answer == {"removed": 2, "held": [1], "stayed": [], "missing": [9]}
    assert [message["number"] for message in operator.ask(do="peek", queue="q")["messages"]] == [3]
    assert operator.ask(do="remove", queue="r", numbers=[1])["missing"] == [1]


def test_single_dead_letters_are_sent_back_and_the_others_are_told_of(operator: Operator) -> None:
    """What is no dead letter stays."""
    for _ in range(3):
        operator.enqueue(b"q", b"x")
    rejecting = operator.consume(b"q")
    operator.settle(rejecting, outcome=Outcome.REJECT)
    operator.cancel(rejecting)
    operator.enqueue(b"dead", b"plain")
    operator.consume(b"dead", window=1)
    [held] = operator.ask(do="peek", queue="dead", held=True)["messages"]
    second, _, plain = operator.ask(do="peek", queue="dead")["messages"]
    numbers = [each["number"] for each in (second, plain, held)]
    answer = operator.ask(do="requeue", queue="dead", numbers=[*numbers, 99])
    assert answer == {"requeued": 1, "held": [held["number"]], "stayed": [plain["number"]], "missing": [99]}


def test_the_settings_of_a_queue_are_told(operator: Operator) -> None:
    """Also of one that is not there."""
    settings = operator.ask(do="settings", queue="q")["settings"]
    assert (settings["dead_letter"], settings["overflow"], settings["durable"]) == ("dead", "refuse", True)


@pytest.mark.parametrize(
    "request_",
    [
        {"do": "find", "queue": "q"},
        {"do": "find", "queue": "q", "numbers": [1], "properties": {"a": "b"}},
        {"do": "find", "queue": "q", "properties": {}},
        {"do": "find", "queue": "q", "numbers": []},
        {"do": "remove", "queue": "q"},
        {"do": "remove", "queue": "q", "numbers": list(range(101))},
        {"do": "remove", "queue": "q", "numbers": ["1"]},
        {"do": "settings", "queue": ""},
        {"do": "drop", "queue": "q"},
        {"do": "purge", "queue": ""},
        {"do": "purge", "queue": "q", "most": 0},
        {"do": "purge", "queue": "q", "force": True},
        {"queue": "q"},
        {"do": ["purge"]},
    ],
)
def test_a_request_that_cannot_be_meant_is_answered_with_what_is_wrong(
    operator: Operator, request_: dict[str, Any]
) -> None:
    """And does nothing."""
    operator.enqueue(b"q", b"x")
    assert list(operator.ask(**request_)) == ["error"]
    assert operator.ask(do="show", queue="q")["queue"]["ready"] == 1


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"do": "list"}',
        b'{"do": "list", "reply": ""}',
        b'{"do": "list", "reply": "a/b"}',
        b'{"do": "list", "reply": "*"}',
        b'{"do": "list", "reply": "me\\n"}',
        b'{"do": "list", "reply": "' + b"m" * 65 + b'"}',
    ],
)
def test_a_request_without_a_token_that_can_be_used_is_not_answered(operator: Operator, octets: bytes) -> None:
    """The token is one level of a name; nobody can have the broker speak elsewhere."""
    operator.subscribe(b"$/manage/reply/*")
    operator.subscribe(b"$/*/*/*")
    assert operator.say(octets) is None


def test_an_answer_is_not_kept_for_later_subscribers(operator: Operator) -> None:
    """It was for one."""
    operator.ask(do="list")
    late = MemoryClient(operator.session._router)  # type: ignore[attr-defined]
    late.subscribe(b"$/manage/reply/*")
    assert late.received == []


def test_managing_takes_the_right_to_control_the_topic() -> None:
    """Else nothing happens, and nothing is told."""
    policy = OpenPolicy()
    policy.deny(Action.CONTROL, QUEUES.topic)
    router = make_router(authorizers=[policy], service_topics=[QUEUES])
    router.startService()
    operator = Operator(router, QUEUES.topic)
    operator.enqueue(b"q", b"x")
    with pytest.raises(Refused):
        operator.ask(do="purge", queue="q")
    assert [status.ready for status in router.queues()] == [1]


def test_a_failed_store_is_told(operator: Operator) -> None:
    """An operator has to learn that nothing is kept any more."""
    store = MemoryMessageStore()
    router = make_router(service_topics=[QUEUES], message_store=store)
    router.startService()
    operator = Operator(router, QUEUES.topic)
    store.break_down("the disk is full")
    waiting = operator.enqueue(b"q", b"x")
    assert waiting is not None
    waiting.addErrback(lambda failure: None)
    assert operator.ask(do="list")["store_failure"] == "the disk is full"


def ruled(*denied: bytes) -> Operator:
    """An operator who may talk to the topic, but manage none of these queues; each of them has a message."""
    policy = OpenPolicy()
    policy.deny(Action.MANAGE, *denied)
    router = make_router(service_topics=[QUEUES], authorizers=[policy])
    router.startService()
    operator = Operator(router, QUEUES.topic)
    for queue in (b"open", *denied):
        operator.enqueue(queue, queue)
    return operator


@pytest.mark.parametrize(
    "request_",
    [
        {"do": "show"},
        {"do": "settings"},
        {"do": "peek"},
        {"do": "find", "numbers": [1, 2]},
        {"do": "find", "properties": {"a": "b"}},
        {"do": "purge"},
        {"do": "remove", "numbers": [1, 2]},
        {"do": "requeue"},
    ],
)
def test_each_queue_takes_the_right_to_manage_it(request_: dict[str, Any]) -> None:
    """To talk about queues is not to look into all of them."""
    operator = ruled(b"secret")
    refused = {"error": "it takes the right to manage secret"}
    assert operator.ask(queue="secret", **request_) == refused
    assert operator.ask(queue="/secret/", **request_) == refused
    assert "error" not in operator.ask(queue="open", **request_)


def test_queues_that_may_not_be_managed_are_not_listed() -> None:
    """And parts of the list are as long as ever."""
    operator = ruled(b"a", b"b", b"p")
    operator.enqueue(b"q", b"x")
    first = operator.ask(do="list", most=1)
    assert ([queue["name"] for queue in first["queues"]], first["more"]) == (["open"], True)
    second = operator.ask(do="list", most=1, after="open")
    assert ([queue["name"] for queue in second["queues"]], second["more"]) == (["q"], False)


def test_dead_letters_of_queues_that_may_not_be_managed_are_not_seen() -> None:
    """Nor removed or sent back one by one."""
    operator = ruled(b"secret")
    consumer = operator.consume(b"secret")
    operator.settle(consumer, outcome=Outcome.REJECT)
    consumer = operator.consume(b"open")
    operator.settle(consumer, outcome=Outcome.REJECT)
    [letter] = operator.ask(do="peek", queue="dead")["messages"]
    assert letter["text"] == "open"
    other = letter["number"] - 1
    assert operator.ask(do="find", queue="dead", numbers=[other])["messages"] == []
    for verb, done in (("remove", "removed"), ("requeue", "requeued")):
        answer = operator.ask(do=verb, queue="dead", numbers=[other])
        assert (answer[done], answer["missing"]) == (0, [other])
