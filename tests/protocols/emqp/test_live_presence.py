"""Who is there, and who has gone: by real sockets and the real clock. (eMQP, Heartbeating, DISCONNECT and KBAI)"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from tests.live.broker import Broker
from tests.live.emqp_peers import BACKEND, FRONTEND, Peer, Place, Worker, args_of, body_of

Start = Callable[..., Broker]


def workers_of(place: Place) -> dict[str, dict[str, object]]:
    """Those that the broker takes for present."""
    admin = place.peer("admin")
    admin.say("ROUTER_SHOW_WORKERS")
    told: dict[str, dict[str, object]] = json.loads(admin.hear()[2])["connected_workers"]
    return told


def schedulers_of(place: Place) -> list[str]:
    """The same for schedulers."""
    admin = place.peer("admin")
    admin.say("ROUTER_SHOW_SCHEDULERS")
    return list(json.loads(admin.hear()[2])["connected_schedulers"])


def test_a_heartbeat_follows_the_ack_at_once_and_then_at_intervals(start: Start) -> None:
    """With a POSIX time; EventMQ's workers start their processes at the first."""
    with Place(start("heartbeat = 0.2")) as place:
        worker = place.worker().inform([(10, "q")])
        for _ in range(3):
            assert abs(float(worker.hear(b"HEARTBEAT")[2]) - time.time()) < 60


def test_schedulers_get_heartbeats_too(start: Start) -> None:
    """At whatever socket they are."""
    with Place(start("heartbeat = 0.2")) as place:
        for name in (FRONTEND, BACKEND):
            scheduler = place.peer(name)
            id = scheduler.say("INFORM", "", "scheduler")
            assert scheduler.hear(b"ACK")[2] == id
            assert scheduler.hear(b"HEARTBEAT")


def test_who_has_not_informed_is_told_nothing(place: Place) -> None:
    """Only by silence does a worker learn that the broker has been started anew."""
    stranger = place.peer(BACKEND)
    stranger.say("HEARTBEAT", "1795811751.8")
    stranger.say("READY")
    stranger.say("REPLY", '{"value": 1}', "no-such-job")
    stranger.say("KBYE")
    assert stranger.heard() == []


def test_a_silent_worker_is_dropped_and_one_that_beats_is_not(start: Start) -> None:
    """What it has it may still reply to."""
    with Place(start("silence = 1.5")) as place:
        silent, beating = (place.worker(name).inform([(10, "q")]) for name in (b"silent", b"beating"))
        client = place.client()
        id = client.submit("q", body_of("add"), "reply-requested")
        job = silent.ready().job()
        _wait_until_gone(place, "silent", beating)
        assert list(workers_of(place)) == ["beating"]
        silent.reply(job, "after all")
        assert client.result(id) == {"value": "after all"}


def _wait_until_gone(place: Place, name: str, beating: Worker) -> None:
    admin = place.peer("admin")
    deadline = time.monotonic() + 30
    while True:
        admin.say("ROUTER_SHOW_WORKERS")
        if name not in json.loads(admin.hear()[2])["connected_workers"]:
            return
        assert time.monotonic() < deadline
        beating.say("HEARTBEAT")
        beating.socket.poll(100)


@pytest.mark.parametrize("word", ["KBYE", "KBAI", "DISCONNECT"])
def test_a_worker_that_says_goodbye_gets_nothing_more(place: Place, queue: str, word: str) -> None:
    """In either dialect; the jobs that it has are its own until it has replied."""
    leaving, client = place.worker().inform([(10, queue)]).ready(2), place.client()
    id = client.submit(queue, body_of("add", 1), "reply-requested")
    job = leaving.job()
    leaving.say(word)
    if word == "DISCONNECT":
        assert {leaving.hear()[0], leaving.hear()[0]} == {b"KBYE", b"KBAI"}
    assert leaving.heard() == []
    client.submit(queue, body_of("add", 2))
    leaving.reply(job, "done")
    assert client.result(id) == {"value": "done"}
    assert leaving.heard() == []
    assert args_of(place.worker().inform([(10, queue)]).ready().job()) == [2]


def test_a_scheduler_that_says_goodbye_is_none(place: Place) -> None:
    """What is scheduled is then no longer handed on to it."""
    scheduler = place.peer(FRONTEND, b"the-scheduler")
    scheduler.say("INFORM", "", "scheduler")
    scheduler.hear(b"ACK")
    assert schedulers_of(place) == ["the-scheduler"]
    scheduler.say("KBYE")
    assert scheduler.heard() == []
    assert schedulers_of(place) == []


def test_to_inform_again_begins_anew(place: Place, queue: str) -> None:
    """Without the READYs that it has said before."""
    worker = place.worker(queue.encode()).inform([(10, queue)]).ready(5)
    worker.inform([(10, queue)])
    assert workers_of(place)[queue]["available_slots"] == 0
    client = place.client()
    client.submit(queue, body_of("add"))
    assert worker.heard() == []
    worker.ready().job()


def test_a_worker_that_comes_back_under_another_identity_replies_for_the_old_one(place: Place, queue: str) -> None:
    """As EventMQ's does after a silence; its job is not given to another meanwhile."""
    worker, client = place.worker().inform([(10, queue)]).ready(), place.client()
    id = client.submit(queue, body_of("add"), "reply-requested,retry-count:1")
    job = worker.job()
    worker.close()
    again = place.worker().inform([(10, queue)]).ready()
    assert again.heard() == []
    again.reply(job, "done")
    assert client.result(id) == {"value": "done"}


def test_at_one_shared_socket_everybody_is_what_he_says_that_he_is(start: Start) -> None:
    """But nobody is administration there: DISCONNECT is the peer's own."""
    broker = start(listen="emqp:zmq:frontend=SAME:backend=SAME".replace("SAME", str(_free_port())))
    with Place(broker) as place:
        assert place.ports[FRONTEND] == place.ports[BACKEND]
        worker, client = place.worker(b"worker").inform([(10, "q")]).ready(), place.client()
        id = client.submit("q", body_of("add"), "reply-requested")
        worker.reply(worker.job(), 1)
        assert client.result(id) == {"value": 1}
        asking = Peer(place.socket(FRONTEND))
        asking.say("DISCONNECT")
        assert {asking.hear()[0], asking.hear()[0]} == {b"KBYE", b"KBAI"}
        assert worker.heard() == []
        assert broker.stop() == 0


def _free_port() -> int:
    with Broker("--listen", "fmqp:tcp:0") as other:
        return other.port
