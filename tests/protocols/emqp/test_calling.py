"""How do clients of other protocols have eMQP's workers do something, and hear what came of it? (docs/crossing.md)"""

from __future__ import annotations

import json

import pytest

from fmqbus.errors import CallFailed
from fmqbus.model import Message, Principal
from fmqbus.protocols.emqp.commands import Goodbye, Heartbeat, Inform, Ready, Reply, Request, Role
from fmqbus.protocols.emqp.job_message import EMQP_CLIENT
from fmqbus.testing.bus import MemoryClient
from tests.protocols.emqp.memory_place import JOB, STRANGER, Peer, Place

ADD = b'["jobs:add", [1, 2]]'


def job_of(worker: Peer) -> Request:
    """The one job that it has been given."""
    [request] = worker.heard()
    assert isinstance(request, Request)
    return request


def failures(caller: MemoryClient) -> list[tuple[int, str]]:
    """How its calls have failed."""
    return [(end.result.code, str(end.result)) for end in caller.answers if isinstance(end.result, CallFailed)]


@pytest.mark.parametrize(
    ("payload", "path", "called", "args", "kwargs"),
    [
        (b'["jobs:add"]', "jobs", "add", [], {}),
        (ADD, "jobs", "add", [1, 2], {}),
        (b'["a.b:f", [], {"x": 1}]', "a.b", "f", [], {"x": 1}),
        (b'["jobs:Cook.brew", ["tea"]]', "jobs:Cook", "brew", ["tea"], {}),
        (JOB, "jobs", "add", [1, 2], {}),
    ],
)
def test_a_call_becomes_a_job_and_its_result_the_answer(
    payload: bytes, path: str, called: str, args: list[object], kwargs: dict[str, object]
) -> None:
    """``job/QUEUE`` is served as long as a worker serves the queue; the caller's patience is the job's time.
    (reading 59)"""
    place = Place()
    worker, caller = place.worker(queues=b"kitchen", credit=1), place.bystander()
    caller.call(b"job/kitchen", payload, 7.0)
    place.wait()
    job = job_of(worker)
    assert sorted(job.headers.split(b",")) == [b"reply-requested", b"timeout:7"]
    members = json.loads(job.body)[1]
    assert (members["path"], members["callable"], members["args"], members["kwargs"]) == (path, called, args, kwargs)
    worker.say(Reply(b"x", b'{"value": {"pot": 1}}', job.message_id))
    assert caller.replies == [b'{"pot": 1}']


def test_a_job_that_fails_is_a_call_that_fails() -> None:
    """If the worker says so, as ours does; EventMQ's does not. (reading 59)"""
    place = Place()
    worker, caller = place.worker(credit=2), place.bystander()
    for body in (b'{"value": "no milk", "error": "ValueError"}', b'{"value": "no milk"}'):
        caller.call(b"job/default", ADD)
        place.wait()
        worker.say(Reply(b"x", body, job_of(worker).message_id))
    assert failures(caller) == [(8, "ValueError: no milk")]
    assert caller.replies[1] == b'"no milk"'


@pytest.mark.parametrize(
    "payload", [b"", b"tea", b"[]", b'["add"]', b'["jobs:"]', b'["a:b.c.d"]', b'["jobs:add", {}]', b"{}", b"\xff"]
)
def test_what_is_no_job_fails_at_once(payload: bytes) -> None:
    """No worker sees it."""
    place = Place()
    worker, caller = place.worker(credit=1), place.bystander()
    caller.call(b"job/default", payload)
    place.wait()
    assert worker.heard() == []
    [(code, _)] = failures(caller)
    assert code == 4


def test_where_nobody_works_nobody_serves() -> None:
    """Before the first worker, and after the last one."""
    place = Place()
    caller = place.bystander()

    def ask() -> None:
        with pytest.raises(CallFailed) as failed:
            caller.call(b"job/default", ADD)
        assert failed.value.reason == "unserved"

    ask()
    place.worker().say(Goodbye(b"k"))
    place.wait(1.0)
    ask()


def test_very_many_methods_come_and_go_some_at_a_time() -> None:
    """A worker that comes and goes with hundreds of queues keeps nobody waiting."""
    place = Place()
    worker, caller = place.peer(b"worker", "backend"), place.bystander()

    def served() -> int:
        return sum(_is_served(caller, f"job/{number}/{index}") for number in range(8) for index in range(256))

    for number in range(8):
        worker.say(Inform(b"i", ",".join(f"{number}/{index}" for index in range(256)).encode(), Role.WORKER))
    assert 0 < served() < 8 * 256
    worker.say(Goodbye(b"k"))
    place.wait(1.0)
    assert served() > 0
    place.wait(1.0)
    assert served() == 0


def test_all_methods_of_a_worker_with_many_queues_are_there_in_the_end() -> None:
    """A second or two later."""
    place = Place()
    worker, caller = place.peer(b"worker", "backend"), place.bystander()
    worker.say(Inform(b"i", ",".join(f"{index}" for index in range(256)).encode(), Role.WORKER))
    for _ in range(2):
        place.wait(1.0)
    assert all(_is_served(caller, f"job/{index}") for index in range(256))


def _is_served(caller: MemoryClient, method: str) -> bool:
    try:
        caller.call(method.encode(), ADD)
    except CallFailed:
        return False
    return True


def test_a_call_that_has_waited_long_enough_fails_and_its_job_is_not_done() -> None:
    """It has a time to live in its queue."""
    place = Place()
    worker, caller = place.worker(), place.bystander()
    caller.call(b"job/default", ADD, 5.0)
    for _ in range(6):
        place.wait(1.0)
        worker.say(Heartbeat(b"h"))
    worker.say(Ready(b"r"))
    assert worker.heard() == []
    assert len(caller.replies) == 1


def test_who_no_longer_waits_harms_nobody() -> None:
    """The job goes on; its result is nobody's."""
    place = Place()
    worker, caller = place.worker(credit=1), place.bystander()
    call = caller.call(b"job/default", ADD)
    place.wait()
    caller.abandon(call)
    worker.say(Reply(b"x", b'{"value": 3}', job_of(worker).message_id))
    assert caller.replies == []
    queue = place.router.queue(b"default")
    assert queue is not None
    assert queue.accepted == 1


def test_a_full_queue_is_a_call_that_fails() -> None:
    """As for everybody."""
    place = Place("[queues]\nmax_messages = 1\n")
    caller = place.bystander()
    place.worker()
    for _ in range(2):
        caller.call(b"job/default", ADD)
        place.wait()
    [(code, text)] = failures(caller)
    assert code == 8
    assert "full" in text


def test_where_the_place_may_not_serve_there_are_no_methods() -> None:
    """As where it listens beyond this machine, and no rule is about that address. (reading 61)"""
    place = Place(host="0.0.0.0")
    worker, caller = place.worker(credit=1), place.bystander()
    with pytest.raises(CallFailed):
        caller.call(b"job/default", ADD)
    place.peer(b"c").request(b"1")
    assert job_of(worker).message_id == b"1"


MAY_CALL = '[[access.rules]]\neffect = "allow"\nactions = ["call"]\nwho = ["remote"]\nnames = ["job/**"]\n'
MAY_ENQUEUE = MAY_CALL.replace("call", "enqueue").replace("job/**", "default")


@pytest.mark.parametrize(
    ("rules", "failed"), [(MAY_CALL, [(8, "enqueue is not allowed")]), (MAY_CALL + MAY_ENQUEUE, [])]
)
def test_a_call_takes_the_right_to_put_the_job_there(rules: str, failed: list[tuple[int, str]]) -> None:
    """The broker hands it in, but for the caller: ``job/QUEUE`` is no way around what is denied at the queue."""
    place = Place(rules)
    worker, caller = place.worker(credit=1), MemoryClient(place.router, Principal("memory", STRANGER.facts))
    caller.call(b"job/default", ADD)
    place.wait()
    assert failures(caller) == failed
    assert len(worker.heard()) == (0 if failed else 1)


def test_nobody_answers_a_call_that_is_not_his() -> None:
    """A job of a former run of the bus, or one that somebody has made up, names a call by its number. (reading 59)"""
    place = Place()
    worker, caller = place.worker(credit=2), place.bystander()
    call = caller.call(b"job/default", ADD)
    place.wait()
    own = job_of(worker)
    forged = Message(b"default", JOB, properties={EMQP_CLIENT: f"call {str(call.number).encode().hex()}"})
    caller.session.enqueue(b"default", forged)
    caller.session.flush()
    place.wait()
    worker.say(Reply(b"x", b'{"value": "forged"}', job_of(worker).message_id))
    assert caller.replies == []
    worker.say(Reply(b"x", b'{"value": 3}', own.message_id))
    assert caller.replies == [b"3"]


def test_a_failure_whose_text_is_no_text_reaches_whoever_asked() -> None:
    """A worker's exception that names a file of odd octets: JSON can say that, and UTF-8 cannot. (reading 59)"""
    place = Place()
    worker, caller = place.worker(queues=b"kitchen", credit=1), place.bystander()
    caller.call(b"job/kitchen", ADD, 7.0)
    place.wait()
    worker.say(Reply(b"x", rb'{"error": "OSError", "value": "no file \udcff"}', job_of(worker).message_id))
    [(_, text)] = failures(caller)
    assert text.encode() == b"OSError: no file ?"
