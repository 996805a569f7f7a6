"""One connection of a MicroMsg2 client, from the end of the handshake on. Knows nothing that outlives it.

Acknowledgements are for everything up to a number, in both directions. So what the application settles in any order is
acknowledged in order, and all messages of the connection wait for the oldest one that is not settled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from typing import Protocol as Contract

import attrs
from twisted.internet import protocol
from twisted.python.failure import Failure

from fmqbus.client.link import Link, LinkOwner
from fmqbus.model import NO_PROPERTIES
from fmqbus.protocols.micromsg2 import events
from fmqbus.protocols.micromsg2.codec import Run
from fmqbus.protocols.micromsg2.connection import Connection, State
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.protocols.micromsg2.promises import Promise, Promises
from fmqbus.protocols.micromsg2.session import ACKNOWLEDGE_SECONDS


@attrs.frozen(slots=True, eq=False)
class Letter:
    """A message on its way out."""

    destination: bytes
    payload: bytes
    properties: Mapping[str, str] = NO_PROPERTIES

    def __len__(self) -> int:
        """About what it takes."""
        return len(self.destination) + len(self.payload) + sum(len(n) + len(t) for n, t in self.properties.items())


class MicroMsg2LinkOwner(LinkOwner, Contract):
    """What the connection tells besides, and to whom."""

    invalid: int

    def messages_received(self, link: MicroMsg2Link, destination: bytes, messages: Sequence[Received]) -> None:
        """Messages have come, all to one destination. Each has to be settled."""

    def acknowledged(self, letters: Iterable[Letter]) -> None:
        """The server has taken these over."""

    def error_received(self, text: str) -> bool:
        """The server has said ERROR. Returns whether it is known what that is about."""


class MicroMsg2Link(Link):
    """The protocol on the connection."""

    _owner: MicroMsg2LinkOwner
    _connection: Connection

    def __init__(self, owner: MicroMsg2LinkOwner, clock: Any) -> None:
        super().__init__(owner, clock)
        #: What the server said last, if that was an ERROR that may be about what we have sent.
        self.complaint = ""
        self._promises = Promises()
        #: The conversation knows that all is safe up to here.
        self._told = 0
        self._early: Sequence[events.Event] = ()
        self._acknowledging: Any = None

    def begin(self, connection: Connection, early: Sequence[events.Event]) -> None:
        """Take over a conversation that is open, and what it has told since."""
        self._connection = connection
        self._early = early

    @property
    def is_acknowledged(self) -> bool:
        """The server says which messages it has taken over."""
        return self._connection.is_acknowledged

    @property
    def window(self) -> int:
        """So many messages are on their way unacknowledged at most, in either direction."""
        return self._connection.window

    @property
    def has_room(self) -> bool:
        return super().has_room and not self._connection.is_waiting

    # what we say

    def send(self, letter: Letter) -> None:
        """Send a message, once the server's window has room for it."""
        self._connection.send(letter.destination, letter.payload, letter.properties, letter)
        self._write()
        if self._connection.is_waiting:
            self._owner.room_changed(self)

    def expect(self, message: Received) -> Promise:
        """The message will be settled, by `settle`."""
        return self._promises.make(message.number)

    def settle(self, promise: Promise) -> None:
        """The message is done with."""
        self._promises.keep(promise)
        self._acknowledge_safe()

    def settle_up_to(self, number: int) -> None:
        """All messages since the last that is expected are done with, up to this one."""
        self._promises.is_safe(number)

    def say_no_more(self, seconds: float) -> None:
        self._acknowledge()
        self._connection.close()
        super().say_no_more(seconds)

    def give_back(self, seconds: float) -> None:
        """Leave, so that the server takes back what nobody will settle. It has no word for that but our end."""
        self.say_no_more(seconds)
        self.transport.loseConnection()

    def _write(self) -> None:
        chunks = self._connection.take_output()
        if chunks:
            self.transport.writeSequence(chunks)

    def _acknowledge_safe(self) -> None:
        """What is safe may be acknowledged, now or with more of it."""
        connection, safe = self._connection, self._promises.safe
        if safe != self._told:
            self._told = safe
            connection.safe(safe)
        self._write()
        if connection.is_owing and self._acknowledging is None and connection.state is State.OPEN:
            self._acknowledging = self._clock.callLater(ACKNOWLEDGE_SECONDS, self._acknowledge)

    def _acknowledge(self) -> None:
        self._cancel_acknowledging()
        self._connection.acknowledge_now()
        self._write()

    def _cancel_acknowledging(self) -> None:
        later, self._acknowledging = self._acknowledging, None
        if later is not None and later.active():
            later.cancel()

    # what the transport tells

    def connectionMade(self) -> None:
        super().connectionMade()
        self._hear(self._early)

    def dataReceived(self, data: bytes) -> None:
        self._hear(self._connection.receive(data))

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:
        self._connection.close()
        self._cancel_acknowledging()
        super().connectionLost(reason)

    # what the server tells

    def _hear(self, told: Iterable[events.Event]) -> None:
        for event in told:
            self.complaint = ""
            _HEARD[type(event)](self, event)
        self._acknowledge_safe()

    def _run(self, run: Run) -> None:
        self._owner.messages_received(self, run.destination, list(run.frames))

    def _message(self, message: Received) -> None:
        self._owner.messages_received(self, message.destination, [message])

    def _acknowledged(self, acknowledged: events.Acknowledged) -> None:
        self._owner.acknowledged(acknowledged.tags)

    def _released(self, released: events.Released) -> None:
        self._owner.room_changed(self)

    def _nothing(self, nothing: events.Nothing) -> None:
        pass

    def _refused(self, refused: events.Refused) -> None:
        self._owner.invalid += 1

    def _error(self, error: events.ErrorReceived) -> None:
        if not self._owner.error_received(error.text):
            self.complaint = error.text

    def _failed(self, failed: events.Failed) -> None:
        self._owner.invalid += 1
        self._write()
        self.transport.loseConnection()


_HEARD: Mapping[type, Callable[[MicroMsg2Link, Any], None]] = {
    Run: MicroMsg2Link._run,
    Received: MicroMsg2Link._message,
    events.Acknowledged: MicroMsg2Link._acknowledged,
    events.Released: MicroMsg2Link._released,
    events.Nothing: MicroMsg2Link._nothing,
    events.Refused: MicroMsg2Link._refused,
    events.ErrorReceived: MicroMsg2Link._error,
    events.Failed: MicroMsg2Link._failed,
}
