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

#: What a message that waits costs, besides what it carries.
_MESSAGE_OCTETS = 200


@attrs.define(slots=True, eq=False)
class _Incomplete:
    command: Command
    attachments: list[Attachment] = attrs.field(factory=list)


class Arrivals:
    """The messages of one peer whose attachments have not all come."""

    __slots__ = ("_incomplete", "_most_octets", "completed", "held")

    def __init__(self, most_octets: int) -> None:
        """`most_octets` of messages and attachments may wait for the rest."""
        self._most_octets = most_octets
        self._incomplete: deque[_Incomplete] = deque()
        #: Octets that wait.
        self.held = 0
        #: How many messages have been completed; with `is_waiting` it tells whether the oldest has waited long.
        self.completed = 0

    @property
    def is_waiting(self) -> bool:
        """Some place is open."""
        return bool(self._incomplete)

    def announce(self, command: Command) -> None:
        """A message has come that announces attachments. Raises `Fault` beyond the bounds."""
        self._hold(_MESSAGE_OCTETS + len(command.payload))
        self._incomplete.append(_Incomplete(command))

    def fill(self, attachment: Attachment) -> tuple[Command, Sequence[Attachment]] | None:
        """An attachment has come. Returns the message that it completes. Raises `Fault` if none was announced."""
        if not self._incomplete:
            raise Fault("nobody has announced an attachment", reason="attachments")
        oldest = self._incomplete[0]
        self._hold(_octets(attachment))
        oldest.attachments.append(attachment)
        if len(oldest.attachments) < oldest.command.attachments:
            return None
        self._incomplete.popleft()
        self.held -= _MESSAGE_OCTETS + len(oldest.command.payload) + sum(map(_octets, oldest.attachments))
        self.completed += 1
        return oldest.command, oldest.attachments

    def forget(self) -> None:
        """Nothing more is waited for."""
        self._incomplete.clear()
        self.held = 0

    def _hold(self, octets: int) -> None:
        if self.held + octets > self._most_octets:
            raise Fault("too much waits for its attachments", reason="attachments")
        self.held += octets


def _octets(attachment: Attachment) -> int:
    return len(attachment.reason if isinstance(attachment, FailedAttachment) else attachment)
