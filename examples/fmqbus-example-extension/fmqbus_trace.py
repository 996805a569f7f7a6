"""``x-trace``, an extension of MicroMsg2: which piece of work does a message belong to?

A sender that has chosen ``x-trace`` may write an EXTENSION frame with an id before a message. The id goes with just
that message over the bus, and those who have chosen ``x-trace`` too get it before the message. The property
``max-octets`` says how long ids may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.errors import PeerError
from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.limits import Limits
from fmqbus.protocols.micromsg2.events import Event
from fmqbus.protocols.micromsg2.hooks import Hooks
from fmqbus.protocols.micromsg2.numbers import Numbers

#: The longest id that we take; a UUID has 36 octets.
MAX_OCTETS = 64
#: The property of a message on the bus that holds its id.
ID = "x-trace:id"

_LENGTH = "max-octets"


@implementer(IPlugin, IMicroMsg2Extension)
class Trace:
    """The part: what it says in handshakes."""

    name = "x-trace"
    aliases = ()
    choice = ""
    summary = "tells which piece of work a message belongs to"

    def answer(self, properties: Mapping[str, str], limits: Limits) -> Mapping[str, str]:
        """Agree on the smaller length."""
        return {_LENGTH: str(_length(properties))} if _LENGTH in properties else {}

    def activate(self, properties: Mapping[str, str], numbers: Numbers, limits: Limits) -> Hooks:
        traces = _Traces(_length(properties))
        return Hooks(
            frame_received=traces.frame_received,
            message_received=traces.message_received,
            before_message=traces.before_message,
        )


class _Traces:
    """What it does on one connection."""

    def __init__(self, length: int) -> None:
        self._length = length
        #: Of the message that comes next.
        self._next: Mapping[str, str] = {}

    def frame_received(self, payload: bytes) -> Iterable[Event]:
        if not payload.isascii() or not 0 < len(payload) <= self._length:
            raise PeerError(f"an id has 1 to {self._length} octets of ASCII", "trace")
        self._next = {ID: payload.decode()}
        return ()

    def message_received(self, number: int) -> Mapping[str, str]:
        known, self._next = self._next, {}
        return known

    def before_message(self, number: int, properties: Mapping[str, str]) -> bytes | None:
        # it may come from a connection that agreed on longer ones, or by another protocol
        trace = properties.get(ID, "")
        return trace.encode() if trace.isascii() and 0 < len(trace) <= self._length else None


def _length(properties: Mapping[str, str]) -> int:
    text = properties.get(_LENGTH, str(MAX_OCTETS))
    if not text.isascii() or not text.isdecimal() or not 0 < len(text) <= 9:
        raise PeerError(f"not a length: {text}", "trace")
    return min(int(text), MAX_OCTETS)


TRACE = Trace()
