"""What does the client for Twisted make of its broker's answers? The socket is played, and so is time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from fmqbus import job_functions
from fmqbus.client.emqp import EMQPClient, HowFar, JobFailed, SubmittedJob
from fmqbus.errors import CallFailed, Detached, LocalError, Overloaded
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.emqp.codec import decode, encode
from fmqbus.protocols.emqp.commands import Ack, Command, Progress, Publish, Reply, Request, Schedule, Unschedule
from fmqbus.transports.zeromq.passport import Passport
from tests.client import emqp_jobs


class World:
    """A client whose broker is the test."""

    def __init__(self, **limits: Any) -> None:
        self.clock = Clock()
        self.sent: list[Any] = []
        self.arrived: Callable[[Sequence[bytes]], None]
        self.failure: Exception | None = None
        self.identities: list[bytes] = []
        self.client = EMQPClient(
            "emqp://broker", self.clock, answer_seconds=5.0, limits=Limits(**limits), connect=self._connect
        )
        self.client.startService()

    def _connect(
        self, reactor: Any, address: str, identity: bytes, arrived: Any, limits: Limits, passport: Passport
    ) -> World:
        assert address == "tcp://broker:47291"
        self.arrived = arrived
        self.identities.append(identity)
        return self

    def send(self, parts: Sequence[bytes]) -> bool:
        """As a socket."""
        if self.failure is not None:
            raise self.failure
        self.sent.append(decode(parts, DEFAULT_LIMITS))
        return True

    def close(self) -> Deferred[None]:
        """As a socket."""
        return succeed(None)

    def hear(self, command: Command) -> None:
        """From the broker."""
        self.arrived(encode(command))

    def accepted(self, **options: Any) -> tuple[SubmittedJob, bytes]:
        """A job that the broker has, and its id."""
        waiting = self.client.submit(emqp_jobs.add, (1,), **options)
        message_id = self.sent[-1].message_id
        self.hear(Ack(b"a", message_id))
        return result_of(waiting), message_id


def result_of(deferred: Deferred[Any]) -> Any:
    """What it has fired with."""
    results: list[Any] = []
    deferred.addBoth(results.append)
    assert results, "it has not fired"
    if isinstance(results[0], Failure):
        results[0].raiseException()
    return results[0]


@pytest.fixture(autouse=True)
def unbound() -> Iterator[None]:
    """Other tests bind too."""
    yield
    job_functions.bind(None)


@pytest.mark.parametrize("word", [lambda id: Ack(b"a", id), lambda id: Reply(b"a", id)])
def test_a_job_is_handed_in_once_the_broker_says_so(word: Callable[[bytes], Command]) -> None:
    """Ours says ACK, EventMQ's REPLY."""
    world = World()
    waiting = world.client.submit(emqp_jobs.add, (1,), queue="email")
    (request,) = world.sent
    assert isinstance(request, Request)
    assert request.queue == b"email"
    assert not waiting.called
    world.hear(word(request.message_id))
    assert result_of(waiting).id == request.message_id.decode()


def test_the_result_is_for_everybody_who_asks() -> None:
    """Before and after it has come."""
    world = World()
    job, message_id = world.accepted()
    before = [job.result(), job.result(9.0)]
    world.hear(Reply(b"r", b'{"value": 3}', message_id))
    assert [result_of(each) for each in (*before, job.result())] == [3, 3, 3]
    assert world.clock.getDelayedCalls() == []


def test_a_failure_is_raised_with_its_class() -> None:
    """That of the worker's exception, or the broker's own."""
    world = World()
    job, message_id = world.accepted()
    waiting = job.result()
    world.hear(Reply(b"r", b'{"value": "no", "error": "ValueError"}', message_id))
    with pytest.raises(JobFailed, match="ValueError: no") as failed:
        result_of(waiting)
    assert failed.value.kind == "ValueError"


def test_a_refusal_is_a_failure_of_handing_in() -> None:
    """The broker has said so instead of accepting it."""
    world = World()
    waiting = world.client.submit(emqp_jobs.add)
    world.hear(Reply(b"r", b'{"value": "full", "error": "Refused"}', world.sent[0].message_id))
    with pytest.raises(JobFailed, match="Refused: full"):
        result_of(waiting)


def test_a_result_without_an_acceptance_is_both() -> None:
    """A socket that takes one answer has it so; nobody waits for the other."""
    world = World()
    waiting = world.client.submit(emqp_jobs.add)
    world.hear(Reply(b"r", b'{"value": 3}', world.sent[0].message_id))
    assert result_of(result_of(waiting).result()) == 3


def test_without_a_word_in_time_handing_in_has_failed() -> None:
    """It may still be done: the text says so, and whoever asks again may have it twice."""
    world = World()
    waiting = world.client.submit(emqp_jobs.add)
    world.clock.advance(5.0)
    with pytest.raises(CallFailed, match="may still be done") as failed:
        result_of(waiting)
    assert failed.value.reason == "expired"
    world.hear(Ack(b"a", world.sent[0].message_id))
    assert world.client.invalid == 1


def test_without_a_result_in_time_waiting_has_failed_and_no_more() -> None:
    """Who waits longer still gets it."""
    world = World()
    job, message_id = world.accepted()
    short, long = job.result(1.0), job.result(9.0)
    world.clock.advance(1.0)
    with pytest.raises(CallFailed):
        result_of(short)
    world.hear(Reply(b"r", b'{"value": 3}', message_id))
    assert result_of(long) == 3


def test_call_hands_in_and_waits() -> None:
    """With a deadline for the result."""
    world = World()
    waiting = Deferred.fromCoroutine(world.client.call(emqp_jobs.send, ("x",), deadline=7.0))
    request = world.sent[0]
    assert request.headers.startswith(b"reply-requested")
    world.hear(Ack(b"a", request.message_id))
    world.hear(Reply(b"r", b'{"value": true}', request.message_id))
    assert result_of(waiting) is True


def test_progress_is_told_if_it_was_asked_for() -> None:
    """An application's mistake in it does no harm."""
    world = World()
    told: list[HowFar] = []

    def progressed(how_far: HowFar) -> None:
        told.append(how_far)
        raise ValueError("the application's mistake")

    job, message_id = world.accepted(progressed=progressed)
    assert b"progress" in world.sent[0].headers
    world.hear(Progress(b"p", b'{"fraction": 0.5, "note": "half"}', message_id))
    world.hear(Reply(b"r", b'{"value": 3}', message_id))
    assert told == [HowFar(0.5, "half")]
    assert result_of(job.result()) == 3


def test_a_job_without_a_reply_has_no_result_to_wait_for() -> None:
    """Whoever waits for it is told at once."""
    job, _ = World().accepted(reply=False)
    with pytest.raises(LocalError):
        job.result()


def test_delay_goes_through_the_client_that_jobs_are_bound_to() -> None:
    """With the arguments of the function."""
    world = World()
    world.client.bind()
    waiting = emqp_jobs.add.delay(1, second=2)
    world.hear(Ack(b"a", world.sent[0].message_id))
    assert isinstance(result_of(waiting), SubmittedJob)


def test_a_schedule_is_confirmed_by_brokers_that_do() -> None:
    """EventMQ's says nothing."""
    world = World()
    waiting = world.client.schedule(emqp_jobs.add, (1,), every=5, queue="email")
    (command,) = world.sent
    assert isinstance(command, Schedule)
    assert command.queue == b"email"
    assert not waiting.called
    world.hear(Ack(b"a", command.message_id))
    assert result_of(waiting) is None
    assert world.client.schedule(emqp_jobs.add, (1,), cron="* * * * *", confirm=False).called
    world.client.unschedule(emqp_jobs.add, (1,))
    world.client.publish("a.b", b"x")
    assert [type(each) for each in world.sent[-2:]] == [Unschedule, Publish]


def test_stopping_tells_everybody_who_waits() -> None:
    """Each once; started again it is another."""
    world = World()
    unanswered = world.client.submit(emqp_jobs.add)
    job, _ = world.accepted()
    waiting = job.result()
    world.client.stopService()
    for each in (unanswered, waiting, job.result()):
        with pytest.raises(Detached):
            result_of(each)
    with pytest.raises(Detached):
        world.client.submit(emqp_jobs.add)
    world.client.startService()
    assert len(set(world.identities)) == 2
    world.accepted()
    assert world.clock.getDelayedCalls() == []


def test_too_much_without_an_answer_is_refused() -> None:
    """And what could not be sent is not waited for."""
    world = World(calls_per_peer=1)
    first, _ = world.accepted()
    with pytest.raises(Overloaded):
        world.client.submit(emqp_jobs.add)
    del first
    world = World(calls_per_peer=1)
    world.failure = Overloaded("no room")
    for _ in range(2):
        with pytest.raises(Overloaded, match="no room"):
            world.client.submit(emqp_jobs.add)


def test_a_wait_that_is_cancelled_disturbs_nobody_else() -> None:
    """The job goes on."""
    world = World()
    job, message_id = world.accepted()
    cancelled, other = job.result(), job.result()
    cancelled.addErrback(lambda _: None)
    cancelled.cancel()
    world.hear(Reply(b"r", b'{"value": 3}', message_id))
    assert result_of(other) == 3


def test_an_address_that_is_none_is_refused() -> None:
    """At once."""
    with pytest.raises(LocalError):
        EMQPClient("fmqp://here", Clock())
