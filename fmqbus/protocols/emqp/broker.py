"""EventMQ's broker: what is done about each command, whoever says it. (eMQP, Architecture)

It does not matter at which of the sockets something is said, but for one thing: only at a socket for administration
alone can the broker be told to end. A peer is what it INFORMs that it is. Whoever has not INFORMed this run of the
broker hears nothing that it has not asked for: only by silence does a worker learn that it has to INFORM again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import time
from typing import Any

import msgspec
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from fmqbus import names
from fmqbus.errors import BusError, PeerError, Refused
from fmqbus.interfaces import IPartsSocket, IRouter, ISession
from fmqbus.model import Action, Message, Origin, PeerFacts, Principal
from fmqbus.notices import Notices, goes_on
from fmqbus.protocols.emqp import commands
from fmqbus.protocols.emqp.administration import SHOW_SCHEDULERS, SHOW_WORKERS, Administration
from fmqbus.protocols.emqp.answers import Answers
from fmqbus.protocols.emqp.figures import METRICS
from fmqbus.protocols.emqp.hands import Hands
from fmqbus.protocols.emqp.job_methods import JobMethods
from fmqbus.protocols.emqp.peers import PROTOCOL, Callers
from fmqbus.protocols.emqp.presence import Peer, Presence
from fmqbus.protocols.emqp.queue_lists import parse_queues
from fmqbus.protocols.emqp.requests import Requests
from fmqbus.protocols.emqp.results import parse_how_far
from fmqbus.protocols.emqp.schedulers import Schedulers
from fmqbus.protocols.emqp.scheduling import ANY_QUEUE, Scheduling
from fmqbus.protocols.emqp.settings import EMQPSettings, Unknown
from fmqbus.protocols.emqp.subscribers import Subscribers
from fmqbus.protocols.emqp.wire import Wire
from fmqbus.protocols.emqp.worker import WorkerSession
from fmqbus.protocols.emqp.workers import Workers
from fmqbus.waiting import first_of

#: The service topic at which DISCONNECT from administration ends the bus, for those who may control it.
DISCONNECT_TOPIC = b"$/signals/disconnect"

#: Names of queues that workers have served, and that are known though they are empty.
_KNOWN_QUEUES = 10_000
_SWEEP_SECONDS = 1.0
#: A header of PUBLISH; ours.
_RETAIN = b"retain"

_log = Logger()


class Sender(msgspec.Struct, frozen=True, gc=False):
    """Who says something, and where."""

    peer: Peer
    origin: Origin
    #: The socket is for administration alone.
    is_administration: bool = False

    @property
    def principal(self) -> Principal:
        """Who it acts as."""
        return Principal(PROTOCOL, self.origin.facts)


class Broker:
    """All that happens at one place."""

    def __init__(
        self,
        router: IRouter,
        wire: Wire,
        settings: EMQPSettings,
        facts: PeerFacts,
        pubout: IPartsSocket | None,
    ) -> None:
        """`facts` are those of the place where the sockets listen, as of one who is there. Subscribers come to
        `pubout`."""
        limits = router.limits
        self._router = router
        self._wire = wire
        self._settings = settings
        self._notices = Notices(router.clock)
        self._presence = Presence(settings.heartbeat, settings.silence)
        self._workers: Workers[WorkerSession] = Workers(limits, self._presence)
        self._scheduler_presence = Presence(settings.heartbeat, settings.silence)
        self._schedulers = Schedulers(limits, self._scheduler_presence)
        self._callers = Callers(router)
        answers = Answers(wire, settings.keep_results, limits.calls_per_peer, limits.outbox_octets)
        self.hands = Hands(router, wire, answers, settings, self.flush, self.lost)
        self.own = JobMethods(router, facts, self.hands.soon)
        self.hands.call_ended = self.own.ended
        self._requests = Requests(wire, settings.submitted, self._is_known, self.refused)
        self._scheduling = Scheduling(router, wire, self._schedulers, self.refused)
        self._administration = Administration(
            router, self._workers, self._schedulers, self._presence, self.hands, time() - router.clock.seconds()
        )
        self.subscribers = None if pubout is None else Subscribers(router, facts, pubout)
        self._known: dict[bytes, None] = {}
        #: Workers that hear of their own jobs' ends only when they hear something.
        self._sleepers: set[Peer] = set()
        self._is_stopping = False
        self._sweeping = self._loop(self._sweep)
        self._nudging = self._loop(self._nudge)
        router.vitals.add_figures(
            METRICS, lambda: self.hands.figures.readings(len(self.hands), len(self._workers), len(self._schedulers))
        )

    def _loop(self, act: Callable[[], None]) -> LoopingCall:
        loop = LoopingCall(goes_on(act, "a round of eMQP's peers"))
        loop.clock = self._router.clock
        return loop

    def start(self) -> None:
        """The bus is ready."""
        self._start(self._sweeping, _SWEEP_SECONDS)

    def _start(self, loop: LoopingCall, seconds: float) -> None:
        running: Deferred[LoopingCall] = loop.start(seconds, now=False)
        running.addErrback(lambda failure: _log.failure("eMQP's broker stands still", failure))

    # what comes

    def heard(self, sender: Sender, command: commands.Command) -> None:
        """A peer says something."""
        worker = self._workers.find(sender.peer)
        if worker is not None and isinstance(command, _OF_WORKERS) and not worker.facts.proves_as(sender.origin.facts):
            self.refused(Refused("a worker's identity, from one that is not who informed", "impostor"))
            return
        now = self.hands.now()
        if self._workers.heard(sender.peer, now) is None:
            self._schedulers.heard(sender.peer, now)
        if not isinstance(command, _REPORTS):
            self._wire.back(sender.peer)
        try:
            _HEARD[type(command)](self, sender, command)
        except BusError as error:
            self.refused(error)

    def refused(self, error: BusError) -> None:
        """Something that was said is not done."""
        self.own.bus.count_refused(error.reason)
        if count := self._notices.due(error.reason):
            _log.info("refused: {error} ({reason}, {count} by now)", error=error, reason=error.reason, count=count)

    def flush(self) -> None:
        """The turn is over: say and hand out what has gathered."""
        self._wire.flush()
        self.own.bus.flush()
        if self._sleepers and len(self.hands) and not self._nudging.running:
            self._start(self._nudging, self._settings.nudge)

    def link_clear(self, peer: Peer) -> None:
        """Nothing waits for this peer any more."""
        if (worker := self._workers.find(peer)) is not None:
            worker.link_clear()

    # clients and publishers

    def _request(self, sender: Sender, request: commands.Request) -> None:
        if self._is_stopping:
            self._requests.refuse(sender.peer, request, Refused("the broker ends", "ending"))
            return
        bus = self._callers.session_of(sender.origin.facts, self.hands.now())
        self._requests.request(bus, sender.peer, request, sender.origin.socket_type == "REQ")

    def _publish(self, sender: Sender, publish: commands.Publish) -> None:
        bus = self._bus_for(sender)
        is_retained = publish.headers is not None and _RETAIN in [word.strip() for word in publish.headers.split(b",")]
        bus.publish(Message(names.parse(publish.topic), publish.body, retain=is_retained))

    def _schedule(self, sender: Sender, schedule: commands.Schedule) -> None:
        bus = self._bus_for(sender)
        self._scheduling.schedule(bus, sender.peer, schedule)

    def _unschedule(self, sender: Sender, unschedule: commands.Unschedule) -> None:
        bus = self._bus_for(sender)
        self._scheduling.unschedule(bus, sender.peer, unschedule)

    def _bus_for(self, sender: Sender) -> ISession:
        """Raises `Refused` when the broker ends. (eMQP, DISCONNECT and KBAI)"""
        if self._is_stopping:
            raise Refused("the broker ends", "ending")
        return self._callers.session_of(sender.origin.facts, self.hands.now())

    def _is_known(self, queue: bytes) -> bool:
        return (
            self._workers.serves(queue)
            or queue in self._known
            or self._settings.unknown_queue is Unknown.KEEP
            or self._router.queue(queue) is not None
        )

    # workers and schedulers

    def _inform(self, sender: Sender, inform: commands.Inform) -> None:
        if self._is_stopping:
            raise Refused("the broker ends", "ending")
        if inform.role is commands.Role.WORKER:
            self._worker_informs(sender, inform)
        else:
            self._scheduler_informs(sender)
        self._wire.tell(sender.peer, commands.Ack(self._wire.make_id(), inform.message_id, is_ours=True))
        # EventMQ's workers start their processes at the first HEARTBEAT
        self._beat()

    def _worker_informs(self, sender: Sender, inform: commands.Inform) -> None:
        queues = parse_queues(inform.queues)
        self._leave(sender.peer, has_said_so=False)
        self._workers.demand_room(len(queues))
        self._workers.informed(WorkerSession(self.hands, sender.peer, sender.origin.facts, queues), self.hands.now())
        for _, queue in queues:
            if len(self._known) < _KNOWN_QUEUES:
                self._known[queue] = None
        self.own.serve(queue for _, queue in queues)
        if self._settings.nudge:
            self._sleepers.add(sender.peer)

    def _scheduler_informs(self, sender: Sender) -> None:
        if not self._router.authorize(sender.principal, Action.SCHEDULE, ANY_QUEUE):
            raise Refused("it may not schedule for others")
        self._schedulers.informed(sender.peer, self.hands.now())

    def _ready(self, sender: Sender, ready: commands.Ready) -> None:
        worker = self._workers.find(sender.peer)
        if worker is None:
            raise PeerError("READY from one that has not INFORMed", "not-informed")
        if ready.is_ours:
            self._sleepers.discard(sender.peer)
        if not worker.ready():
            raise PeerError("too many READYs", "ready")

    def _reply(self, sender: Sender, reply: commands.Reply) -> None:
        if not self.hands.replied(sender.peer, sender.origin.facts, reply, sender.peer in self._workers):
            raise PeerError("REPLY to what nobody waits for", "reply")

    def _progress(self, sender: Sender, progress: commands.Progress) -> None:
        parse_how_far(progress.body)
        if not self.hands.progressed(sender.peer, sender.origin.facts, progress):
            raise PeerError("PROGRESS of a job that it does not have", "progress")

    def _disconnect(self, sender: Sender, disconnect: commands.Disconnect) -> None:
        """From administration, that the broker is to end; else that its sender does."""
        if not sender.is_administration:
            self._go(sender.peer, is_answered=True)
            return
        bus = self._callers.session_of(sender.origin.facts, self.hands.now())
        bus.publish(Message(DISCONNECT_TOPIC, sender.peer[1]))
        self._wire.tell(sender.peer, commands.Ack(self._wire.make_id(), disconnect.message_id))

    def _goodbye(self, sender: Sender, _: commands.Command) -> None:
        self._go(sender.peer, is_answered=False)

    def _go(self, peer: Peer, is_answered: bool) -> None:
        self._leave(peer, has_said_so=True)
        self.hands.not_sent(peer, self._wire.gone(peer, is_answered))

    def _leave(self, peer: Peer, has_said_so: bool) -> None:
        worker = self._workers.left(peer)
        self._sleepers.discard(peer)
        if worker is not None:
            self.hands.left(worker, has_said_so)
        self._schedulers.left(peer)

    def lost(self, peer: Peer, unsent: Sequence[bytes] = ()) -> None:
        """ZeroMQ does not find a peer any more, and the REQUESTs with these ids have not left."""
        self._leave(peer, has_said_so=False)
        self.hands.not_sent(peer, unsent)

    # administration

    def _status(self, sender: Sender, status: commands.Status) -> None:
        self._tell(sender, status, status.what)

    def _show_workers(self, sender: Sender, show: commands.ShowWorkers) -> None:
        self._tell(sender, show, SHOW_WORKERS)

    def _show_schedulers(self, sender: Sender, show: commands.ShowSchedulers) -> None:
        self._tell(sender, show, SHOW_SCHEDULERS)

    def _tell(self, sender: Sender, asked: commands.Command, what: bytes) -> None:
        if not self._router.authorize(sender.principal, Action.MANAGE, DISCONNECT_TOPIC):
            raise Refused("it may not manage")
        body = self._administration.answer(what)
        self._wire.tell(sender.peer, commands.Reply(self._wire.make_id(), body, asked.message_id))

    def _no_matter(self, sender: Sender, command: commands.Command) -> None:
        """That it was heard is all."""

    # time

    def _sweep(self) -> None:
        now = self.hands.now()
        for worker in self._workers.silent(now):
            self._sleepers.discard(worker.peer)
            self.hands.left(worker, has_said_so=False)
        self.own.serve_only(self._workers.served)
        self._schedulers.silent(now)
        self._callers.sweep(now)
        self._beat()
        self.hands.sweep()
        self.flush()

    def _beat(self) -> None:
        now = self.hands.now()
        for presence in (self._presence, self._scheduler_presence):
            for peer in presence.to_beat(now):
                self._wire.beat(peer)

    def _nudge(self) -> None:
        busy = [peer for peer in self.hands.busy() if peer in self._sleepers]
        for peer in busy:
            self._wire.beat(peer)
        if not busy:
            self._nudging.stop()

    # the end

    async def stop(self, seconds: float) -> None:
        """Say goodbye to all, and wait for the jobs that are under way, for so long at most."""
        self._is_stopping = True
        for scheduler in list(self._schedulers):
            self._wire.part(scheduler)
            self._schedulers.left(scheduler)
        for worker in list(self._workers):
            self._wire.part(worker.peer)
            self._leave(worker.peer, has_said_so=True)
        over: Deferred[None] = Deferred()
        timer = self._router.clock.callLater(seconds, over.callback, None)
        await first_of(self.hands.when_empty(), over)
        if timer.active():
            timer.cancel()
        self._wire.flush()
        self.hands.give_up()
        for loop in (self._sweeping, self._nudging):
            if loop.running:
                loop.stop()


#: What may follow a goodbye; nobody who says so wants to hear anything.
_REPORTS = (commands.Ack, commands.Reply, commands.Progress, commands.Heartbeat, commands.Ready)

#: What only the one may say that has INFORMed. An identity proves nothing; a key or a login does.
_OF_WORKERS = (*_REPORTS, commands.Disconnect, commands.Goodbye, commands.SpecifiedGoodbye)

_HEARD: Mapping[type[commands.Command], Callable[[Broker, Sender, Any], None]] = {
    commands.Ack: Broker._no_matter,
    commands.Reply: Broker._reply,
    commands.Heartbeat: Broker._no_matter,
    commands.Disconnect: Broker._disconnect,
    commands.Goodbye: Broker._goodbye,
    commands.SpecifiedGoodbye: Broker._goodbye,
    commands.Request: Broker._request,
    commands.Schedule: Broker._schedule,
    commands.Unschedule: Broker._unschedule,
    commands.Publish: Broker._publish,
    commands.Inform: Broker._inform,
    commands.Ready: Broker._ready,
    commands.Progress: Broker._progress,
    commands.Hello: Broker._no_matter,
    commands.Status: Broker._status,
    commands.ShowWorkers: Broker._show_workers,
    commands.ShowSchedulers: Broker._show_schedulers,
}
