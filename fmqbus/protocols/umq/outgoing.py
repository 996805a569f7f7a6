"""What is sent when? Text messages at once, attachments behind them in one line. (readings 11, 12, 33)

A text message passes all attachments that wait, so that nothing is held back by what is attached to something else. It
may not pass what is attached to former updates of its own topic: it would be acted on before these are complete. So it
stands in the line itself, behind them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple

from fmqbus.calls import FailedAttachment
from fmqbus.protocols.umq import codec
from fmqbus.protocols.umq.attachments import Attachment


class _Waiting(NamedTuple):
    octets: bytes
    is_text: bool
    topic: int | None


class Outgoing:
    """What one peer has said and its carrier has not taken."""

    __slots__ = ("_line", "_texts", "_topics")

    def __init__(self) -> None:
        self._texts: list[bytes] = []
        # None while it is empty: an empty deque has room for 64, and most peers never have a line
        self._line: deque[_Waiting] | None = None
        #: How much of each topic stands in the line.
        self._topics: Counter[int | None] = Counter()

    def __len__(self) -> int:
        """How many stand in the line."""
        return len(self._line or ())

    def send(self, text: bytes, attachments: Sequence[Attachment] = (), topic: int | None = None) -> None:
        """Take over a message, which announces these attachments; `topic` is the id of the one that it tells of."""
        if attachments:
            self._texts.append(text)
            for attachment in attachments:
                self._queue(*_in_place(attachment), topic)
        elif topic is not None and topic in self._topics:
            self._queue(text, True, topic)
        else:
            self._texts.append(text)

    def take_texts(self) -> list[bytes]:
        """See `Peer.take_texts`."""
        texts, self._texts = self._texts, []
        return texts

    def take_attachment(self) -> bytes | None:
        """See `Peer.take_attachment`."""
        assert self._line
        octets, is_text, topic = self._line.popleft()
        self._line = self._line or None
        self._topics[topic] -= 1
        if not self._topics[topic]:
            del self._topics[topic]
        if not is_text:
            return octets
        self._texts.append(octets)
        return None

    def forget_line(self) -> None:
        """What stands in the line is not sent."""
        self._line = None
        self._topics.clear()

    def _queue(self, octets: bytes, is_text: bool, topic: int | None) -> None:
        if self._line is None:
            self._line = deque()
        self._line.append(_Waiting(octets, is_text, topic))
        self._topics[topic] += 1


def _in_place(attachment: Attachment) -> tuple[bytes, bool]:
    """What is sent in the place of an attachment, and whether that is text."""
    if isinstance(attachment, FailedAttachment):
        return codec.encode(codec.ATTACHMENT_ERROR, 0, attachment.reason.encode("utf-8", "replace")), True
    return attachment, False
