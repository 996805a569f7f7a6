"""The client's end of UMQ on one connection: octets in, events and octets out. No I/O, no clock.

What is said is `fmqbus.protocols.umq.peer`'s, and how it travels its carrier's; this joins the two.
"""

from __future__ import annotations

from collections.abc import Sequence

from fmqbus.client.carriers import MakeCarrier
from fmqbus.errors import PeerError, Refused
from fmqbus.limits import Limits
from fmqbus.protocols.umq.events import Event, Failed
from fmqbus.protocols.umq.peer import Peer, Role


class Conversation:
    """Begins as soon as it is made: see `take_output`."""

    def __init__(self, make_carrier: MakeCarrier, hello: bytes, limits: Limits) -> None:
        """`hello` is what the greeting carries."""
        self.peer = Peer(Role.CLIENT, limits)
        self._hello = hello
        self._output: list[bytes] = []
        self._events: list[Event] = []
        self._carrier = make_carrier(self)
        self._carrier.begin()

    def receive(self, data: bytes) -> Sequence[Event]:
        """Take octets that have come. The last event of a conversation is `Failed`."""
        self._carrier.receive(data)
        events, self._events = self._events, []
        return events

    def take_output(self) -> Sequence[bytes]:
        """The octets that are to be sent now; attachments are not among them."""
        self._carry_texts()
        output, self._output = self._output, []
        return output

    def take_attachment(self) -> Sequence[bytes]:
        """The octets of what is first in the line of attachments."""
        attachment = self.peer.take_attachment()
        if attachment is not None:
            self._carrier.send(True, attachment)
        return self.take_output()

    def close(self) -> None:
        """Say goodbye, behind what was said; nothing more is heard."""
        self.peer.close()
        self._carry_texts()
        self._carrier.close()

    def _carry_texts(self) -> None:
        for text in self.peer.take_texts():
            self._carrier.send(False, text)

    # what the carrier tells, see `CarrierOwner`

    def write(self, chunks: list[bytes]) -> None:
        self._output += chunks

    def carrier_open(self) -> None:
        self.peer.hello(self._hello)

    def unit_arrived(self, is_binary: bool, octets: bytes) -> None:
        hear = self.peer.receive_binary if is_binary else self.peer.receive_text
        self._events += hear(octets)

    def finished(self, complaint: str) -> None:
        self.peer.close()
        self._events.append(Failed("carrier", 0, complaint, is_theirs=True))


def check_greeted(event: Event) -> None:
    """How the greeting has ended: raises `Refused` with the bus's words, and `PeerError` for what we cannot bear."""
    if isinstance(event, Failed):
        if event.is_theirs:
            raise Refused(event.text)
        raise PeerError(event.text, event.reason)
