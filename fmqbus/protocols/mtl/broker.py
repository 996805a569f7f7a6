"""MTL at one place: both flows, what is dropped, and what time brings. (MTL, General Operation)"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

from fmqbus.errors import BusError, PeerError
from fmqbus.interfaces import IListener, IMTLProfile, IPartsSocket, IRouter
from fmqbus.limits import Limits
from fmqbus.model import Origin, PeerFacts, Principal
from fmqbus.notices import Notices, goes_on
from fmqbus.protocols.mtl.codec import encode, is_control
from fmqbus.protocols.mtl.commands import Reply
from fmqbus.protocols.mtl.control import Control
from fmqbus.protocols.mtl.control_codec import decode_request
from fmqbus.protocols.mtl.data_codec import decode_command
from fmqbus.protocols.mtl.data_flows import DataFlows
from fmqbus.protocols.mtl.figures import METRICS, readings
from fmqbus.protocols.mtl.leases import Leases
from fmqbus.protocols.mtl.owner import Owner
from fmqbus.protocols.mtl.session import PROTOCOL, Place
from fmqbus.protocols.mtl.settings import Login, MTLSettings
from fmqbus.protocols.mtl.statuses import Declined
from fmqbus.protocols.mtl.virtual_hosts import VirtualHosts
from fmqbus.protocols.quiet_peer import QuietPeer

#: At most; twice for each ping at least, or whoever was told something just before a sweep would be silent by the next,
#: and never have been asked.
_SWEEP_SECONDS = 1.0
#: A client with such a socket says nothing more until it is answered (reading 2).
_WAITS_FOR_GOOD = "REQ"

_log = Logger()


class OwnSession(QuietPeer):
    """The broker itself as a client of the bus: for what is counted, and to learn when the bus has ended."""

    when_ended: Callable[[], None] = staticmethod(lambda: None)

    def ending(self, reason: str) -> None:
        super().ending(reason)
        self.when_ended()


class Broker:
    """All that happens at one place."""

    def __init__(
        self,
        router: IRouter,
        listener: IListener,
        settings: MTLSettings,
        profiles: Mapping[str, IMTLProfile],
        facts: PeerFacts,
        control: IPartsSocket,
        data: IPartsSocket,
        port: int,
    ) -> None:
        """`facts` are those of the place where the sockets listen; they may be one. Data flows are at `port`."""
        self.own = OwnSession(router, Principal(PROTOCOL, facts))
        self._limits: Limits = listener.limits
        self._notices = Notices(router.clock)
        self._control_socket = control
        self._data_socket = data
        self._leases: Leases[Owner] = Leases(listener.limits)
        place = Place(
            router,
            listener.logins,
            settings.login is Login.REQUIRED,
            profiles,
            self._leases,
            port,
            self.refused,
        )
        self.control = Control(
            place, VirtualHosts(settings.virtual_hosts), listener.limits.connections, settings.idle, self._reply
        )
        self.flows = DataFlows(
            router.clock, data, listener.limits, settings, self._leases, profiles, self.refused, self.flush
        )
        self._heard = self.flows.heard
        router.vitals.add_figures(METRICS, lambda: readings(len(self.control), len(self.flows), len(self._leases)))
        self._now: Callable[[], float] = router.clock.seconds
        self._sweep_seconds = min(_SWEEP_SECONDS, settings.ping / 2)
        self._sweeping = LoopingCall(goes_on(self._sweep, "a sweep of MTL's peers"))
        self._sweeping.clock = router.clock

    def start(self) -> None:
        """The bus is ready."""
        running: Deferred[LoopingCall] = self._sweeping.start(self._sweep_seconds, now=False)
        running.addErrback(lambda failure: _log.failure("MTL's broker stands still", failure))

    # what comes

    def heard(self, socket: IPartsSocket, peer: bytes, parts: Sequence[bytes], origin: Origin) -> None:
        """A peer says something. What cannot be read is dropped (MTL, the two sections on error handling)."""
        try:
            if not is_control(parts):
                if socket is not self._data_socket:
                    raise PeerError("a data command where none is heard", "flow")
                self._heard(peer, origin, decode_command(parts, self._limits))
            elif socket is self._control_socket:
                self._asked(peer, parts, origin)
            else:
                raise PeerError("a request where none is heard", "flow")
        except BusError as error:
            self.refused(error, origin)

    def _asked(self, peer: bytes, parts: Sequence[bytes], origin: Origin) -> None:
        try:
            request = decode_request(parts, self._limits)
        except Declined as error:
            self.control.declined(peer, origin, error)
            raise
        self.control.heard(peer, origin, request)

    def refused(self, error: BusError, origin: Origin | None = None) -> None:
        """Something that was said is not done."""
        self.own.bus.count_refused(error.reason)
        if count := self._notices.due(error.reason):
            is_dropped = isinstance(error, PeerError) and not isinstance(error, Declined)
            waits = is_dropped and origin is not None and origin.socket_type == _WAITS_FOR_GOOD
            _log.info(
                "refused: {error} ({reason}, {count} by now){more}",
                error=error,
                reason=error.reason,
                count=count,
                more="; from a REQ, which now waits for good" if waits else "",
            )

    def _reply(self, peer: bytes, reply: Reply) -> None:
        try:
            self._control_socket.send(peer, encode(reply))
        except BusError as error:
            # it has gone before it got its answer, or does not read
            self.refused(error)

    def flush(self) -> None:
        """The turn is over: hand out what has gathered, and confirm what is safe."""
        self.flows.turn_over()
        self.own.bus.flush()
        self.flows.say()

    # time

    def _sweep(self) -> None:
        self._leases.expire(self._now())
        self.control.sweep()
        self.flows.sweep()
        self.flush()

    # the end

    def stop(self) -> None:
        """Nobody new is let in. What is on its way still goes."""
        self.control.is_stopping = True

    def close(self) -> None:
        """The bus has ended."""
        if self._sweeping.running:
            self._sweeping.stop()
        self.control.close()
        self.flows.close()
