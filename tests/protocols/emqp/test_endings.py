"""How does a job end, and what becomes of it then?"""

from __future__ import annotations

import json
from itertools import product

import pytest

from fmqbus.model import Outcome
from fmqbus.protocols.emqp.commands import Ack, Goodbye, Heartbeat, Inform, Progress, Ready, Reply, Request, Role
from fmqbus.protocols.emqp.endings import End, end_of, outcome_of
from fmqbus.protocols.emqp.headers import Headers
from fmqbus.protocols.emqp.results import Result
from tests.protocols.emqp.memory_place import Peer, Place

RESULT = b'{"value": 3}'
FAILURE = b'{"value": "no", "error": "ValueError"}'
TIMEOUT = b'{"value": "TimeoutError"}'


# the table


@pytest.mark.parametrize(
    ("result", "end"),
    [
        (Result(3), End.DONE),
        (Result("no"), End.DONE),
        (Result(None), End.DONE),
        (Result("no", "ValueError"), End.FAILED),
        (Result("TimeoutError"), End.LATE),
        (Result("it took too long", "TimeoutError"), End.LATE),
        (Result("the worker stops", "WorkerLost"), End.LOST),
    ],
)
def test_what_a_reply_says(result: Result, end: End) -> None:
    """An exception of EventMQ's worker cannot be told from a result. (reading 10)"""
    assert end_of(result) is end


@pytest.mark.parametrize(
    ("end", "is_answered"),
    [(End.DONE, True), (End.FAILED, True), (End.LATE, True), (End.LATE, False), (End.LOST, True), (End.LOST, False)],
)
@pytest.mark.parametrize(("guarantee", "retries"), list(product([False, True], [0, 2])))
def test_what_becomes_of_a_job(end: End, is_answered: bool, guarantee: bool, retries: int) -> None:
    """`retry-count` for whatever goes wrong, `guarantee` until there is a REPLY. (eMQP, Headers; readings 10 and 11)"""
    headers = Headers(guarantee=guarantee, retry_count=retries)
    tries = [outcome_of(end, headers, number, 5, is_answered) for number in range(1, 7)]
    if end is End.DONE:
        assert tries == [Outcome.ACCEPT] * 6
        return
    again = 4 if guarantee and (end is End.LOST or not is_answered) else retries
    assert tries == [Outcome.RELEASE] * again + [Outcome.REJECT] * (6 - again)


# the same on the bus


def begin(place: Place, headers: bytes) -> tuple[Peer, Peer]:
    """A client that waits for its job, and the worker that has it."""
    client, worker = place.peer(b"c"), place.worker(credit=1)
    client.request(b"1", b"reply-requested" + headers)
    client.heard()
    assert len(worker.heard()) == 1
    return client, worker


def results(client: Peer) -> list[object]:
    """What the client has been told."""
    return [json.loads(command.body) for command in client.heard() if isinstance(command, Reply)]


def dead_letters(place: Place) -> list[str]:
    """Why jobs have died."""
    return [stored.message.properties["dead-letter-detail"] for stored in place.router.peek(b"dead", 10)]


@pytest.mark.parametrize("body", [FAILURE, TIMEOUT])
def test_a_job_that_fails_is_tried_again_as_often_as_it_says(body: bytes) -> None:
    """The client hears of the last try only; then it is a dead letter, with the reason. (eMQP, Headers; reading 10)"""
    place = Place()
    client, worker = begin(place, b",retry-count:2")
    for attempt in (2, 3):
        worker.say(Reply(b"x", body, b"1"), Ready(b"r"))
        [request] = worker.heard()
        assert isinstance(request, Request)
        assert (request.message_id, request.headers.split(b",")[-1]) == (b"1", b"attempt:%d" % attempt)
        assert results(client) == []
    worker.say(Reply(b"x", body, b"1"), Ready(b"r"))
    assert worker.heard() == []
    assert results(client) == [json.loads(body)]
    assert dead_letters(place) == ["job-failed" if body == FAILURE else "job-timeout"]


def test_a_result_that_is_no_json_is_a_failure() -> None:
    """EventMQ's clients do not survive it. (reading 38)"""
    place = Place()
    client, worker = begin(place, b"")
    worker.say(Reply(b"x", b"\xff", b"1"))
    [result] = results(client)
    assert isinstance(result, dict)
    assert result["error"] == "BadResult"


def test_a_result_of_nothing_is_handed_on_as_it_is() -> None:
    """EventMQ's workers write ``null`` where the specification wants a true value; ours write that. (reading 13)"""
    place = Place()
    client, worker = begin(place, b"")
    worker.say(Reply(b"x", b'{"value": null}', b"1"))
    assert results(client) == [{"value": None}]


def test_a_job_ends_once() -> None:
    """A second REPLY is counted. (reading 37)"""
    place = Place()
    client, worker = begin(place, b"")
    worker.say(Reply(b"x", RESULT, b"1"), Reply(b"x", b'{"value": 4}', b"1"))
    assert results(client) == [{"value": 3}]
    assert place.drops == {"reply": 1}


def test_a_reply_of_the_specifications_form_ends_the_oldest_job() -> None:
    """It has five frames, and no place to say which. (eMQP, Global Frames; reading 7)"""
    place = Place()
    client, worker = begin(place, b"")
    worker.say(Reply(b"x", RESULT))
    assert results(client) == [{"value": 3}]


def test_nobody_ends_the_job_of_another() -> None:
    """Bad input: a client that guesses, or a worker that has gone, is not heard; another worker that is there may be
    the same under a new identity. (reading 36)"""
    place = Place()
    client, _ = begin(place, b"")
    place.peer(b"guesser").say(Reply(b"x", b'{"value": "forged"}', b"1"))
    assert results(client) == []
    place.worker(b"new identity").say(Reply(b"x", RESULT, b"1"))
    assert results(client) == [{"value": 3}]


@pytest.mark.parametrize(("header", "again"), [(b"", False), (b",retry-count:1", True), (b",guarantee", True)])
def test_the_job_of_a_lost_worker_waits_for_it_for_a_while(header: bytes, again: bool) -> None:
    """About 20 s, for it may only have changed its identity. Then it is given to another, if it says that it may be;
    else the client is told, and it is a dead letter. (eMQP, Headers; reading 40)"""
    place = Place()
    client, worker = begin(place, header)
    other = place.peer(b"other", "backend")
    other.say(Inform(b"i", b"", Role.WORKER), Ready(b"r"))
    worker.say(Inform(b"i", b"email", Role.WORKER))
    heard: list[object] = []
    for _ in range(18):
        place.wait(1.0)
        other.say(Ready(b"r"))
        heard += [command for command in other.heard() if isinstance(command, Request)]
    assert heard == []
    for _ in range(5):
        place.wait(1.0)
        other.say(Ready(b"r"))
        heard += [command for command in other.heard() if isinstance(command, Request)]
    assert len(heard) == again
    if again:
        assert results(client) == []
    else:
        assert results(client) == [{"value": "the worker is lost", "error": "WorkerLost"}]
        assert dead_letters(place) == ["worker-lost"]


def test_a_worker_may_reply_under_its_new_identity() -> None:
    """After silence it comes back under another, and its job is still running. (readings 36 and 40)"""
    place = Place()
    client, worker = begin(place, b"")
    for _ in range(16):
        place.wait(1.0)
    worker.heard()
    place.worker(b"again").say(Reply(b"x", RESULT, b"1"))
    assert results(client) == [{"value": 3}]
    for _ in range(30):
        place.wait(1.0)
    assert place.router.queue(b"dead") is None


def test_a_job_that_takes_too_long_is_given_up() -> None:
    """Kept by the broker for any worker; a process may have died without a word. (eMQP, Headers; reading 42)"""
    place = Place("[protocols.emqp]\ntimeout-grace = 5.0\n")
    client, worker = begin(place, b",timeout:10")
    for _ in range(14):
        place.wait(1.0)
        worker.say(Ready(b"r"))
    assert results(client) == []
    for _ in range(3):
        place.wait(1.0)
        worker.say(Ready(b"r"))
    assert results(client) == [{"value": "TimeoutError", "error": "TimeoutError"}]
    worker.say(Reply(b"x", RESULT, b"1"))
    assert results(client) == []


def test_a_job_that_nobody_answers_is_done_again_if_that_is_guaranteed() -> None:
    """A process of EventMQ's worker that dies leaves no REPLY, and the worker is there as ever. (reading 11)"""
    place = Place("[protocols.emqp]\ntimeout-grace = 5.0\n")
    client, worker = begin(place, b",timeout:10,guarantee")
    heard: list[object] = []
    for _ in range(17):
        place.wait(1.0)
        worker.say(Ready(b"r"))
        heard += [command.message_id for command in worker.heard() if isinstance(command, Request)]
    assert heard == [b"1"]
    worker.say(Reply(b"x", RESULT, b"1"))
    assert results(client) == [{"value": 3}]


def test_a_job_that_does_not_say_has_five_minutes_and_a_while() -> None:
    """As EventMQ's workers have it; they are the first to know. (readings 12 and 42)"""
    place = Place()
    client, worker = begin(place, b"")
    for _ in range(319):
        place.wait(1.0)
        worker.say(Ready(b"r"))
    assert results(client) == []
    place.wait(2.0)
    assert results(client) == [{"value": "TimeoutError", "error": "TimeoutError"}]


def test_the_job_of_a_worker_that_has_said_goodbye_waits_for_longer() -> None:
    """EventMQ's finish what they have after their KBYE, for five minutes. (reading 41)"""
    place = Place("[protocols.emqp]\ntimeout = 0\n")
    client, worker = begin(place, b"")
    worker.say(Goodbye(b"k"))
    for _ in range(299):
        place.wait(1.0)
    assert results(client) == []
    place.wait(2.0)
    assert results(client) == [{"value": "the worker is lost", "error": "WorkerLost"}]


def test_a_job_without_end_is_waited_for() -> None:
    """0 is without limit by the specification. (eMQP, Headers; reading 12)"""
    place = Place()
    client, worker = begin(place, b",timeout:0")
    for _ in range(40):
        place.wait(10.0)
        worker.say(Ready(b"r"))
    worker.say(Reply(b"x", RESULT, b"1"))
    assert results(client) == [{"value": 3}]


def test_what_is_no_job_becomes_a_dead_letter_and_costs_no_credit() -> None:
    """Never send a real peer what is no job; other protocols' producers may put anything into a queue. (reading 29)"""
    place = Place()
    worker, bystander = place.worker(credit=1), place.bystander()
    for payload in (b"\xff", b"{}", b'["run", {"path": "jobs", "callable": "add"}]'):
        bystander.enqueue(b"default", payload)
    place.wait()
    [request] = worker.heard()
    assert isinstance(request, Request)
    assert request.headers == b"reply-requested"
    assert dead_letters(place) == [
        "the body is no JSON: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        "the body is no job",
    ]


def test_a_job_that_could_not_be_sent_goes_to_another() -> None:
    """ZeroMQ did not find the worker: nobody has seen the job. (eMQP, Heartbeating)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(credit=1)
    worker.vanish()
    client.request(b"1")
    other = place.peer(b"other", "backend")
    other.say(Inform(b"i", b"", Role.WORKER), Ready(b"r"))
    assert [type(command) for command in other.heard()] == [Ack, Request]


def test_a_worker_that_does_not_read_gets_no_more_until_it_does() -> None:
    """What waits in ZeroMQ is bounded. (reading 45)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(b"w", credit=10)
    worker.socket.full.add(b"w")
    client.request(b"1")
    client.request(b"2")
    assert len(worker.heard()) == 1
    worker.socket.full.clear()
    place.protocol.link_clear(worker.socket, b"w")
    place.protocol.turn_over()
    assert len(worker.heard()) == 1


@pytest.mark.parametrize("has_said_so", [True, False])
def test_what_has_not_left_for_a_worker_that_goes_is_anothers_at_once(has_said_so: bool) -> None:
    """And no try of its own: the job may be done but once. (eMQP, DISCONNECT; readings 37 and 45)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(b"w", credit=10)
    client.request(b"1", b"reply-requested")
    assert [type(command) for command in worker.heard()] == [Request]
    worker.socket.full.add(b"w")
    client.request(b"2", b"reply-requested")
    if has_said_so:
        worker.say(Goodbye(b"g"))
    else:
        place.protocol.peer_lost(worker.socket, b"w", worker.socket.forget(b"w"))
    other = place.peer(b"other", "backend")
    other.say(Inform(b"i", b"", Role.WORKER), Ready(b"r"), Ready(b"r"))
    [_, request] = other.heard()
    assert isinstance(request, Request)
    assert (request.message_id, request.headers) == (b"2", b"reply-requested")
    other.say(Reply(b"x", RESULT, b"2"))
    assert results(client) == [{"value": 3}]


def test_a_job_that_another_has_by_now_stays_with_it() -> None:
    """Its time was over while it waited for the first; it has the same id as before, and may be done but twice. (eMQP,
    DISCONNECT; reading 45)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker(b"w", credit=1)
    worker.socket.full.add(b"w")
    client.request(b"1", b"reply-requested,timeout:5,retry-count:1")
    other = place.worker(b"other", credit=1)
    for _ in range(40):
        place.wait(1)
        worker.say(Heartbeat(b"h", b"0"))
        other.say(Heartbeat(b"h", b"0"))
        if requests := [command for command in other.heard_all() if isinstance(command, Request)]:
            break
    assert [request.message_id for request in requests] == [b"1"]
    worker.say(Goodbye(b"g"))
    third = place.peer(b"third", "backend")
    third.say(Inform(b"i", b"", Role.WORKER), Ready(b"r"))
    assert [type(command) for command in third.heard()] == [Ack]
    other.say(Reply(b"x", RESULT, b"1"))
    assert results(client) == [{"value": 3}]


def test_when_the_policy_takes_a_queue_away_its_jobs_go_back() -> None:
    """The result of whoever had it no longer counts: the job is somebody else's now. (reading 37)"""
    place = Place()
    client, worker = begin(place, b",guarantee")
    rule = '[[access.rules]]\neffect = "deny"\nactions = ["consume"]\nwho = ["*"]\nnames = ["default"]'
    place.reload(rule)
    worker.say(Reply(b"x", RESULT, b"1"), Ready(b"r"))
    assert results(client) == []
    worker.heard_all()
    place.wait(10)
    assert worker.heard_all() == []  # it has to INFORM again, and so learns when it may
    place.reload("")
    other = place.peer(b"other", "backend")
    other.say(Inform(b"i", b"", Role.WORKER), Ready(b"r"))
    assert [type(command) for command in other.heard()] == [Ack, Request]
    other.say(Reply(b"x", RESULT, b"1"))
    assert results(client) == [{"value": 3}]


@pytest.mark.parametrize("header", [b"", b",progress"])
def test_whoever_asks_for_it_is_told_how_far_its_job_is(header: bytes) -> None:
    """Ours: only to clients that know the word, and only of jobs that the worker has. (reading 62)"""
    place = Place()
    client, worker = begin(place, header)
    progress = Progress(b"x", b'{"fraction": 0.5, "note": "half"}', b"1")
    worker.say(progress, Progress(b"x", b"{}", b"1"), Progress(b"x", progress.body, b"2"))
    place.worker(b"other").say(progress)
    told = [(command.body, command.request) for command in client.heard() if isinstance(command, Progress)]
    assert told == ([(progress.body, b"1")] if header else [])
    assert place.drops == {"body": 1, "progress": 2}


@pytest.mark.parametrize("is_ours", [False, True])
def test_eventmqs_workers_are_nudged_while_they_have_jobs(is_ours: bool) -> None:
    """They look for jobs that have ended only when they hear something. Ours say that they need it not. (reading 44)"""
    place = Place()
    client, worker = place.peer(b"c"), place.worker()
    worker.say(Ready(b"r", is_ours))
    worker.heard_all()
    client.request(b"1")
    worker.heard_all()
    for _ in range(5):
        place.wait(0.02)
    assert len(worker.heard_all()) == (0 if is_ours else 5)
    worker.say(Reply(b"x", RESULT, b"1"))
    place.wait(0.02)
    worker.heard_all()
    place.wait(0.02)
    assert worker.heard_all() == []


@pytest.mark.parametrize("header", [b"", b",retry-count:1", b",guarantee"])
def test_a_job_whose_former_end_nobody_knows_is_tried_again_only_if_it_may_be(header: bytes) -> None:
    """Without `retry-count` and `guarantee` a job is never run twice: not either when a broker was killed meanwhile,
    which looks just like a consumer of another protocol that has gone. (reading 67)"""
    place = Place()
    client, bystander = place.peer(b"c"), place.bystander()
    consumer = bystander.consume(b"default", 1)
    client.request(b"1", b"reply-requested" + header, b"default")
    client.heard()
    bystander.session.cancel(consumer)
    worker = place.peer(b"w", "backend")
    worker.say(Inform(b"i", b"", Role.WORKER), Ready(b"r"))
    place.wait()
    assert [type(command) for command in worker.heard()] == ([Ack, Request] if header else [Ack])
    assert results(client) == ([] if header else [{"value": "the worker is lost", "error": "WorkerLost"}])
    client.request(b"2")
    worker.say(Ready(b"r"))
    assert [command.message_id for command in worker.heard()] == [b"2"]


def test_a_queue_may_set_a_bound_to_all_tries() -> None:
    """The client is told of the last one all the same. (reading 10)"""
    place = Place("[queues]\ndelivery_limit = 2\n")
    client, worker = begin(place, b",retry-count:5")
    worker.say(Reply(b"x", FAILURE, b"1"), Ready(b"r"))
    assert [command.message_id for command in worker.heard()] == [b"1"]
    worker.say(Reply(b"x", FAILURE, b"1"), Ready(b"r"))
    assert worker.heard() == []
    assert results(client) == [json.loads(FAILURE)]
    assert dead_letters(place) == ["job-failed"]
