"""Attachments: which binary message belongs to which text message? (UMQ, Attachment count; readings 11 to 15)

Attachments come in the order in which they were announced, over all messages together: each binary message, and each
``-`` in place of one, is for the oldest place that is open. A message is complete when all its places are filled; those
that announce none wait for nobody.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import attrs

from fmqbus.calls import FailedAttachment
from fmqbus.protocols.umq.codec import Command, Fault

#: What comes in one place: octets, or that they could not be sent (UMQ, command ``-``).
Attachment = bytes | FailedAttachment

#: What a message that waits costs, and what an attachment does, besides the octets they carry.
_MESSAGE_OCTETS = 200
_PLACE_OCTETS = 64


def octets_of(attachment: Attachment) -> int:
    """What an attachment counts against the bounds; one without octets counts as well."""
    return _PLACE_OCTETS + len(attachment.reason if isinstance(attachment, FailedAttachment) else attachment)


@attrs.define(slots=True, eq=False)
class _Incomplete:
    #: None where the message was refused: what is attached to it is discarded.
    command: Command | None
    #: Places that are open.
    missing: int
    octets: int
    attachments: list[Attachment] = attrs.field(factory=list)


class Arrivals:
    """The messages of one peer whose attachments have not all come."""

    __slots__ = ("_incomplete", "_most_octets", "filled", "held")

    def __init__(self, most_octets: int) -> None:
        """`most_octets` of messages and attachments may wait for the rest."""
        self._most_octets = most_octets
        # None while there are none: an empty deque has room for 64, and most peers never attach anything
        self._incomplete: deque[_Incomplete] | None = None
        #: Octets that wait.
        self.held = 0
        #: How many attachments have come; with `is_waiting` it tells whether the next one is late.
        self.filled = 0

    @property
    def is_waiting(self) -> bool:
        """Some place is open."""
        return bool(self._incomplete)

    def announce(self, command: Command, is_refused: bool = False) -> None:
        """A message has come that announces attachments. Raises `Fault` beyond the bounds."""
        octets = _MESSAGE_OCTETS + (0 if is_refused else len(command.payload))
        self._hold(octets)
        if self._incomplete is None:
            self._incomplete = deque()
        self._incomplete.append(_Incomplete(None if is_refused else command, command.attachments, octets))

    def fill(self, attachment: Attachment) -> tuple[Command, Sequence[Attachment]] | None:
        """An attachment has come. Returns the message that it completes. Raises `Fault` if none was announced."""
        if not self._incomplete:
            raise Fault("nobody has announced an attachment", reason="attachments")
        self.filled += 1
        oldest = self._incomplete[0]
        if oldest.command is not None:
            octets = octets_of(attachment)
            self._hold(octets)
            oldest.octets += octets
            oldest.attachments.append(attachment)
        oldest.missing -= 1
        if oldest.missing:
            return None
        self._incomplete.popleft()
        self._incomplete = self._incomplete or None
        self.held -= oldest.octets
        return None if oldest.command is None else (oldest.command, oldest.attachments)

    def forget(self) -> None:
        """Nothing more is waited for."""
        self._incomplete = None
        self.held = 0

    def _hold(self, octets: int) -> None:
        if self.held + octets > self._most_octets:
            raise Fault("too much waits for its attachments", reason="attachments")
        self.held += octets
