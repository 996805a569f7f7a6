"""``ack`` and ``batch-ack``: the sender stops until the other side has taken over what it was sent. (MicroMsg2,
Reliable, batch-ack)

Both directions alike (reading 39). One EXTENSION frame, of two octets, acknowledges everything up to a number; in
plain ``ack`` the same (reading 42). The two differ in their name and in the window that goes without saying.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.errors import PeerError
from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.limits import Limits
from fmqbus.protocols.micromsg2.events import Event, Settled
from fmqbus.protocols.micromsg2.hooks import Hooks
from fmqbus.protocols.micromsg2.numbers import Numbers, distance

_NUMBER = struct.Struct(">H")
#: The window's name: as we write it, and as else it is written (reading 9).
_COUNT = "max-count"
_COUNT_NAMES = (_COUNT, "count", "batch-max", "messagesperack")


class Acknowledgement:
    """Both windows of one connection: of what we send, and of what we receive."""

    def __init__(self, window: int, numbers: Numbers) -> None:
        self._window = window
        self._numbers = numbers
        #: The last number that the other side has acknowledged, and the last one that we have.
        self._settled = self._said = 0

    def room(self) -> int:
        """How many more frames may be sent."""
        return self._window - distance(self._settled, self._numbers.sent)

    def frame_received(self, payload: bytes) -> Iterable[Event]:
        """Numbers that are not outstanding are ignored (reading 40)."""
        if len(payload) != _NUMBER.size:
            raise PeerError(f"an acknowledgement has {_NUMBER.size} octets", "acknowledgement")
        (number,) = _NUMBER.unpack(payload)
        if not number or not 0 < distance(self._settled, number) <= distance(self._settled, self._numbers.sent):
            return ()
        self._settled = number
        return (Settled(number),)

    def acknowledge(self, number: int, at_once: bool) -> bytes | None:
        """Wait for half a window, so that the sender never has to wait for us (reading 39)."""
        if not at_once and 2 * distance(self._said, number) < self._window:
            return None
        self._said = number
        return _NUMBER.pack(number)


@implementer(IPlugin, IMicroMsg2Extension)
class AcknowledgementExtension:
    """`IMicroMsg2Extension` of ``ack`` or ``batch-ack``."""

    aliases = ()
    choice = "acknowledgement"

    def __init__(self, name: str, window: int, summary: str) -> None:
        self.name = name
        self.summary = summary
        self._window = window

    def answer(self, properties: Mapping[str, str], limits: Limits) -> Mapping[str, str]:
        """A window larger than ours becomes ours (reading 22)."""
        return {
            name: str(min(_window(value), limits.window)) for name, value in properties.items() if name in _COUNT_NAMES
        }

    def activate(self, properties: Mapping[str, str], numbers: Numbers, limits: Limits) -> Hooks:
        """The first count that was said is the window, also of plain ``ack`` (reading 23)."""
        said = [_window(value) for name, value in properties.items() if name in _COUNT_NAMES]
        acknowledgement = Acknowledgement(min([*said, self._window][0], limits.window), numbers)
        return Hooks(
            frame_received=acknowledgement.frame_received,
            room=acknowledgement.room,
            acknowledge=acknowledgement.acknowledge,
        )


def _window(value: str) -> int:
    """Read a window; one of nothing would be no connection at all."""
    if not (value.isascii() and value.isdecimal() and len(value) <= 20 and int(value)):
        raise PeerError(f"not a window: {value}", "window")
    return int(value)


ACK = AcknowledgementExtension("ack", 1, "acknowledges each message, or as many at a time as agreed")
BATCH_ACK = AcknowledgementExtension("batch-ack", 10, "acknowledges messages up to a number")
