"""One data flow of a client on its socket: what is said leaves, what comes is told. Knows nothing that outlives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from typing import Protocol as Contract

from twisted.internet.defer import Deferred, succeed

from fmqbus.client.mtl_flow import ClientFlow, Ended, Event, Left
from fmqbus.client.mtl_session import Session
from fmqbus.errors import BusError, Detached, Overloaded, PeerError
from fmqbus.limits import Limits
from fmqbus.model import Outcome
from fmqbus.protocols.mtl import commands
from fmqbus.protocols.mtl.data_codec import decode_command, encode_command
from fmqbus.waiting import Waiters


class FlowUser(Contract):
    """Who has a flow on each connection: a reader or a writer of the client."""

    #: In lower case.
    profile: str
    #: How many contents of ours may wait to be confirmed.
    window: int

    @property
    def flow(self) -> commands.Flow:
        """What is asked for."""

    def flow_begun(self, data: DataLink) -> None:
        """The lease is on its way; summons may follow it."""

    def flow_heard(self, event: Event) -> None:
        """Something has come, other than the end."""

    def flow_clear(self) -> None:
        """What had to wait for the socket has left."""

    def flow_denied(self, error: BusError) -> None:
        """The bus gives no lease."""

    def flow_lost(self) -> None:
        """The connection has gone, and the flow with it."""


class DataLinkOwner(Contract):
    """What the flow tells besides, and to whom."""

    def told(self, data: DataLink) -> None:
        """The broker was told something on it."""

    def heard(self, data: DataLink) -> None:
        """It has said something."""

    def incorrect(self) -> None:
        """It has said what cannot be understood."""

    def ended(self, data: DataLink, error: BusError) -> None:
        """The flow is of no use any more."""

    def left(self, data: DataLink) -> None:
        """It has ended in good order."""


class DataLink:
    """The flow, and its socket."""

    def __init__(
        self,
        owner: DataLinkOwner,
        user: FlowUser,
        reactor: Any,
        limits: Limits,
        session: Session,
        port: int,
        lease: bytes,
    ) -> None:
        self.user = user
        self._owner = owner
        self._reactor = reactor
        self._limits = limits
        self._flow: ClientFlow[Any] = ClientFlow(user.flow, user.window, limits.consumer_window)
        self._is_full = False
        self._saying: Any = None
        self._quiet = Waiters()
        self._socket = session.connect(port, self._arrived, self._lost, self._cleared)
        self._flow.lease(lease, self._now)
        self._say()

    @property
    def has_room(self) -> bool:
        """Whether a content may be sent now."""
        return self._flow.room > 0 and not self._is_full

    @property
    def in_hand(self) -> int:
        """How many contents the application has."""
        return self._flow.in_hand

    def owed_since(self, now: float) -> float:
        """As `ClientFlow.owed_since`."""
        return self._flow.owed_since(now)

    def when_quiet(self) -> Deferred[None]:
        """Fires when the broker has answered all that it was told until now, and so has seen all that went before.
        Fails with `Detached` if the flow ends first."""
        if not self._flow.is_owed:
            return succeed(None)
        return self._quiet.wait()

    # what the client does

    def summon(self, resource: bytes) -> None:
        """Have the contents of a resource come."""
        self._flow.summon(resource, self._now)
        self._say()

    def dismiss(self, resource: bytes) -> None:
        """And no more."""
        self._flow.dismiss(resource, self._now)
        self._say()

    def write(self, resource: bytes, properties: bytes, body: bytes, tag: Any) -> None:
        """Send a content; only where there is room."""
        self._flow.write(resource, properties, body, tag)
        self._say()

    def settle(self, sequence: int, outcome: Outcome) -> None:
        """What has become of a content. What is said in one turn of the reactor is told together."""
        if self._flow.settle(sequence, outcome) and self._saying is None:
            self._saying = self._reactor.callLater(0, self._say_settled)

    def ask(self) -> None:
        """Ask whether the broker is there, and has the flow."""
        self._flow.ping(self._now)
        self._say()

    def leave(self, resources: list[bytes]) -> None:
        """End in good order."""
        self._act(self._flow.leave(resources, self._now))

    def close(self) -> None:
        """End at once; what was said leaves all the same."""
        if self._saying is not None:
            self._saying.cancel()
            self._say_settled()
        self._flow.end(Detached("the flow is closed"))
        self._quiet.fail(Detached("the flow has ended"))
        self._socket.close()

    # what comes

    def _arrived(self, parts: Sequence[bytes]) -> None:
        try:
            events = self._flow.heard(decode_command(parts, self._limits))
        except PeerError:
            self._owner.incorrect()
            return
        self._owner.heard(self)
        self._act(events)

    def _act(self, events: Sequence[Event]) -> None:
        self._say()
        for event in events:
            match event:
                case Ended(error):
                    self._owner.ended(self, error)
                case Left():
                    self._owner.left(self)
                case _:
                    self.user.flow_heard(event)
        if not self._flow.is_owed:
            self._quiet.fire()

    def _cleared(self) -> None:
        self._is_full = False
        self.user.flow_clear()

    def _lost(self) -> None:
        self._act(self._flow.end(Detached("the connection of a data flow has gone")))

    def _say_settled(self) -> None:
        self._saying = None
        self._flow.say_settled()
        self._say()

    def _say(self) -> None:
        output = self._flow.take_output()
        if not output:
            return
        try:
            for command in output:
                if not self._socket.send(encode_command(command)):
                    self._is_full = True
        except (Detached, Overloaded) as error:
            self._act(self._flow.end(error))
        self._owner.told(self)

    @property
    def _now(self) -> float:
        seconds: float = self._reactor.seconds()
        return seconds
