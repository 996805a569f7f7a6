"""One data flow that has a lease: its two directions, and its link. (MTL, Data Flow; reading 31)"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from fmqbus.errors import BusError
from fmqbus.interfaces import IPartsSocket
from fmqbus.model import Origin
from fmqbus.protocols.mtl.data_codec import write_content_header
from fmqbus.protocols.mtl.flow import DataFlow
from fmqbus.protocols.mtl.owner import Owner
from fmqbus.protocols.mtl.sides import ReaderSide, WriterSide


class Keeper(Protocol):
    """Who knows all flows."""

    #: Peers that were told something lately.
    told: set[bytes]

    def gone(self, flow: LiveFlow, reason: str) -> None:
        """ZeroMQ does not find it any more."""

    def end(self, flow: LiveFlow, reason: str, is_sent: bool = False) -> None:
        """It has ended; may be repeated."""

    def owing(self, flow: LiveFlow) -> None:
        """Something has become safe that it has sent."""

    def soon(self, act: Callable[[], None]) -> None:
        """Do this when the bus is not at work."""


class LiveFlow:
    """See `fmqbus.protocols.mtl.sides.Carrying`."""

    __slots__ = ("_flows", "_send", "has_ended", "is_full", "origin", "peer", "reader", "states", "writer")

    def __init__(self, flows: Keeper, socket: IPartsSocket, peer: bytes, origin: Origin) -> None:
        self.peer = peer
        self.origin = origin
        self.states: DataFlow[Owner] = DataFlow()
        self.reader: ReaderSide | None = None
        self.writer: WriterSide | None = None
        #: Nothing is sent but what cannot wait.
        self.is_full = False
        self.has_ended = False
        self._flows = flows
        self._send = socket.send

    def send(self, parts: Sequence[bytes]) -> bool:
        """See `Carrying`."""
        try:
            is_clear = self._send(self.peer, parts)
        except BusError as error:
            # it is gone, or what waits for it is more than anybody should have to keep
            self.is_full = True
            self.soon(partial(self._flows.gone, self, error.reason))
            return False
        self._flows.told.add(self.peer)
        if not is_clear:
            self.is_full = True
        return True

    def send_contents(self, sequences: Sequence[int], contents: Sequence[tuple[bytes, bytes]]) -> None:
        """See `Carrying`."""
        send, peer = self._send, self.peer
        is_clear = True
        try:
            for sequence, (rest, body) in zip(sequences, contents, strict=False):
                is_clear = send(peer, (write_content_header(sequence, rest), body))
        except BusError as error:
            self.is_full = True
            self.soon(partial(self._flows.gone, self, error.reason))
            return
        self._flows.told.add(peer)
        if not is_clear:
            self.is_full = True

    def owes(self) -> None:
        """See `Carrying`."""
        self._flows.owing(self)

    def lost(self, resource: bytes) -> None:
        """See `Carrying`."""
        self.states.dismiss(resource)

    def end(self, reason: str, is_sent: bool = False) -> None:
        """See `Carrying`."""
        self._flows.end(self, reason, is_sent)

    def soon(self, act: Callable[[], None]) -> None:
        """See `Carrying`."""
        self._flows.soon(act)

    def sides(self) -> Sequence[ReaderSide | WriterSide]:
        """Those that there are."""
        return [side for side in (self.reader, self.writer) if side is not None]
