"""Data flows of MTL for tests of a profile: no sockets, no leases; links are as full as a test says, and nothing waits.

Both directions are the bus's own, with the sessions and windows that they have in a broker.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twisted.internet.task import Clock

from fmqbus.interfaces import IAuthorizer, IMTLProfile, IRouter
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.model import PeerFacts, Principal
from fmqbus.protocols.mtl.codec import decode_from_broker
from fmqbus.protocols.mtl.commands import Confirm, Content, Reject
from fmqbus.protocols.mtl.data_codec import write_content_header
from fmqbus.protocols.mtl.leases import Grant, Kind
from fmqbus.protocols.mtl.owner import Owner
from fmqbus.protocols.mtl.sides import ReaderSide, WriterSide
from fmqbus.protocols.mtl.virtual_hosts import VirtualHost
from fmqbus.testing.bus import make_router

#: What one turn brings about may take some more.
_TURNS = 10
_PRINCIPAL = Principal("mtl", PeerFacts("memory", is_local=True))


class MemoryPlace:
    """A bus on which clients have chosen one profile."""

    def __init__(self, profile: IMTLProfile, authorizers: Sequence[IAuthorizer] | None = None) -> None:
        """Everything is allowed unless `authorizers` are given."""
        self.profile = profile
        self.clock = Clock()
        self.router: IRouter = make_router(self.clock, authorizers)
        self._writers: list[MemoryWriter] = []

    def owner(self) -> Owner:
        """A client, as profiles see it when it asks for a lease."""
        return Owner(self.router, _PRINCIPAL, VirtualHost())

    def reader(self, *summoned: bytes, full: bool = False, window: int = 100) -> MemoryReader:
        """A flow that reads any resource, and has summoned these."""
        reader = MemoryReader(self, full, window)
        for resource in summoned:
            reader.side.summon(resource)
        self.turn()
        return reader

    def writer(self, full: bool = False) -> MemoryWriter:
        """A flow that writes to any resource."""
        writer = MemoryWriter(self, full)
        self._writers.append(writer)
        return writer

    def turn(self) -> None:
        """End a turn, and let happen all that comes of it at once."""
        for writer in self._writers:
            if not writer.has_ended:
                writer.side.turn_over()
        for _ in range(_TURNS):
            for session in self.router.sessions()[:1]:
                session.flush()
            self.clock.advance(0)


class _MemoryFlow:
    """See `fmqbus.protocols.mtl.sides.Carrying`."""

    side: ReaderSide | WriterSide

    def __init__(self, place: MemoryPlace) -> None:
        self.place = place
        self.is_full = False
        #: Why the flow has ended; empty if it has not.
        self.reason = ""
        #: Resources that the bus has taken away.
        self.taken_away: list[bytes] = []
        self._sent: list[Sequence[bytes]] = []

    @property
    def has_ended(self) -> bool:
        """It has, by whomever."""
        return bool(self.reason)

    def send(self, parts: Sequence[bytes]) -> bool:
        """Remember what is sent."""
        self._sent.append(parts)
        return True

    def send_contents(self, sequences: Sequence[int], contents: Sequence[tuple[bytes, bytes]]) -> None:
        """The same for many."""
        for sequence, (rest, body) in zip(sequences, contents, strict=False):
            self.send((write_content_header(sequence, rest), body))

    def owes(self) -> None:
        """`MemoryWriter.said` tells."""

    def lost(self, resource: bytes) -> None:
        """Remember it."""
        self.taken_away.append(resource)

    def end(self, reason: str, is_sent: bool = False) -> None:
        """End the flow, as a client's silence does; may be repeated."""
        if not self.reason:
            self.reason = reason
            self.side.close(reason)

    def soon(self, act: Callable[[], None]) -> None:
        """Do it in the next turn."""
        self.place.clock.callLater(0, act)

    def _grant(self, kind: Kind, full: bool, window: int = 0) -> Grant[Owner]:
        return Grant(
            owner=self.place.owner(), kind=kind, profile=self.place.profile.name, is_confirmed=full, window=window
        )


class MemoryReader(_MemoryFlow):
    """A flow that reads."""

    side: ReaderSide

    def __init__(self, place: MemoryPlace, full: bool, window: int) -> None:
        super().__init__(place)
        self.side = ReaderSide(self, self._grant(Kind.READER, full, window), place.profile, window)

    def contents(self) -> list[Content]:
        """Those that have been sent since the last call."""
        sent, self._sent = self._sent, []
        return [command for parts in sent if isinstance(command := decode_from_broker(parts, DEFAULT_LIMITS), Content)]

    def settle(self, settling: Confirm | Reject) -> None:
        """Say what becomes of some, at the end of a turn."""
        self.side.settle(settling)
        self.place.turn()

    def dismiss(self, resource: bytes) -> None:
        """Say so, at the end of a turn."""
        self.side.dismiss(resource)
        self.place.turn()

    def fill(self) -> None:
        """Let the link be full."""
        self.is_full = True

    def clear(self) -> None:
        """Let all leave that fills it."""
        self.is_full = False
        self.side.link_clear()
        self.place.turn()


class MemoryWriter(_MemoryFlow):
    """A flow that writes."""

    side: WriterSide

    def __init__(self, place: MemoryPlace, full: bool) -> None:
        super().__init__(place)
        self.side = WriterSide(self, self._grant(Kind.WRITER, full), place.profile, DEFAULT_LIMITS.window)
        self._last = 0

    def write(self, resource: bytes, *bodies: bytes, table: bytes = b"") -> None:
        """Write contents, in one turn. Raises what the profile does."""
        for body in bodies:
            self._last += 1
            self.side.write(Content(self._last, resource, table, body), resource)
        self.place.turn()

    def said(self) -> Sequence[Confirm | Reject]:
        """What is confirmed and rejected since the last call."""
        return self.side.to_say()
