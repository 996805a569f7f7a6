"""What does the broker do about each command? Time stands still unless it is turned."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from zope.interface import implementer

from fmqbus.app.plugs import Plug
from fmqbus.interfaces import IMessageStoreMaker
from fmqbus.limits import Limits
from fmqbus.model import Origin, PeerFacts
from fmqbus.protocols.emqp import peers
from fmqbus.protocols.emqp.commands import (
    Ack,
    Command,
    Disconnect,
    Goodbye,
    Heartbeat,
    Hello,
    Inform,
    Publish,
    Ready,
    Reply,
    Request,
    Role,
    Schedule,
    ShowSchedulers,
    ShowWorkers,
    SpecifiedGoodbye,
    Status,
    Unschedule,
)
from fmqbus.schedules.timing import Every
from fmqbus.testing.message_store import Medium, MemoryMessageStore
from tests.protocols.emqp.memory_place import JOB, REQ, STRANGER, Place

RESULT = b'{"value": 3}'


# workers


def test_inform_is_acknowledged_and_a_heartbeat_follows_at_once() -> None:
    """Nothing before the ACK; slots are there a second later, not four. (eMQP, Global Frames, Worker; reading 34)"""
    place = Place()
    worker = place.peer(b"w", "backend")
    worker.say(Inform(b"i1", b'[[10, "default"]]', Role.WORKER))
    ack, beat = worker.heard_all()
    assert isinstance(ack, Ack)
    assert ack.acknowledged == b"i1"
    assert isinstance(beat, Heartbeat)


@pytest.mark.parametrize("queues", [b"[[1]]", b"[40, ", b'[[10, "*"]]', b'[["x", 1]]'])
def test_an_inform_that_makes_no_sense_is_not_acknowledged(queues: bytes) -> None:
    """It is counted. (reading 3)"""
    place = Place()
    worker = place.peer(b"w", "backend")
    worker.say(Inform(b"i1", queues, Role.WORKER))
    assert worker.heard_parts() == []
    assert sum(place.drops.values()) == 1


def test_one_ready_is_one_job() -> None:
    """Credits start at 0, READY adds 1, REQUEST takes 1. (eMQP, Worker; reading 8)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker()
    for number in range(3):
        client.request(b"%d" % number)
    assert worker.heard() == []
    worker.say(Ready(b"r"), Ready(b"r"))
    assert [command.message_id for command in worker.heard()] == [b"0", b"1"]
    worker.say(Ready(b"r"))
    assert [command.message_id for command in worker.heard()] == [b"2"]


def test_a_job_is_handed_on_as_it_came_but_always_with_a_reply_requested() -> None:
    """READY names no job, so without a REPLY the broker would not know which has ended. (eMQP, Client;
    readings 25 and 35)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(queues=b"email", credit=1)
    client.request(b"id", b"timeout:5,guarantee,x-own", b"/email", JOB)
    [request] = worker.heard()
    assert isinstance(request, Request)
    assert (request.message_id, request.queue, request.body) == (b"id", b"/email", JOB)
    assert sorted(request.headers.split(b",")) == [b"guarantee", b"reply-requested", b"timeout:5", b"x-own"]


def test_the_queue_that_a_worker_serves_more_gladly_comes_first() -> None:
    """For a freed worker by weight, and within a queue the oldest. (reading 4)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(queues=b'[[10, "b"], [40, "a"]]')
    for queue in (b"b", b"a", b"b", b"a"):
        client.request(queue, queue=queue)
    for queue in (b"a", b"a", b"b", b"b"):
        worker.say(Ready(b"r"))
        assert [command.queue for command in worker.heard() if isinstance(command, Request)] == [queue]


def test_the_worker_that_serves_a_queue_more_gladly_comes_first() -> None:
    """While it has credit; then the others take turns. (eMQP, Topology; reading 4)"""
    place = Place()
    client = place.peer(b"c")
    glad = place.worker(b"glad", b'[[40, "q"]]', credit=2)
    others = [place.worker(name, b'[[10, "q"]]', credit=2) for name in (b"one", b"two")]
    for number in range(4):
        client.request(b"%d" % number, queue=b"q")
    assert [len(worker.heard()) for worker in (glad, *others)] == [2, 1, 1]


def test_ready_a_million_times_is_bounded() -> None:
    """Bad input: what a worker may hold is; the rest is counted. (reading 8)"""
    place = Place("[limits]\nconsumer_window = 3\n")
    worker = place.worker()
    worker.say(*[Ready(b"r")] * 10)
    assert place.drops == {"ready": 7}


def test_ready_before_inform_is_counted_and_nothing_is_said() -> None:
    """Only by silence does a worker learn that it has to INFORM again. (eMQP, Heartbeating; reading 31)"""
    place = Place()
    stranger = place.peer(b"s", "backend")
    stranger.say(Ready(b"r"), Heartbeat(b"h", b"1"), Reply(b"x", RESULT, b"1"))
    place.wait(60.0)
    assert stranger.heard_parts() == []
    assert place.drops == {"not-informed": 1, "reply": 1}


def test_heartbeats_go_to_those_that_are_there_also_while_jobs_flow() -> None:
    """Every 3 s, always; the specification's SHOULD NOT would starve EventMQ's workers. (eMQP, Global Frames,
    Heartbeating; reading 15)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(credit=9)
    beats = 0
    for _ in range(9):
        client.request()
        worker.say(Heartbeat(b"h", b"1"))
        place.wait(1.0)
        beats += sum(isinstance(command, Heartbeat) and command.timestamp != b"" for command in worker.heard_all())
    assert beats >= 3


def test_a_silent_worker_is_there_no_more() -> None:
    """After 15 s. It is told nothing, and has to INFORM again. (eMQP, Heartbeating; reading 14)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(credit=1)
    for _ in range(17):
        place.wait(1.0)
    worker.heard_all()
    client.request()
    place.wait(10.0)
    assert worker.heard_parts() == []
    worker.say(Inform(b"i", b"", Role.WORKER), Ready(b"r"))
    assert [type(command) for command in worker.heard()] == [Ack, Request]


@pytest.mark.parametrize(
    "command",
    [
        Ack(b"1", b"x"),
        Ready(b"1"),
        Reply(b"1", RESULT, b"x"),
        Heartbeat(b"1"),
        Request(b"1", b"", b"", JOB),
        Hello(b"1"),
    ],
)
def test_any_command_is_as_good_as_a_heartbeat(command: Command) -> None:
    """Even one that makes no sense. (eMQP, Heartbeating)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(queues=b"q")
    for _ in range(30):
        place.wait(1.0)
        worker.say(command)
    worker.heard_all()
    worker.say(Ready(b"r"))
    client.request(b"2", queue=b"q")
    assert b"2" in [said.message_id for said in worker.heard() if isinstance(said, Request)]


def test_nothing_is_left_of_who_has_said_goodbye() -> None:
    """Neither among those that are there, nor among those that serve a queue, nor of what still waits for them.
    (eMQP, DISCONNECT and KBAI)"""
    place = Place()
    worker, scheduler, admin = place.worker(credit=1), place.peer(b"s"), place.peer(b"a", "admin")
    scheduler.say(Inform(b"i", b"", Role.SCHEDULER))
    for peer in (worker, scheduler):
        peer.say(SpecifiedGoodbye(b"k"))
        assert peer.heard_parts() == []
    admin.say(ShowWorkers(b"1"), ShowSchedulers(b"2"))
    workers, schedulers = (json.loads(reply.body) for reply in admin.heard() if isinstance(reply, Reply))
    assert workers == {"connected_workers": {}, "connected_queues": {}}
    assert schedulers == {"connected_schedulers": {}}


def test_to_inform_again_begins_anew() -> None:
    """Credit and queues are reset, and the worker is not there twice. (eMQP, Topology; reading 39)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(credit=5)
    worker.say(Inform(b"i", b"email", Role.WORKER))
    client.request(queue=b"default")
    worker.heard()
    client.request(queue=b"email")
    assert worker.heard() == []
    worker.say(Ready(b"r"))
    assert [command.queue for command in worker.heard() if isinstance(command, Request)] == [b"email"]


@pytest.mark.parametrize("word", [Goodbye, SpecifiedGoodbye])
def test_who_says_goodbye_gets_nothing_more(word: type[Goodbye]) -> None:
    """MUST stop sending; either word counts. Its results still do. (eMQP, Global Frames, DISCONNECT and KBAI;
    readings 1 and 41)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(credit=2)
    client.request(b"1", b"reply-requested")
    worker.heard()
    worker.say(word(b"k"))
    client.request(b"2", b"reply-requested")
    place.wait(10.0)
    assert worker.heard_parts() == []
    client.heard()
    worker.say(Reply(b"x", RESULT, b"1"))
    [reply] = client.heard()
    assert isinstance(reply, Reply)
    assert (reply.body, reply.request) == (RESULT, b"1")


def test_disconnect_of_a_worker_is_that_it_leaves() -> None:
    """The broker goes on, and says goodbye to it in both dialects. (eMQP, Global Frames; readings 1 and 18)"""
    place = Place()
    worker = place.worker(credit=1)
    worker.say(Disconnect(b"d"))
    assert [type(command) for command in worker.heard()] == [Goodbye, SpecifiedGoodbye]
    place.peer(b"c").request()
    assert worker.heard_parts() == []
    assert place.signals == []


def test_a_worker_that_may_not_consume_is_refused() -> None:
    """From elsewhere nothing is allowed, unless a rule says so; there is no ACK. (reading 60)"""
    place = Place()
    worker = place.peer(b"w", "backend", STRANGER)
    worker.say(Inform(b"i", b"", Role.WORKER))
    assert worker.heard_parts() == []
    assert place.drops == {"refused": 1}


def test_nobody_speaks_for_a_worker_who_has_another_key() -> None:
    """An identity proves nothing, but the carrier may know more: the job stays the worker's."""
    place = Place()
    anna, eve = (Origin(PeerFacts("curve", "127.0.0.1", is_local=True, curve_key=key), "DEALER") for key in "ae")
    client, worker = place.peer(b"c"), place.worker(credit=1, origin=anna)
    client.request(b"1", b"reply-requested")
    [job] = [command for command in worker.heard() if isinstance(command, Request)]
    client.heard()
    colleague = place.worker(b"colleague", queues=b'[[10, "other"]]', origin=eve)
    colleague.say(Reply(b"r", b'{"value": "forged"}', job.message_id))
    assert place.drops == {"reply": 1}
    thief = place.peer(b"worker", "backend", eve)
    thief.say(
        Reply(b"r", b'{"value": "forged"}', job.message_id),
        Ready(b"r"),
        Heartbeat(b"h", b"0"),
        Disconnect(b"d"),
    )
    assert client.heard() == []
    assert place.drops == {"reply": 1, "impostor": 4}
    worker.say(Reply(b"r", RESULT, job.message_id))
    assert [command.body for command in client.heard() if isinstance(command, Reply)] == [RESULT]


# clients


def test_who_asks_for_a_reply_gets_an_ack_and_then_the_result() -> None:
    """Under the id that it knows; the body is the worker's. (eMQP, Topology, Global Frames, Headers; reading 5)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(credit=1)
    client.request(b"1", b"reply-requested")
    [ack] = client.heard()
    assert isinstance(ack, Ack)
    assert ack.acknowledged == b"1"
    worker.say(Reply(b"x", RESULT, b"1"))
    [reply] = client.heard()
    assert isinstance(reply, Reply)
    assert (reply.body, reply.request) == (RESULT, b"1")


def test_who_does_not_is_told_as_eventmq_does() -> None:
    """REPLY with the id, at once, also for a job that has to wait. The result is told nobody. (eMQP, Global Frames,
    Headers; readings 5 and 35)"""
    place = Place()
    client = place.peer(b"c")
    client.request(b"1")
    [reply] = client.heard()
    assert isinstance(reply, Reply)
    assert (reply.body, reply.request) == (b"1", None)
    worker = place.worker(credit=1)
    worker.say(Reply(b"x", RESULT, b"1"))
    assert client.heard() == []


@pytest.mark.parametrize(("submitted", "heard"), [("ack", [Ack]), ("reply", [Reply]), ("nothing", []), ("auto", [Ack])])
def test_what_a_client_is_told_can_be_set(submitted: str, heard: list[type]) -> None:
    """A setting. (reading 5)"""
    place = Place(f'[protocols.emqp]\nsubmitted = "{submitted}"\n')
    client = place.peer(b"c")
    client.request(b"1", b"reply-requested")
    assert [type(command) for command in client.heard()] == heard


def test_a_req_socket_gets_one_answer() -> None:
    """The result if that is asked for, else that the job is accepted. (reading 6)"""
    place = Place()
    worker = place.worker(credit=2)
    wants, does_not = place.peer(b"1", origin=REQ), place.peer(b"2", origin=REQ)
    wants.request(b"1", b"reply-requested")
    does_not.request(b"2")
    assert wants.heard() == []
    assert [type(command) for command in does_not.heard()] == [Reply]
    worker.say(Reply(b"x", RESULT, b"1"), Reply(b"x", RESULT, b"2"))
    assert [type(command) for command in wants.heard()] == [Reply]
    assert does_not.heard() == []


def test_equal_ids_are_different_jobs() -> None:
    """Each client is told under the id that it knows. (reading 33)"""
    place = Place()
    clients, worker = [place.peer(b"a"), place.peer(b"b\xff")], place.worker(credit=2)
    for client in clients:
        client.request(b"uuid", b"reply-requested")
        client.heard()
    first, second = worker.heard()
    assert first.message_id == b"uuid" != second.message_id
    worker.say(Reply(b"x", b'{"value": 2}', second.message_id), Reply(b"x", b'{"value": 1}', first.message_id))
    for client, value in zip(clients, (b'{"value": 1}', b'{"value": 2}'), strict=True):
        [reply] = client.heard()
        assert isinstance(reply, Reply)
        assert (reply.body, reply.request) == (value, b"uuid")


def test_ever_new_keys_take_a_bounded_number_of_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where any key is let in, they cost nothing; each client is served all the same."""
    monkeypatch.setattr(peers, "MOST_CALLERS", 3)
    place = Place()
    sessions = len(place.router.sessions())
    for number in range(10):
        facts = PeerFacts("curve", "127.0.0.1", is_local=True, curve_key=str(number))
        client = place.peer(b"%d" % number, origin=Origin(facts, "DEALER"))
        client.request()
        assert client.heard()
    assert len(place.router.sessions()) - sessions == 3


def test_a_client_that_has_gone_harms_nobody() -> None:
    """Its job is done all the same. (reading 32)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(credit=1)
    client.vanish()
    client.request(b"1", b"reply-requested")
    assert [command.message_id for command in worker.heard()] == [b"1"]
    worker.say(Reply(b"x", RESULT, b"1"))
    place.wait(100.0)
    assert place.router.queue(b"default") is None


def test_a_result_is_kept_for_a_client_that_comes_back() -> None:
    """After a broker's restart a client is connected again before it has said a word. (reading 32)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(credit=1)
    client.request(b"1", b"reply-requested")
    client.heard()
    client.vanish()
    worker.say(Reply(b"x", RESULT, b"1"))
    place.wait(5.0)
    client.return_again()
    place.wait(1.0)
    assert [type(command) for command in client.heard()] == [Reply]


@pytest.mark.parametrize(("word", "answers"), [(Goodbye, 0), (SpecifiedGoodbye, 0), (Disconnect, 2)])
def test_a_client_that_has_said_goodbye_is_sent_nothing_until_it_asks_again(word: type[Command], answers: int) -> None:
    """MUST stop sending, and MUST let its jobs come to their end. What they have come to is kept, as for one that
    ZeroMQ does not find. (eMQP, DISCONNECT and KBAI; reading 18)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(credit=2)
    client.request(b"1", b"reply-requested")
    client.heard()
    client.say(word(b"k"))
    assert len(client.heard()) == answers
    worker.say(Reply(b"x", RESULT, b"1"), Reply(b"x", RESULT, b"1"))
    place.wait(5.0)
    assert client.heard_parts() == []
    client.request(b"2")
    place.wait(1.0)
    assert [type(command) for command in client.heard()] == [Reply, Reply]


@pytest.mark.parametrize("unknown", ["default", "keep"])
def test_a_queue_that_nobody_has_ever_served_is_the_default_one(unknown: str) -> None:
    """And the worker sees the name as it came. A setting has it wait instead. (reading 20)"""
    place = Place(f'[protocols.emqp]\nunknown-queue = "{unknown}"\n')
    client, worker = place.peer(b"c"), place.worker(credit=1)
    client.request(queue=b"nobody")
    expected = [b"nobody"] if unknown == "default" else []
    assert [command.queue for command in worker.heard() if isinstance(command, Request)] == expected


def test_a_queue_whose_workers_have_all_left_keeps_its_jobs() -> None:
    """EventMQ's forgets it after some seconds. (reading 19)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(b"email", b"email")
    place.worker(credit=1)
    worker.say(Goodbye(b"k"))
    client.request(queue=b"email")
    again = place.worker(b"again", b"email", credit=1)
    worker.heard()
    place.wait()
    assert place.router.queue(b"email").unsettled == 1
    assert again is not worker


@pytest.mark.parametrize(
    ("queue", "headers", "body"),
    [
        (b"*", b"reply-requested", JOB),
        (b"$/x", b"reply-requested", JOB),
        (b"", b"reply-requested,timeout:x", JOB),
        (b"", b"reply-requested", b"no json"),
        (b"", b"reply-requested", b'["run", {"callable": "x"}]'),
        (b"", b"reply-requested", b"[" * 100_000),
    ],
)
def test_a_request_that_makes_no_sense_ends_in_a_failure(queue: bytes, headers: bytes, body: bytes) -> None:
    """Never in silence: whoever asked for a reply gets one, and it is counted. (reading 22)"""
    place = Place()
    client = place.peer(b"c")
    client.request(b"1", headers, queue, body)
    [reply] = client.heard()
    assert isinstance(reply, Reply)
    assert (json.loads(reply.body)["error"], reply.request) == ("Refused", b"1")
    assert sum(place.drops.values()) == 1
    client.request(b"1", headers.replace(b"reply-requested", b""), queue, body)
    assert client.heard() == []


def test_a_full_queue_refuses() -> None:
    """Counted and visible, where EventMQ loses in silence. (reading 21)"""
    place = Place("[queues]\nmax_messages = 1\n")
    client = place.peer(b"c")
    client.request(b"1")
    client.heard()
    client.request(b"2", b"reply-requested")
    [reply] = client.heard()
    assert isinstance(reply, Reply)
    assert "full" in json.loads(reply.body)["value"]
    assert place.drops == {"queue-full": 1}


# one socket, and a store


def test_one_socket_can_serve_all() -> None:
    """What a peer is it says itself. (eMQP, ROUTER Addressing; reading 24)"""
    place = Place(shared={"backend": "frontend", "pubin": "frontend"})
    client, worker, publisher = place.peer(b"c"), place.worker(credit=1), place.peer(b"p", "pubin")
    subscribers = place.peer(b"", "pubout")
    subscribers.say_parts([b"\1"])
    client.request(b"1", b"reply-requested")
    worker.say(Reply(b"x", RESULT, b"1"))
    publisher.say(Publish(b"2", b"a", b"one"))
    assert [type(command) for command in client.heard()] == [Ack, Reply]
    assert subscribers.heard_parts() == [[b"a", b"one"]]


@implementer(IMessageStoreMaker)
class SlowStores:
    """Makes stores that write when the test says so."""

    name = "slow"

    def __init__(self) -> None:
        self.medium = Medium()
        self.stores: list[MemoryMessageStore] = []

    def make(self, clock: Any, limits: Limits, options: Mapping[str, Any]) -> MemoryMessageStore:
        self.stores.append(MemoryMessageStore(self.medium, is_slow=True))
        return self.stores[-1]


def test_a_job_is_kept_before_it_is_acknowledged_and_outlives_the_broker() -> None:
    """Stored first, and done again until there is a REPLY; the client is told under its own identity. (eMQP, Headers;
    reading 11)"""
    disk = SlowStores()
    config = 'message_store = "slow"\n'

    def start() -> Place:
        return Place(config, plugs=[Plug(IMessageStoreMaker, "slow", "here", disk)])

    place = start()
    client = place.peer(b"c")
    client.request(b"1", b"reply-requested,guarantee")
    assert client.heard() == []
    disk.stores[0].write()
    place.wait()
    assert [type(command) for command in client.heard()] == [Ack]
    again = start()
    client, worker = again.peer(b"c"), again.worker()
    worker.say(Ready(b"r"))
    assert [command.message_id for command in worker.heard()] == [b"1"]
    worker.say(Reply(b"x", RESULT, b"1"))
    assert [type(command) for command in client.heard()] == [Reply]


@pytest.mark.parametrize("header", [b"", b",guarantee"])
def test_a_job_in_hand_when_the_broker_ends_comes_again_only_if_it_may(header: bytes) -> None:
    """Nobody can know what became of it, and its worker is not heard any more. (reading 67)"""
    disk = SlowStores()

    def start() -> Place:
        return Place('message_store = "slow"\n', plugs=[Plug(IMessageStoreMaker, "slow", "here", disk)])

    place = start()
    worker = place.worker(credit=1)
    place.peer(b"c").request(b"1", b"reply-requested" + header)
    disk.stores[0].write()
    assert [command.message_id for command in worker.heard()] == [b"1"]
    disk.stores[0].write()
    again = start()
    client, worker = again.peer(b"c"), again.worker()
    worker.say(Reply(b"x", RESULT, b"1"))
    assert again.drops == {"reply": 1}
    worker.say(Ready(b"r"))
    assert [command.message_id for command in worker.heard()] == ([b"1"] if header else [])
    assert [json.loads(reply.body)["error"] for reply in client.heard() if isinstance(reply, Reply)] == (
        [] if header else ["WorkerLost"]
    )


def test_a_job_that_could_not_be_kept_is_refused() -> None:
    """The disk has failed: whoever asked for a reply is told. (readings 11 and 22)"""
    disk = SlowStores()
    place = Place('message_store = "slow"\n', plugs=[Plug(IMessageStoreMaker, "slow", "here", disk)])
    client = place.peer(b"c")
    client.request(b"1", b"reply-requested")
    disk.stores[0].break_down()
    [reply] = client.heard()
    assert isinstance(reply, Reply)
    assert (json.loads(reply.body)["error"], reply.request) == ("Refused", b"1")


# administration


def test_administration_is_answered_in_eventmqs_form() -> None:
    """REPLY whose frame 4 is JSON; no answer to HELLO, for the next message is taken for one. (readings 56 and 57)"""
    place = Place()
    client, worker, admin = place.peer(b"c"), place.worker(b"w", b'[[40, "q"]]', credit=3), place.peer(b"a", "admin")
    for number in range(2):
        client.request(b"%d" % number, queue=b"q")
    worker.say(Reply(b"x", RESULT, b"0"))
    admin.say(Hello(b"h"))
    assert admin.heard() == []
    answers = []
    for question in (Status(b"1"), ShowWorkers(b"2"), ShowSchedulers(b"3"), Status(b"4", b"show_managers")):
        admin.say(question)
        [reply] = admin.heard()
        assert isinstance(reply, Reply)
        assert reply.request == question.message_id
        answers.append(json.loads(reply.body))
    status, workers, schedulers, managers = answers
    assert set(status) == {
        "inflight_messages_by_queue",
        "latency_messages_by_queue",
        "max_latency_messages_by_queue",
        "waiting_messages_by_queue",
        "processed_messages_by_queue",
        "processed_messages_by_worker",
    }
    assert status["inflight_messages_by_queue"] == {"q": 1}
    assert status["processed_messages_by_worker"] == {"w": 1}
    assert workers["connected_workers"]["w"]["available_slots"] == 1
    assert workers["connected_queues"] == {"q": [[40, "w"]]}
    assert schedulers == {"connected_schedulers": {}}
    assert managers == workers


def test_commands_in_small_letters_are_commands_too() -> None:
    """EventMQ's broker takes them from workers. What we say is in capitals. (reading 58)"""
    place = Place()
    worker = place.peer(b"w", "backend")
    worker.say_parts([b"", b"eMQP/1.0", b"inform", b"i", b"", b"worker"])
    assert [parts[2] for parts in worker.heard_parts()] == [b"ACK", b"HEARTBEAT"]


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([b"", b"eMQP/1.0"], "parts"),
        ([b"eMQP/1.0", b"READY", b"1", b"2"], "no-empty-part"),
        ([b"", b"eMQP/2.0", b"READY", b"1"], "version"),
        ([b"", b"eMQP/1.0", b"SHUTDOWN", b"1"], "command"),
        ([b"", b"eMQP/1.0", b"INFORM", b"1", b"", b"king"], "role"),
        ([b"", b"eMQP/1.0", b"READY", b"\xff"], "text"),
        ([b"", b"eMQP/1.0", b"REQUEST", b"1", b"q"], "parts"),
        ([], "parts"),
    ],
)
def test_what_cannot_be_read_is_counted_and_nothing_else_happens(parts: list[bytes], reason: str) -> None:
    """Nobody is told, and nobody else notices. (eMQP, Global Frames; reading 27)"""
    place = Place()
    peer, worker = place.peer(b"p"), place.worker(credit=1)
    peer.say_parts(parts, parts)
    assert place.drops == {reason: 2}
    assert peer.heard_parts() == []
    peer.request(b"1")
    assert [command.message_id for command in worker.heard()] == [b"1"]


def test_only_administration_can_end_the_broker() -> None:
    """With EventMQ's any client can. ACK first, else its command line hangs. (eMQP, Global Frames; reading 23)"""
    place = Place()
    admin = place.peer(b"a", "admin")
    place.peer(b"c").say(Disconnect(b"d"))
    assert place.signals == []
    admin.say(Disconnect(b"d"))
    assert place.signals == [True]
    assert [type(command) for command in admin.heard()] == [Ack]


def test_at_a_socket_that_is_shared_nobody_is_administration() -> None:
    """Clients are there too. (reading 23)"""
    place = Place(shared={"admin": "frontend", "backend": "frontend"})
    place.peer(b"a", "admin").say(Disconnect(b"d"))
    assert place.signals == []


def test_who_may_not_control_cannot_end_it() -> None:
    """Nor ask. (readings 23 and 60)"""
    place = Place()
    admin = place.peer(b"a", "admin", STRANGER)
    admin.say(Disconnect(b"d"), Status(b"s"))
    assert place.signals == []
    assert admin.heard_parts() == []
    assert place.drops == {"refused": 2}


def test_no_two_messages_of_the_broker_have_one_id() -> None:
    """Nor do those of two brokers; but for a REQUEST, which keeps its client's. (eMQP, Global Frames)"""
    ids = []
    for _ in range(2):
        place = Place()
        client, worker, admin = place.peer(b"c"), place.worker(), place.peer(b"a", "admin")
        client.request(b"1", b"reply-requested")
        worker.say(Ready(b"r"))
        worker.say(Reply(b"x", RESULT, b"1"))
        admin.say(Status(b"1"), ShowWorkers(b"1"))
        for _ in range(5):
            place.wait(1.0)
        said = [command for peer in (client, worker, admin) for command in peer.heard_all()]
        ids += [command.message_id for command in said if not isinstance(command, Request)]
    assert len(ids) == 10
    assert len(set(ids)) == len(ids)


# publications


def test_publications_cross_and_come_to_subscribers_by_prefix() -> None:
    """Two frames, at any depth. (eMQP, Publisher; reading 55)"""
    place = Place()
    bystander, publisher = place.bystander(), place.peer(b"p", "pubin")
    subscribers = place.peer(b"", "pubout")
    bystander.subscribe(b"a/*")
    subscribers.say_parts([b"\1a/b"])
    publisher.say(Publish(b"1", b"a/bc", b"one"), Publish(b"2", b"a/b/c/d", b"two"), Publish(b"3", b"x", b"three"))
    assert subscribers.heard_parts() == [[b"a/bc", b"one"], [b"a/b/c/d", b"two"]]
    assert bystander.payloads == [b"one"]
    bystander.publish(b"a/b", b"four")
    assert subscribers.heard_parts() == [[b"a/b", b"four"]]
    subscribers.say_parts([b"\0a/b"])
    bystander.publish(b"a/b", b"five")
    assert subscribers.heard_parts() == []


def test_a_publication_comes_in_either_form_at_any_socket_and_is_not_answered() -> None:
    """With headers, as the specification's clients say it, and without, as its publishers do; bodies are any octets.
    (eMQP, Client, Publisher; readings 28 and 54)"""
    place = Place()
    subscribers = place.peer(b"", "pubout")
    subscribers.say_parts([b"\1a"])
    for socket in ("pubin", "frontend", "backend"):
        publisher = place.peer(b"p", socket)
        publisher.say(Publish(b"1", b"a", b"\xff\0"), Publish(b"2", b"a", b"with", b"headers"))
        assert publisher.heard_parts() == []
        assert subscribers.heard_parts() == [[b"a", b"\xff\0"], [b"a", b"with"]]


def test_topics_are_those_of_the_bus() -> None:
    """Outer slashes mean nothing, so no topic begins with one; below 16 levels nobody hears anything. (reading 55)"""
    place = Place()
    publisher, subscribers = place.peer(b"p", "pubin"), place.peer(b"", "pubout")
    deep = b"/".join([b"a"] * 16)
    subscribers.say_parts([b"\1a"], [b"\1/a"])
    publisher.say(Publish(b"1", b"/a/", b"x"), Publish(b"2", deep, b"x"), Publish(b"3", deep + b"/a", b"x"))
    assert subscribers.heard_parts() == [[b"a", b"x"], [deep, b"x"]]


@pytest.mark.parametrize("names", ["[]", '["a"]'])
def test_subscribers_hear_what_the_place_itself_may_hear(names: str) -> None:
    """ZeroMQ does not tell who they are: where it listens beyond this machine, a rule has to be about that address.
    (reading 61)"""
    rule = f'[[access.rules]]\neffect = "allow"\nactions = ["subscribe"]\nwho = ["address:0.0.0.0"]\nnames = {names}\n'
    place = Place(rule if names != "[]" else "", host="0.0.0.0")
    subscribers = place.peer(b"", "pubout")
    subscribers.say_parts([b"\1a"])
    place.peer(b"p", "pubin").say(Publish(b"1", b"a", b"one"))
    assert subscribers.heard_parts() == ([] if names == "[]" else [[b"a", b"one"]])


def test_wishes_that_overlap_end_one_by_one() -> None:
    """ZeroMQ tells each first and each last one. (reading 55)"""
    place = Place()
    bystander, subscribers = place.bystander(), place.peer(b"", "pubout")
    subscribers.say_parts([b"\1"], [b"\1a"])
    subscribers.say_parts([b"\0"])
    bystander.publish(b"a", b"one")
    assert subscribers.heard_parts() == [[b"a", b"one"]]


def test_a_publication_can_be_retained_by_a_header() -> None:
    """Ours: the specification's PUBLISH of a client has headers, and names none."""
    place = Place()
    place.peer(b"c").say(Publish(b"1", b"a", b"kept", b"retain"))
    late = place.bystander()
    late.subscribe(b"a")
    assert late.payloads == [b"kept"]


# the end


def test_when_it_ends_all_are_told_and_jobs_under_way_are_waited_for() -> None:
    """MUST send KBAI, MUST stop receiving, MUST allow pending jobs to complete. (eMQP, DISCONNECT and KBAI;
    readings 1 and 43)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(credit=2)
    client.request(b"1", b"reply-requested")
    worker.heard()
    client.heard()
    stopping = place.stop_listening()
    assert [type(command) for command in worker.heard()] == [Goodbye, SpecifiedGoodbye]
    client.request(b"2", b"reply-requested")
    [refusal] = client.heard()
    assert isinstance(refusal, Reply)
    assert json.loads(refusal.body)["error"] == "Refused"
    assert not stopping.called
    worker.say(Reply(b"x", RESULT, b"1"))
    assert stopping.called
    assert [type(command) for command in client.heard()] == [Reply]


@pytest.mark.parametrize(
    "command",
    [
        Publish(b"1", b"a", b"x"),
        Schedule(b"1", b"", b"", JOB, b"60", b""),
        Unschedule(b"1", b"", b"", JOB, b"-1", b""),
        Inform(b"1", b"", Role.WORKER),
        Inform(b"1", b"", Role.SCHEDULER),
    ],
)
def test_when_it_ends_it_takes_nothing_new(command: Command) -> None:
    """MUST stop receiving: what comes is counted, and is not done. (eMQP, DISCONNECT and KBAI)"""
    place = Place()
    client, listener = place.peer(b"c"), place.bystander()
    listener.subscribe(b"a")
    client.say(Schedule(b"0", b"", b"nohaste", JOB, b"5", b""))
    worker = place.worker(credit=1)
    client.request(b"2")
    client.heard()
    stopping = place.stop_listening()
    client.say(command)
    assert place.drops == {"ending": 1}
    assert client.heard() == []
    assert listener.payloads == []
    [status] = place.router.scheduling.page()
    assert status.schedule.timing == Every(5)
    worker.say(Reply(b"x", RESULT, b"2"))
    assert stopping.called


def test_it_does_not_wait_for_ever() -> None:
    """As long as the rest of the bus does; what has not ended by then is back in its queue.
    (eMQP, DISCONNECT and KBAI)"""
    place = Place("[limits]\ndrain_seconds = 5.0\n")
    place.worker(credit=1)
    place.peer(b"c").request()
    stopping = place.stop_listening()
    place.wait(4.0)
    assert not stopping.called
    place.wait(2.0)
    assert stopping.called
    status = place.router.queue(b"default")
    assert status is not None
    assert (status.ready, status.unsettled) == (1, 0)


def test_operators_are_told_how_many_jobs_there_were_and_who_is_there() -> None:
    """Without a name: those are the peers' to invent."""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(credit=2)
    client.request(b"1")
    client.request(b"2")
    worker.say(Reply(b"r", RESULT, b"1"))
    told = {reading.metric.name: reading for reading in place.router.vitals.readings() if reading is not None}
    assert (told["fmqbus_workers"].value, told["fmqbus_schedulers"].value) == (1, 0)
    assert told["fmqbus_jobs_in_hand"].value == 1
    assert told["fmqbus_job_seconds"].value.up_to()[-1][1] == 1
    assert told["fmqbus_job_seconds"].labels == ()
