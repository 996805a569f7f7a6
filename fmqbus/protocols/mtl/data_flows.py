"""What is said and done on all data flows of one place? (MTL, Data Flow)

A flow is one peer of the data socket, from its first lease on; before that, what it says is answered and forgotten
(reading 29). Identities prove nothing: where one with a flow speaks from another address, the flow ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from twisted.logger import Logger

from fmqbus.errors import BusError, Overloaded, PeerError
from fmqbus.interfaces import IMTLProfile, IPartsSocket
from fmqbus.limits import Limits
from fmqbus.model import Origin
from fmqbus.notices import goes_on
from fmqbus.protocols.mtl.codec import encode
from fmqbus.protocols.mtl.commands import (
    Command,
    Confirm,
    Content,
    Dismiss,
    Lease,
    Ping,
    Pong,
    Reject,
    Response,
    Summon,
)
from fmqbus.protocols.mtl.leases import Grant, Kind, Leases
from fmqbus.protocols.mtl.live_flow import LiveFlow
from fmqbus.protocols.mtl.owner import Owner
from fmqbus.protocols.mtl.presence import Presence
from fmqbus.protocols.mtl.settings import MTLSettings
from fmqbus.protocols.mtl.sides import ReaderSide, WriterSide
from fmqbus.protocols.mtl.statuses import Status, status_of

_log = Logger()

#: Flows that are looked at when one has gone; some milliseconds.
_LOOKED_AT = 1_000

_PING, _PONG = encode(Ping()), encode(Pong())


class DataFlows:
    """All of them."""

    def __init__(
        self,
        clock: Any,
        socket: IPartsSocket,
        limits: Limits,
        settings: MTLSettings,
        leases: Leases[Owner],
        profiles: Mapping[str, IMTLProfile],
        refused: Callable[[BusError], None],
        flush: Callable[[], None],
    ) -> None:
        """`refused` is told what of that which was said is not done. `flush` ends a turn."""
        self._clock = clock
        self._socket = socket
        self._limits = limits
        self._settings = settings
        self._leases = leases
        self._profiles = profiles
        self._refused = refused
        self._flush = flush
        self._flows: dict[bytes, LiveFlow] = {}
        self._presence: Presence[bytes] = Presence(settings.ping, settings.silent_pings)
        #: Since the last sweep, whose time is exact enough: who has been heard, and who was told something.
        self._heard: set[bytes] = set()
        self.told: set[bytes] = set()
        #: Those that may have confirmations to say.
        self._owing: dict[LiveFlow, None] = {}
        self._confirming: Any = None
        self._soon: list[Callable[[], None]] = []
        self._may_look = True

    def __len__(self) -> int:
        return len(self._flows)

    # what clients say

    def heard(self, peer: bytes, origin: Origin, command: Command) -> None:
        """A client says something."""
        flow = self._flows.get(peer)
        # mostly it is the very same, and facts take long to compare
        if flow is not None and flow.origin is not origin and flow.origin.facts != origin.facts:
            self.end(flow, "another address")
            flow = None
        try:
            if flow is None:
                self._heard_stranger(peer, origin, command)
            else:
                self._heard.add(peer)
                _HEARD[type(command)](self, flow, command)
        except BusError as error:
            self._refused(error)
        except Exception:
            # of a profile, perhaps a vendor's
            _log.failure("a data flow of MTL has failed")
            if flow is not None:
                self.end(flow, "failed")

    def _heard_stranger(self, peer: bytes, origin: Origin, command: Command) -> None:
        """One without a lease (reading 29)."""
        match command:
            case Lease():
                flow = LiveFlow(self, self._socket, peer, origin)
                self._lease(flow, command)
            case Ping():
                self._tell_stranger(peer, _PONG)
            case Summon() | Dismiss():
                self._tell_stranger(peer, encode(Response(command.sequence, Status.FORBIDDEN.value)))
                raise PeerError("a resource without a lease", "unleased")
            case Content() | Confirm() | Reject():
                raise PeerError(f"{type(command).__name__} without a lease", "unleased")

    def _tell_stranger(self, peer: bytes, parts: Sequence[bytes]) -> None:
        """Raises `Detached` and `Overloaded` as the socket."""
        self._socket.send(peer, parts)

    def _respond(self, flow: LiveFlow, sequence: int, status: Status) -> None:
        flow.send(encode(Response(sequence, status.value)))

    def _lease(self, flow: LiveFlow, lease: Lease) -> None:
        """A lease that is refused stays as it was (reading 28)."""
        now = self._now()
        grant = self._leases.find(lease.lease, now)
        if grant is None or grant.owner.is_suspended or not flow.states.can_have(grant):
            self._respond(flow, lease.sequence, Status.FORBIDDEN)
            raise PeerError("no lease that would be good for this flow", "lease-unknown" if grant is None else "lease")
        try:
            if flow.peer not in self._flows and len(self._flows) >= self._limits.connections:
                raise Overloaded("too many data flows", "flows")
            self._act_for(flow, grant)
        except BusError:
            self._respond(flow, lease.sequence, Status.FORBIDDEN)
            raise
        self._leases.use(lease.lease, now)
        flow.states.lease(grant)
        self._flows[flow.peer] = flow
        self._presence.came(flow.peer, now)
        self._respond(flow, lease.sequence, Status.OK)

    def _act_for(self, flow: LiveFlow, grant: Grant[Owner]) -> None:
        profile = self._profiles[grant.profile]
        if grant.kind is Kind.READER:
            window = min(grant.window or self._settings.reader_window, self._settings.reader_window)
            flow.reader = ReaderSide(flow, grant, profile, min(window, self._limits.consumer_window))
        else:
            flow.writer = WriterSide(flow, grant, profile, self._limits.window)

    def _summon(self, flow: LiveFlow, summon: Summon) -> None:
        status = flow.states.summon(summon.resource)
        if status is Status.OK:
            assert flow.reader is not None, "who may summon has a reader's lease"
            try:
                flow.reader.summon(summon.resource)
            except BusError as error:
                flow.states.dismiss(summon.resource)
                self._respond(flow, summon.sequence, status_of(error) or Status.BAD_REQUEST)
                raise
        self._respond(flow, summon.sequence, status)

    def _dismiss(self, flow: LiveFlow, dismiss: Dismiss) -> None:
        status = flow.states.dismiss(dismiss.resource)
        if status is Status.OK:
            assert flow.reader is not None, "who may dismiss has a reader's lease"
            flow.reader.dismiss(dismiss.resource)
        self._respond(flow, dismiss.sequence, status)

    def _content(self, flow: LiveFlow, content: Content) -> None:
        writer = flow.writer
        if writer is None:
            raise PeerError("a content on a flow that only reads", "unleased")
        self._owing[flow] = None
        try:
            resource = flow.states.resource_of(content)
        except PeerError as error:
            writer.refuse(content.sequence, error)
            raise
        writer.write(content, resource)

    def _settle(self, flow: LiveFlow, settling: Confirm | Reject) -> None:
        if flow.reader is not None:
            flow.reader.settle(settling)

    def _ping(self, flow: LiveFlow, _: Ping) -> None:
        flow.send(_PONG)

    def _no_matter(self, flow: LiveFlow, _: Command) -> None:
        """That it was heard is all; and nobody has asked for a Response."""

    # what the carrier tells

    def link_clear(self, peer: bytes) -> None:
        """Nothing waits for this peer any more."""
        flow = self._flows.get(peer)
        if flow is not None and flow.is_full:
            flow.is_full = False
            if flow.reader is not None:
                flow.reader.link_clear()

    def lost(self, peer: bytes) -> None:
        """There is no such peer any more."""
        flow = self._flows.get(peer)
        if flow is not None:
            self.end(flow, "lost")

    # what is due

    def soon(self, act: Callable[[], None]) -> None:
        """Do this when the bus is not at work."""
        if not self._soon:
            self._clock.callLater(0, self._act)
        self._soon.append(act)

    def _act(self) -> None:
        acts, self._soon = self._soon, []
        for act in acts:
            goes_on(act, "what a flow of MTL had to do")()
        self._flush()

    def owing(self, flow: LiveFlow) -> None:
        """Something has become safe, by which it may be said in a while (reading 48)."""
        self._owing[flow] = None
        if self._confirming is None:
            self._confirming = self._clock.callLater(self._settings.confirm_delay, self._confirm)

    def _confirm(self) -> None:
        self._confirming = None
        self.say()

    def turn_over(self) -> None:
        """All that has been said in this turn is acted on; the bus is to be flushed now."""
        for flow in tuple(self._owing):
            if flow.writer is not None and not flow.has_ended:
                try:
                    flow.writer.turn_over()
                except Exception:
                    _log.failure("a profile of MTL has failed")
                    self.end(flow, "failed")

    def say(self) -> None:
        """Say what is to be confirmed. At the end of a turn, too."""
        if self._owing:
            owing, self._owing = self._owing, {}
            for flow in owing:
                if flow.writer is not None and not flow.has_ended:
                    for said in flow.writer.to_say():
                        flow.send(encode(said))

    def sweep(self) -> None:
        """End those that are silent, and ping those that are due to be."""
        now = self._now()
        for peer in self._heard:
            self._presence.heard(peer, now)
        for peer in self.told:
            self._presence.told(peer, now)
        self._heard.clear()
        self.told.clear()
        self._may_look = True
        for peer in self._presence.silent(now):
            # the end of one may have been that of another
            if (flow := self._flows.get(peer)) is not None:
                self.end(flow, "silent")
        for peer in self._presence.to_ping(now):
            if (flow := self._flows.get(peer)) is not None:
                flow.send(_PING)

    def gone(self, flow: LiveFlow, reason: str) -> None:
        """ZeroMQ does not find it any more. Who goes seldom goes alone, and a queue's message that is handed from one
        to the next of those who have gone comes late to who is there: so others that were not heard for long are looked
        at, at once, as long as that finds some."""
        gone = {flow: reason}
        if self._may_look:
            for peer in self._presence.longest_unheard(_LOOKED_AT):
                try:
                    self._socket.send(peer, _PING)
                except BusError as error:
                    gone[self._flows[peer]] = error.reason
            self._may_look = len(gone) > 1
        for each in gone:
            # what one gives back is not to go to another of them
            if not each.has_ended and each.reader is not None:
                each.reader.bus.pause_delivery()
        for each, why in gone.items():
            self.end(each, why)

    def close(self) -> None:
        """The bus has ended."""
        if self._confirming is not None:
            self._confirming.cancel()
            self._confirming = None

    def end(self, flow: LiveFlow, reason: str, is_sent: bool = False) -> None:
        """A flow has ended; may be repeated (reading 31). See `fmqbus.protocols.mtl.sides.Carrying`."""
        if flow.has_ended:
            return
        flow.has_ended = flow.is_full = True
        if self._flows.get(flow.peer) is flow:
            del self._flows[flow.peer]
            self._presence.left(flow.peer)
            if not is_sent:
                self._socket.forget(flow.peer)
        self._owing.pop(flow, None)
        for side in flow.sides():
            side.close(reason)
        flow.reader = flow.writer = None  # they have the flow

    def _now(self) -> float:
        now: float = self._clock.seconds()
        return now


_HEARD: Mapping[type[Command], Callable[[DataFlows, LiveFlow, Any], None]] = {
    Lease: DataFlows._lease,
    Response: DataFlows._no_matter,
    Summon: DataFlows._summon,
    Dismiss: DataFlows._dismiss,
    Content: DataFlows._content,
    Confirm: DataFlows._settle,
    Reject: DataFlows._settle,
    Ping: DataFlows._ping,
    Pong: DataFlows._no_matter,
}
