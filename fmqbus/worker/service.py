"""A worker: a pool of processes, and a conversation with a broker about what they are to run.

A service. Its life: the processes start, the broker is informed, jobs come as processes become free. Stopped, it says
goodbye at once, runs what the broker had sent before it knew, waits for what runs, within bounds, tells how it ended,
and is gone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import attrs
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall, deferLater
from twisted.logger import Logger
from twisted.python.failure import Failure

from fmqbus.errors import BusError, ConfigError
from fmqbus.job_functions import Name
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.notices import Notices
from fmqbus.protocols.emqp.addresses import BACKEND_PORT, DEFAULT_WORKER_ADDRESS, destination
from fmqbus.protocols.emqp.identities import new_id
from fmqbus.protocols.emqp.queue_lists import DEFAULT_QUEUE, DEFAULT_WEIGHT, Weighted
from fmqbus.protocols.emqp.results import HowFar
from fmqbus.transports.zeromq.dealer import Dealer
from fmqbus.transports.zeromq.passport import NO_PASSPORT, Passport
from fmqbus.waiting import Waiters
from fmqbus.worker.conversation import Accepted, Assigned, Conversation, Dismissed, Event, Ignored, Restarted
from fmqbus.worker.messages import Progress, Run
from fmqbus.worker.outcome import Ending, Outcome
from fmqbus.worker.pool import Pool
from fmqbus.worker.reports import report
from fmqbus.worker.served_queues import parse_served
from fmqbus.worker.settings import PoolSettings

_log = Logger()

#: Beats are three seconds apart; a third of that is late by little.
_TICK_SECONDS = 1.0
#: After our goodbye, what the broker had sent before it read that is still taken for so long.
_CROSSING_SECONDS = 0.5


@attrs.frozen(kw_only=True)
class WorkerSettings:
    """Where the work comes from, and who does it."""

    #: As ZeroMQ writes it.
    address: str = DEFAULT_WORKER_ADDRESS
    queues: Sequence[Weighted] = (Weighted(DEFAULT_WEIGHT, DEFAULT_QUEUE),)
    pool: PoolSettings = attrs.field(factory=PoolSettings)
    limits: Limits = DEFAULT_LIMITS
    #: What to show the broker.
    passport: Passport = NO_PASSPORT

    @classmethod
    def told(
        cls, *, broker: str, queues: str, modules: Sequence[str], allowed: Sequence[str], **pool: Any
    ) -> WorkerSettings:
        """As a command line says it, and the environment; `pool` is what else `PoolSettings` has. Raises `BusError` for
        what could never work."""
        if not modules and not allowed:
            raise ConfigError("nothing to run: give --app or --allow")
        for name in allowed:
            Name.parse(name)
        there = destination(broker, BACKEND_PORT)
        return cls(
            address=there.address,
            passport=there.passport(os.environ),
            queues=parse_served(queues),
            pool=PoolSettings(modules=modules, allowed=allowed, **pool),
        )


class ISocket(Protocol):
    """What of `Dealer` is used."""

    def send(self, parts: Sequence[bytes]) -> bool:
        """Send a message. Raises `BusError`."""

    def close(self) -> Deferred[None]:
        """Fires when what was sent has left, or has had its time."""


class IPool(Protocol):
    """What of `Pool` is used."""

    @property
    def free(self) -> int:
        """How many jobs can be given now."""

    def run(self, run: Run, timeout: float | None, progressed: Callable[[Progress], None]) -> Deferred[Outcome]:
        """Run one."""

    def startService(self) -> None:
        """Start the processes."""

    def stopService(self) -> Deferred[None]:
        """Wait for what runs."""


class WorkerService(Service):
    """See above. The parts can be replaced for tests."""

    def __init__(
        self,
        reactor: Any,
        settings: WorkerSettings,
        connect: Callable[..., ISocket] = Dealer,
        make_pool: Callable[[Any, PoolSettings, Callable[[], None]], IPool] = Pool,
    ) -> None:
        self._reactor = reactor
        self._settings = settings
        self._connect = connect
        self._pool = make_pool(reactor, settings.pool, self._places_changed)
        self._conversation = self._new_conversation()
        self._socket: ISocket | None = None
        self._ticks = LoopingCall(self._tick)
        self._ticks.clock = reactor
        self._dismissals = Waiters()
        self._notices = Notices(reactor)

    def when_dismissed(self) -> Deferred[None]:
        """Fires when the broker tells the worker to stop; whoever runs it then stops the service. (eMQP, DISCONNECT)"""
        return self._dismissals.wait()

    # the service

    def startService(self) -> None:
        """Start the processes, and inform the broker. Raises `zmq.ZMQError` for an address that is none."""
        super().startService()
        self._conversation = self._new_conversation()
        self._open_socket()
        self._pool.startService()
        self._conversation.begin(self._reactor.seconds())
        self._ticks.start(_TICK_SECONDS, now=False)
        self._after(())

    async def _stop(self) -> None:
        self._conversation.leave(self._reactor.seconds())
        self._after(())
        await deferLater(self._reactor, _CROSSING_SECONDS)
        await self._pool.stopService()
        self._conversation.give_up(self._reactor.seconds())
        self._after(())
        if self._ticks.running:
            self._ticks.stop()
        if self._socket is not None:
            closing, self._socket = self._socket.close(), None
            await closing

    def stopService(self) -> Deferred[None]:
        """Say goodbye, and fire when all has ended: what runs has `PoolSettings.grace_seconds`."""
        super().stopService()
        seconds = self._settings.pool.grace_seconds
        _log.info("says goodbye; what runs may go on for {seconds:g} s", seconds=seconds)
        return Deferred.fromCoroutine(self._stop())

    # what happens

    def _places_changed(self) -> None:
        self._after(self._conversation.places_changed())

    def _arrived(self, socket: Callable[[], ISocket | None], parts: Sequence[bytes]) -> None:
        """Under an identity that was given up, nothing is heard."""
        if self._socket is not None and socket() is self._socket:
            self._after(self._conversation.heard(parts, self._reactor.seconds()))

    def _tick(self) -> None:
        self._after(self._conversation.tick(self._reactor.seconds()))

    def _after(self, events: Sequence[Event]) -> None:
        """Act, then send: a restart changes where it is sent."""
        for event in events:
            match event:
                case Assigned():
                    self._run(event)
                case Accepted():
                    names = ", ".join(f"{queue.decode()} ({weight})" for weight, queue in self._settings.queues)
                    _log.info("works for {address} on {queues}", address=self._settings.address, queues=names)
                case Restarted(why):
                    if count := self._notices.due("restarted"):
                        _log.warn("informs the broker anew: {why} ({count} times)", why=why, count=count)
                    self._open_socket()
                case Dismissed():
                    _log.info("the broker tells us to stop")
                    self._dismissals.fire()
                case Ignored(why):
                    if count := self._notices.due("ignored"):
                        _log.warn("ignores what the broker sends: {why} ({count} of such)", why=why, count=count)
        self._send()

    def _run(self, assigned: Assigned) -> None:
        job = assigned.job
        run = Run(job.path, job.callable, job.args, dict(job.kwargs), job.class_args, dict(job.class_kwargs))
        begun = self._reactor.seconds()
        told = partial(self._progressed, assigned)
        outcome = self._pool.run(run, assigned.timeout, told)
        outcome.addCallback(partial(self._ended, assigned, begun))
        outcome.addErrback(self._not_told)

    def _progressed(self, assigned: Assigned, progress: Progress) -> None:
        how_far = HowFar(progress.fraction, progress.note)
        self._conversation.progressed(assigned.ticket, how_far, self._reactor.seconds())
        self._send()

    def _ended(self, assigned: Assigned, begun: float, outcome: Outcome) -> None:
        now = self._reactor.seconds()
        _log_end(assigned, now - begun, outcome)
        self._conversation.ended(assigned.ticket, report(outcome), now)
        self._send()

    def _not_told(self, reason: Failure) -> None:
        _log.failure("the end of a job could not be told", failure=reason)

    # the socket

    def _open_socket(self) -> None:
        if self._socket is not None:
            self._socket.close()
        opened: list[ISocket] = []
        arrived = partial(self._arrived, lambda: opened[0] if opened else None)
        settings = self._settings
        socket = self._connect(
            self._reactor, settings.address, new_id(), arrived, settings.limits, passport=settings.passport
        )
        opened.append(socket)
        self._socket = socket

    def _send(self) -> None:
        for parts in self._conversation.take_messages():
            try:
                if self._socket is not None:
                    self._socket.send(parts)
            except BusError as error:
                if count := self._notices.due("unsent"):
                    _log.error("cannot send to the broker: {error} ({count} of such)", error=str(error), count=count)

    def _new_conversation(self) -> Conversation:
        return Conversation(self._settings.queues, self._settings.limits, lambda: self._pool.free)


def _log_end(assigned: Assigned, seconds: float, outcome: Outcome) -> None:
    said = {
        "job": assigned.job.name,
        "id": assigned.request_id.decode(),
        "attempt": f" (attempt {assigned.attempt})" if assigned.attempt else "",
        "seconds": f"{seconds:.3f}",
    }
    if outcome.ending is Ending.DONE:
        _log.debug("{job}{attempt} done in {seconds} s, {id}", **said)
    else:
        _log.warn(
            "{job}{attempt} failed after {seconds} s, {id}: {kind}: {text}{trace}",
            kind=outcome.kind,
            text=outcome.text,
            trace=f"\n{outcome.traceback}" if outcome.traceback else "",
            **said,
        )
