"""What a protocol's session and its connections stand on, in memory: a link, and the listener that admitted it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.task import Clock
from zope.interface import Interface, implementer

from fmqbus.interfaces import IConnection, ILink, IListener, ILogins, IUnitLink
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.model import Parting, PeerFacts


@implementer(ILink)
class MemoryLink:
    """Remembers what a session sends, and what else it asks of its connection."""

    def __init__(self) -> None:
        self.octets_received = 0
        self.is_kept_waiting = False
        #: All octets written, in order.
        self.sent = b""
        #: Every other call, as its words: ``"lose drained"``.
        self.calls: list[str] = []

    def write(self, chunks: Sequence[bytes]) -> None:
        self.sent += b"".join(chunks)

    def pause_reading(self) -> None:
        self.calls.append("pause_reading")

    def resume_reading(self) -> None:
        self.calls.append("resume_reading")

    def stop_listening(self) -> None:
        self.calls.append("stop_listening")

    def lose(self, reason: str) -> None:
        self.calls.append(f"lose {reason}")

    def abort(self, reason: str) -> None:
        self.calls.append(f"abort {reason}")


@implementer(IUnitLink)
class MemoryUnitLink(MemoryLink):
    """As `MemoryLink`, for a protocol of units: text as `str`, binary as `bytes`."""

    def __init__(self, facts: PeerFacts | None = None) -> None:
        super().__init__()
        self.facts = facts or PeerFacts("memory", is_local=True)
        #: All units that were sent, in order.
        self.units: list[str | bytes] = []

    def send_texts(self, texts: Sequence[bytes]) -> None:
        self.units += [text.decode() for text in texts]

    def send_binary(self, octets: bytes) -> None:
        self.units.append(octets)

    def lose(self, reason: str, parting: Parting = Parting.GOING_AWAY) -> None:
        self.calls.append(f"lose {reason} {parting.value}")


@implementer(IListener)
class MemoryListener:
    """Admits connections while `is_admitting`, and keeps account of them as the real one does."""

    def __init__(self, clock: Any = None, limits: Limits = DEFAULT_LIMITS, installed: Sequence[Any] = ()) -> None:
        """`installed` are the parts that there are."""
        self.clock = clock or Clock()
        self.limits = limits
        self.logins: ILogins | None = None
        self._installed = installed
        self.is_admitting = True
        self.connections: list[IConnection] = []
        #: Octets of half-received units that are accounted for now.
        self.held = 0
        #: Why the carrier has not let somebody in.
        self.refusals: list[str] = []

    def peer_facts(self, transport: Any) -> PeerFacts:
        return PeerFacts("memory", is_local=True)

    def opened(self, connection: IConnection, facts: PeerFacts) -> bool:
        if self.is_admitting:
            self.connections.append(connection)
        return self.is_admitting

    def closed(self, connection: IConnection, facts: PeerFacts) -> None:
        self.connections.remove(connection)

    def hold(self, octets: int) -> bool:
        if octets > 0 and self.held + octets > self.limits.assembly_octets:
            return False
        self.held += octets
        return True

    def refused(self, reason: str, detail: str) -> None:
        self.refusals.append(reason)

    def parts(self, interface: type[Interface]) -> Sequence[Any]:
        return [part for part in self._installed if interface.providedBy(part)]
