"""What EventMQ's command line asks, and what publishers and subscribers say and hear. (eMQP, Publisher)"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import zmq

from tests.live.broker import Broker
from tests.live.emqp_peers import PUBIN, Peer, Place, body_of

Start = Callable[..., Broker]

STATUS = {
    "inflight_messages_by_queue",
    "latency_messages_by_queue",
    "max_latency_messages_by_queue",
    "waiting_messages_by_queue",
    "processed_messages_by_queue",
    "processed_messages_by_worker",
}


@pytest.fixture
def admin(place: Place) -> Peer:
    """Somebody at the socket for administration."""
    return place.peer("admin", b"operator")


def ask(admin: Peer, *words: str) -> Any:
    """Ask one thing; the next message is the answer, in JSON."""
    admin.say(*words)
    word, _, body, *_ = admin.hear()
    assert word == b"REPLY"
    return json.loads(body)


def test_status_has_eventmqs_names(place: Place, admin: Peer, queue: str) -> None:
    """Jobs that wait, are under way, and have ended, with their times in milliseconds."""
    worker, client = place.worker(queue.encode()).inform([(10, queue)]).ready(2), place.client()
    for number in range(3):
        client.submit(queue, body_of("add", number))
    first, _ = worker.job(), worker.job()
    worker.reply(first, None)
    worker.heard()
    status = ask(admin, "STATUS")
    assert status.keys() >= STATUS
    assert status["inflight_messages_by_queue"][queue] == 1
    assert status["waiting_messages_by_queue"][queue] == 1
    assert status["processed_messages_by_queue"][queue] == 1
    assert status["processed_messages_by_worker"][queue] == 1
    assert 0 < status["latency_messages_by_queue"][queue] <= status["max_latency_messages_by_queue"][queue] < 60_000


def test_workers_are_shown_with_their_queues_and_slots(place: Place, admin: Peer, queue: str) -> None:
    """And queues with their workers."""
    place.worker(queue.encode()).inform([(10, queue), (40, f"{queue}/x")]).ready(3).heard()
    shown = ask(admin, "ROUTER_SHOW_WORKERS")
    worker = shown["connected_workers"][queue]
    assert (worker["queues"], worker["available_slots"]) == ([[40, f"{queue}/x"], [10, queue]], 3)
    assert isinstance(worker["hb"], float)
    assert shown["connected_queues"][queue] == [[10, queue]]
    assert shown["connected_queues"][f"{queue}/x"] == [[40, queue]]


def test_the_words_of_eventmq_04_are_understood_too(place: Place, admin: Peer) -> None:
    """A part more says what is to be shown."""
    assert ask(admin, "STATUS", "show_managers").keys() == {"connected_workers", "connected_queues"}
    assert ask(admin, "STATUS", "show_schedulers").keys() == {"connected_schedulers"}
    assert ask(admin, "STATUS", "").keys() >= STATUS


def test_hello_is_not_answered(admin: Peer) -> None:
    """The command line would take it for the answer to its next question."""
    admin.say("HELLO")
    assert ask(admin, "STATUS").keys() >= STATUS


def test_whoever_may_not_manage_is_told_nothing(start: Start) -> None:
    """It is counted."""
    rules = """[access]
authorizers = ["rules"]
[[access.rules]]
effect = "allow"
actions = ["publish", "subscribe"]
who = ["*"]
names = ["a", "a/**"]
"""
    with Place(start(tables=rules)) as place:
        admin = place.peer("admin")
        admin.say("STATUS")
        admin.say("DISCONNECT")
        publisher, subscriber = place.peer("admin"), place.subscriber(b"a/")
        _wait_for_subscription(publisher, subscriber)
        assert admin.socket.poll(0) == 0


def _wait_for_subscription(publisher: Peer, subscriber: zmq.Socket[bytes]) -> None:
    while not subscriber.poll(50):
        publisher.say("PUBLISH", "a/b", "x")


@pytest.fixture
def publisher(place: Place) -> Peer:
    """Somebody at the socket for publishers."""
    return place.peer(PUBIN)


@pytest.fixture
def hear(place: Place, publisher: Peer, queue: str) -> Callable[..., list[list[bytes]]]:
    """Subscribe to something, let all of this be said, and tell what has come of it."""

    def hear(prefix: str, *publications: tuple[bytes | str, ...]) -> list[list[bytes]]:
        mark = f"{queue}/mark"
        subscriber = place.subscriber(prefix.encode(), mark.encode())
        while not subscriber.poll(50):
            publisher.say("PUBLISH", mark, "begin")
        for publication in publications:
            publisher.say("PUBLISH", *publication)
        publisher.say("PUBLISH", mark, "end")
        told = []
        while (message := subscriber.recv_multipart()) != [mark.encode(), b"end"]:
            told.append(message)
        return [message for message in told if message != [mark.encode(), b"begin"]]

    return hear


def test_subscribers_hear_what_begins_as_they_wish(hear: Callable[..., list[list[bytes]]], queue: str) -> None:
    """At any depth, and in the middle of a level."""
    topics = (f"{queue}/probe.topic", f"{queue}/prob", f"{queue}/probe/a/b", f"{queue}/other")
    assert hear(f"{queue}/pro", *((topic, topic) for topic in topics)) == [[t.encode(), t.encode()] for t in topics[:3]]


def test_a_publication_has_headers_or_has_none(hear: Callable[..., list[list[bytes]]], queue: str) -> None:
    """The specification has both; bodies are any octets, for not all subscribers are EventMQ's."""
    topic = f"{queue}/t"
    told = hear(topic, (topic, "plain"), (topic, "some-header", "with"), (topic, bytes(range(256))))
    assert [body for _, body in told] == [b"plain", b"with", bytes(range(256))]


def test_publications_are_taken_at_the_frontend_too(place: Place, queue: str) -> None:
    """In the specification it is clients that publish."""
    client, subscriber = place.client(), place.subscriber(queue.encode())
    while not subscriber.poll(50):
        client.say("PUBLISH", queue, "", "from a client")
    assert subscriber.recv_multipart() == [queue.encode(), b"from a client"]
