"""What does the service make of the conversation: which socket, which process, which end? Sockets and processes are
played."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from twisted.logger import globalLogPublisher

from fmqbus.errors import Detached
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.emqp.codec import decode, encode
from fmqbus.protocols.emqp.commands import (
    Ack,
    Command,
    Disconnect,
    Goodbye,
    Heartbeat,
    Inform,
    Ready,
    Reply,
    Request,
    SpecifiedGoodbye,
)
from fmqbus.protocols.emqp.commands import Progress as ProgressCommand
from fmqbus.protocols.emqp.jobs import Job, write_job
from fmqbus.protocols.emqp.presence import SILENCE_SECONDS
from fmqbus.worker.messages import Progress, Run
from fmqbus.worker.outcome import Ending, Outcome
from fmqbus.worker.service import WorkerService, WorkerSettings
from fmqbus.worker.settings import PoolSettings
from fmqbus.worker.twistd import EndingWorker

RUN = write_job(Job("my.jobs", "add", [1, 2], {"x": 3}))


class FakeSocket:
    """One that remembers."""

    def __init__(self, identity: bytes, arrived: Callable[[Sequence[bytes]], None]) -> None:
        self.identity = identity
        self.arrived = arrived
        self.sent: list[Command] = []
        self.is_closed = False
        self.failure: Exception | None = None

    def send(self, parts: Sequence[bytes]) -> bool:
        """Keep it."""
        if self.failure is not None:
            raise self.failure
        self.sent.append(decode(parts, DEFAULT_LIMITS))
        return True

    def close(self) -> Deferred[None]:
        """At once."""
        self.is_closed = True
        return succeed(None)

    def kinds(self) -> list[type[Command]]:
        """What was sent since the last time."""
        kinds = [type(command) for command in self.sent]
        self.sent.clear()
        return kinds


class FakePool:
    """One whose jobs end when the test says so."""

    def __init__(self, ready: Callable[[], None]) -> None:
        self._ready = ready
        self.free = 0
        self.runs: list[tuple[Run, float | None, Callable[[Progress], None], Deferred[Outcome]]] = []
        self.stopped: Deferred[None] | None = None

    def run(self, run: Run, timeout: float | None, progressed: Callable[[Progress], None]) -> Deferred[Outcome]:
        """Take a place."""
        assert self.free > 0
        self.free -= 1
        outcome: Deferred[Outcome] = Deferred()
        self.runs.append((run, timeout, progressed, outcome))
        return outcome

    def startService(self) -> None:
        """No process is there yet."""

    def stopService(self) -> Deferred[None]:
        """Until the test says so."""
        self.free, self.stopped = 0, Deferred()
        return self.stopped

    def become_free(self, count: int = 1) -> None:
        """So many more."""
        for _ in range(count):
            self.free += 1
            self._ready()


class Reactor(Clock):
    """A clock that can be stopped."""

    is_stopped = False

    def stop(self) -> None:
        """The process would end."""
        self.is_stopped = True


class World:
    """A worker among fakes."""

    def __init__(self, make: type[WorkerService] = WorkerService) -> None:
        self.clock = Reactor()
        self.sockets: list[FakeSocket] = []
        self.pool: FakePool
        settings = WorkerSettings(address="tcp://nowhere:1", pool=PoolSettings(modules=["my.jobs"]))
        self.worker = make(self.clock, settings, self._connect, self._make_pool)
        self.worker.startService()

    def _connect(
        self, reactor: Any, address: str, identity: bytes, arrived: Any, limits: Any, passport: Any
    ) -> FakeSocket:
        assert address == "tcp://nowhere:1"
        self.sockets.append(FakeSocket(identity, arrived))
        return self.sockets[-1]

    def _make_pool(self, reactor: Any, settings: PoolSettings, ready: Callable[[], None]) -> FakePool:
        self.pool = FakePool(ready)
        return self.pool

    @property
    def socket(self) -> FakeSocket:
        """The current one."""
        return self.sockets[-1]

    def hear(self, command: Command) -> None:
        """From the broker."""
        self.socket.arrived(encode(command))

    def serve(self, free: int = 1, *, is_ours: bool = False) -> World:
        """With so many processes; what was said on the way is gone."""
        self.hear(Ack(b"a", b"1", is_ours))
        self.pool.become_free(free)
        self.socket.kinds()
        return self


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """The formats of what was logged."""
    seen: list[str] = []

    def observe(event: Any) -> None:
        seen.append(event["log_format"] or "")

    globalLogPublisher.addObserver(observe)
    yield seen
    globalLogPublisher.removeObserver(observe)


def test_it_informs_at_once_and_is_ready_when_its_processes_are() -> None:
    """A process that cannot load the application never is."""
    world = World()
    assert world.socket.kinds() == [Inform]
    world.hear(Ack(b"a", b"1"))
    assert world.socket.kinds() == []
    world.pool.become_free(2)
    assert world.socket.kinds() == [Ready, Ready]


@pytest.mark.parametrize(
    ("outcome", "body"),
    [
        (Outcome(Ending.DONE, b'{"a": 1}'), b'{"value": {"a": 1}}'),
        (Outcome(Ending.DONE, b"null"), b'{"value": true}'),
        (Outcome(Ending.RAISED, text="no", kind="ValueError"), b'{"value": "no", "error": "ValueError"}'),
        (
            Outcome(Ending.TIMED_OUT, text="too long", kind="TimeoutError"),
            b'{"value": "TimeoutError", "error": "TimeoutError"}',
        ),
        (Outcome(Ending.GIVEN_UP, text="late"), b'{"value": "late", "error": "WorkerLost"}'),
        (Outcome(Ending.DIED, text="gone", kind="ProcessDied"), b'{"value": "gone", "error": "ProcessDied"}'),
    ],
)
def test_each_outcome_is_reported_and_then_the_next_place(outcome: Outcome, body: bytes) -> None:
    """In EventMQ's form, with the class of a failure beside it. (eMQP, Headers; reading 13)"""
    world = World().serve()
    world.hear(Request(b"r", b"default", b"reply-requested,timeout:4", RUN))
    ((run, timeout, _, end),) = world.pool.runs
    assert (run.path, run.callable, run.args, run.kwargs, timeout) == ("my.jobs", "add", [1, 2], {"x": 3}, 4)
    end.callback(outcome)
    world.pool.become_free()
    reply, ready = world.socket.sent
    assert isinstance(reply, Reply)
    assert isinstance(ready, Ready)
    assert (reply.body, reply.request) == (body, b"r")


def test_progress_goes_to_a_broker_of_ours() -> None:
    """While the job runs."""
    world = World().serve(is_ours=True)
    world.hear(Request(b"r", b"default", b"", RUN))
    world.pool.runs[0][2](Progress(0.5, "half"))
    assert world.socket.kinds() == [ProgressCommand]


def test_a_silent_broker_is_informed_anew_under_another_identity() -> None:
    """And what still comes to the old one is not heard; a job that runs is reported to the new one.
    (eMQP, Heartbeating)"""
    world = World().serve()
    world.hear(Request(b"r", b"default", b"reply-requested", RUN))
    old = world.socket
    world.clock.pump([1.0] * int(SILENCE_SECONDS))
    assert old.is_closed
    assert len(world.sockets) == 2
    assert world.socket.identity != old.identity
    assert world.socket.kinds() == [Inform]
    old.arrived(encode(Ack(b"a", b"1")))
    assert world.socket.kinds() == []
    world.hear(Ack(b"a", b"1"))
    world.pool.runs[0][3].callback(Outcome(Ending.DONE, b"3"))
    assert world.socket.kinds() == [Reply]


def test_stopped_it_says_goodbye_and_still_reports_what_runs() -> None:
    """And runs what the broker had sent before it knew. (eMQP, DISCONNECT and KBAI)"""
    world = World().serve(free=2)
    world.hear(Request(b"1", b"default", b"reply-requested", RUN))
    stopped = world.worker.stopService()
    assert world.socket.kinds() == [Goodbye, SpecifiedGoodbye]
    world.hear(Request(b"2", b"default", b"reply-requested", RUN))
    assert len(world.pool.runs) == 2
    world.clock.advance(1.0)
    assert world.pool.stopped is not None
    world.hear(Request(b"3", b"default", b"reply-requested", RUN))
    for _, _, _, end in world.pool.runs:
        end.callback(Outcome(Ending.DONE, b"3"))
    assert [command.request for command in world.socket.sent if isinstance(command, Reply)] == [b"1", b"2"]
    assert not stopped.called
    world.pool.stopped.callback(None)
    assert stopped.called
    assert world.socket.is_closed
    assert world.clock.getDelayedCalls() == []


def test_a_broker_can_tell_it_to_stop() -> None:
    """Whoever runs it then stops it. (eMQP, DISCONNECT and KBAI; reading 65)"""
    world = World().serve()
    dismissed = world.worker.when_dismissed()
    world.hear(Disconnect(b"d"))
    assert dismissed.called
    assert world.socket.kinds() == [Goodbye, SpecifiedGoodbye]


def test_twistd_ends_when_a_broker_says_so() -> None:
    """It has nothing else to do."""
    world = World(EndingWorker).serve()
    world.hear(Heartbeat(b"h"))
    assert not world.clock.is_stopped
    world.hear(Disconnect(b"d"))
    assert world.clock.is_stopped


def test_what_cannot_be_sent_or_understood_is_logged_and_no_more(logged: list[str]) -> None:
    """Once a minute of each kind."""
    world = World().serve()
    for _ in range(10):
        world.socket.arrived([b"nonsense"])
    assert sum("ignores what the broker sends" in line for line in logged) == 1
    world.socket.failure = Detached("closed")
    world.hear(Heartbeat(b"h"))
    world.clock.pump([1.0] * 3)
    assert sum("cannot send to the broker" in line for line in logged) == 1


def test_it_can_be_started_again() -> None:
    """As another."""
    world = World().serve()
    world.worker.stopService()
    world.clock.advance(1.0)
    assert world.pool.stopped is not None
    world.pool.stopped.callback(None)
    world.worker.startService()
    assert world.socket.kinds() == [Inform]
    assert len({socket.identity for socket in world.sockets}) == 2
