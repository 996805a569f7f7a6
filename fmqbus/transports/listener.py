"""How does one protocol listen at one place, and who is let in?

A listener counts connections and what they hold half-received, and keeps both within the limits. It knows neither
the wire nor the carrier: the protocol makes the factory, the carrier listens.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from twisted.application.service import Service
from twisted.internet.address import IPv4Address, UNIXAddress
from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.internet.interfaces import IListeningPort, IProtocolFactory, IPushProducer
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import Interface, implementer

from fmqbus.errors import ConfigError
from fmqbus.interfaces import IBusProtocol, ICarrier, IConnection, IListener, ILogins, IPartsFactory, IRouter
from fmqbus.limits import Limits
from fmqbus.model import PeerFacts, SocketPlan
from fmqbus.notices import Notices
from fmqbus.transports.facts import host_of
from fmqbus.transports.idle import LOOKS, SilenceSweep
from fmqbus.turns import Turns

#: A full listener under a storm pauses thousands of times a second; it is worth one line a minute.
_FULL_NOTICE_SECONDS = 60.0

#: Twisted's ports accept ever more in one turn while a storm of connections lasts, and nobody else is served meanwhile.
#: So many cost some 5 ms.
ACCEPTED_IN_A_TURN = 20


@implementer(IListener)
class Listener(Service):
    """A service: starting it listens, stopping it closes the port. Connections are left alone, for the router to drain.

    Raises `ConfigError` if the protocol does not understand its options, or does not fit the carrier. A service cannot
    fail to start; whoever must know asks `when_listening`.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: Any,
        protocol: IBusProtocol,
        carrier: ICarrier,
        router: IRouter,
        limits: Limits,
        options: Mapping[str, Any],
        description: str,
        parts: Callable[[type[Interface]], Sequence[Any]],
        logins: ILogins | None = None,
    ) -> None:
        """`description` is the listen string, for people; `parts` finds the installed ones, as `IListener.parts`."""
        self.clock = reactor
        self.protocol = protocol
        self.limits = limits
        self.description = description
        self.parts = parts
        self.logins = logins
        #: The `IListeningPort` that accepts now, None while none does. Its `getHost` tells what the kernel chose.
        self.port: Any = None
        #: Connections turned away since the start, for any of the limits.
        self.turned_away = 0
        #: Those that the carrier did not let in, by reason.
        self.refusals: Counter[str] = Counter()
        self._carrier = carrier
        self._connections: set[IConnection] = set()
        self._per_host: Counter[str] = Counter()
        self._held_octets = 0
        self._is_full = False
        self._is_accepting_bounded = False
        self._full_noticed: float | None = None
        self._notices = Notices(reactor)
        self._idle: SilenceSweep[IConnection] = SilenceSweep(
            reactor,
            Turns(reactor),
            limits.idle_seconds,
            limits.idle_seconds / LOOKS,
            lambda connection: connection.lose("idle"),
        )
        self._listening: Deferred[Any] | None = None
        self._outcome: IListeningPort | Failure | None = None
        self._waiting: list[Deferred[IListeningPort]] = []
        try:
            self._factory = carrier.fitted(protocol.make_factory(router, self, options))
        except ConfigError as error:
            raise ConfigError(f"listen string '{description}': {error}") from error

    def __repr__(self) -> str:
        return f"<Listener {self.description} with {self.connections} connections>"

    @property
    def connections(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    @property
    def sockets(self) -> Sequence[SocketPlan]:
        """What it listens with, if its protocol is one of parts; else nothing."""
        return self._factory.sockets if IPartsFactory.providedBy(self._factory) else ()

    @property
    def held_octets(self) -> int:
        """What has arrived of units that are not complete."""
        return self._held_octets

    @property
    def is_full(self) -> bool:
        """There are as many connections as there may be; new ones wait."""
        return self._is_full

    # the service

    def privilegedStartService(self) -> None:
        """Listen while the process may still use low ports."""
        super().privilegedStartService()
        self._listen()

    def startService(self) -> None:
        """Listen, if that has not been done with privileges already."""
        super().startService()
        if self._listening is None:
            self._listen()
        self._idle.start()

    def stopService(self) -> Deferred[None]:
        """Accept no more. Fires when the port is closed."""
        super().stopService()
        self._idle.stop()
        if self._listening is not None:
            self._listening.cancel()
        port = self.port
        self._listening = self._outcome = self.port = None
        self._is_full = False
        if port is None:
            return succeed(None)
        return maybeDeferred(port.stopListening)

    def when_listening(self) -> Deferred[IListeningPort]:
        """A Deferred of the caller's own: fires with the port once connections are accepted, fails as
        `ICarrier.listen` does, which has then been logged."""
        waiting: Deferred[IListeningPort] = Deferred()
        if self._outcome is None:
            self._waiting.append(waiting)
        else:
            waiting.callback(self._outcome)  # a Failure goes the errbacks' way
        return waiting

    def reload(self) -> None:
        """Read certificates again, for new connections. Raises `ConfigError`; the old ones then stay in use."""
        self._carrier.reload()

    def _listen(self) -> None:
        self._listening = self._carrier.listen(_TellingFactory(self._factory, self._accepted))
        self._listening.addCallbacks(self._listen_succeeded, self._listen_failed)

    def _listen_succeeded(self, port: IListeningPort) -> None:
        self.port = port
        self._bound_accepting()
        self._log.info("{listener.description} listens at {address}", listener=self, address=_address(port.getHost()))
        self._tell(port)

    def _listen_failed(self, failure: Failure) -> None:
        self._log.error(
            "{listener.description} does not listen: {reason}", listener=self, reason=failure.getErrorMessage()
        )
        self._tell(failure)

    def _tell(self, outcome: IListeningPort | Failure) -> None:
        self._outcome = outcome
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.callback(outcome)

    # IListener, for the protocol's connections

    def peer_facts(self, transport: Any) -> PeerFacts:
        return self._carrier.peer_facts(transport)

    def opened(self, connection: IConnection, facts: PeerFacts) -> bool:
        """As `IListener.opened`. Also False for those that a vendor's port accepts past the last free place."""
        if len(self._connections) >= self.limits.connections or not self._has_room_for(facts):
            self.turned_away += 1
            return False
        self._connections.add(connection)
        if not facts.is_local:
            self._per_host[host_of(facts)] += 1
        self._idle.watch(connection)
        if len(self._connections) >= self.limits.connections:
            self._pause_accepting()
        return True

    def closed(self, connection: IConnection, facts: PeerFacts) -> None:
        self._connections.remove(connection)
        self._idle.forget(connection)
        if not facts.is_local:
            host = host_of(facts)
            self._per_host[host] -= 1
            if not self._per_host[host]:
                del self._per_host[host]
        if self._is_full:
            self._resume_accepting()

    def hold(self, octets: int) -> bool:
        held = self._held_octets + octets
        if octets > 0 and held > self.limits.assembly_octets:
            return False
        self._held_octets = held
        return True

    def refused(self, reason: str, detail: str) -> None:
        self.refusals[reason] += 1
        if count := self._notices.due(reason):
            self._log.info(
                "{listener.description} does not let in {detail} ({reason}, {count} by now)",
                listener=self,
                detail=detail,
                reason=reason,
                count=count,
            )

    def _accepted(self) -> None:
        """A connection is accepted, whatever may come before its protocol."""
        if self._is_accepting_bounded:
            # the port reckons anew at the end of its round
            self._is_accepting_bounded = False
            self.clock.callLater(0, self._bound_accepting)

    def _bound_accepting(self) -> None:
        """Keep the port's next round short, and within the free places. A vendor's port may know no rounds."""
        if hasattr(self.port, "numberAccepts"):
            free = self.limits.connections - len(self._connections)
            self.port.numberAccepts = max(1, min(free, ACCEPTED_IN_A_TURN))
            self._is_accepting_bounded = True

    def _has_room_for(self, facts: PeerFacts) -> bool:
        return facts.is_local or self._per_host[host_of(facts)] < self.limits.connections_per_address

    # Twisted's ports are push producers of connections: a paused one leaves them in the kernel's queue. Where a
    # vendor's port is none, the connections past the limit are turned away one by one.

    def _pause_accepting(self) -> None:
        self._is_full = True
        if IPushProducer.providedBy(self.port):
            self.port.pauseProducing()
        now = self.clock.seconds()
        if self._full_noticed is None or now - self._full_noticed >= _FULL_NOTICE_SECONDS:
            self._full_noticed = now
            self._log.warn("{listener.description} is full: new connections wait", listener=self)

    def _resume_accepting(self) -> None:
        self._is_full = False
        self._bound_accepting()
        if IPushProducer.providedBy(self.port):
            self.port.resumeProducing()


def _address(host: Any) -> str:
    """Where a port is, for people: ``HOST:PORT``, or the path of a socket."""
    if isinstance(host, UNIXAddress):
        return os.fsdecode(host.name) if host.name else "a socket without a name"
    return f"{host.host}:{host.port}" if isinstance(host, IPv4Address) else f"[{host.host}]:{host.port}"


@implementer(IProtocolFactory)
class _TellingFactory:
    """A protocol's factory that tells of each connection as it is accepted, which is before any handshake."""

    def __init__(self, factory: Any, tell: Callable[[], None]) -> None:
        self._factory = factory
        self._tell = tell

    def doStart(self) -> None:
        self._factory.doStart()

    def doStop(self) -> None:
        self._factory.doStop()

    def buildProtocol(self, addr: Any) -> Any:
        self._tell()
        return self._factory.buildProtocol(addr)
