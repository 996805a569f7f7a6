"""What waits for peers whose links are full, and when is it tried again?

ZeroMQ does not tell when one peer's link has room again. So those who wait are tried by a timer, a few at a time and
the one tried longest ago first: what that costs is the same however many peers never read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import attrs

from fmqbus.errors import Detached, Overloaded
from fmqbus.turns import Turns

#: A link that is read takes some hundred messages in this time.
RETRY_SECONDS = 0.01
#: To try a link that is still full takes some microseconds.
PEERS_AT_ONCE = 32

#: What a part costs beside its octets, so that many empty ones are not free.
_PART_OCTETS = 64

Message = Sequence[bytes]


@attrs.define(eq=False)
class _Box:
    messages: deque[Message] = attrs.field(factory=deque)
    octets: int = 0


class Outboxes:
    """The messages that wait, by peer, each peer's in order and within so many octets, unless it is a single one."""

    def __init__(
        self,
        clock: Any,
        turns: Turns,
        most_octets: int,
        push: Callable[[Message], bool],
        cleared: Callable[[bytes], None],
        lost: Callable[[bytes, Sequence[Message]], None],
    ) -> None:
        """`push` sends a message, or returns False while its peer's link is full, or raises `Detached`. `cleared` is
        told of each peer for whom nothing waits any more, `lost` of each that is gone, with the messages."""
        self._clock = clock
        self._turns = turns
        self._most_octets = most_octets
        self._push = push
        self._cleared = cleared
        self._lost = lost
        #: In the order in which they are tried.
        self._boxes: dict[bytes, _Box] = {}
        self._timer: Any = None

    def __contains__(self, peer: bytes) -> bool:
        """Whether something waits for the peer."""
        return peer in self._boxes

    def put(self, peer: bytes, message: Message) -> None:
        """Let a message wait, behind those that wait for the same peer. Raises `Overloaded` if that is too much: then
        some wait, and `cleared` or `lost` will tell when none do."""
        box = self._boxes.get(peer) or _Box()
        octets = _octets(message)
        if box.messages and box.octets + octets > self._most_octets:
            raise Overloaded(f"more than {self._most_octets} octets wait for one peer", "outbox-octets")
        box.messages.append(message)
        box.octets += octets
        self._boxes[peer] = box
        if self._timer is None:
            self._timer = self._clock.callLater(RETRY_SECONDS, self._retry)

    def forget(self, peer: bytes) -> Sequence[Message]:
        """Take back what waits for the peer, if anything does."""
        box = self._boxes.pop(peer, None)
        return () if box is None else tuple(box.messages)

    def close(self) -> None:
        """Discard everything."""
        self._boxes.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _retry(self) -> None:
        self._timer = self._clock.callLater(RETRY_SECONDS, self._retry)
        for peer in list(islice(self._boxes, PEERS_AT_ONCE)):
            # those who were told before may have changed much, even closed everything
            if (box := self._boxes.pop(peer, None)) is not None:
                self._try(peer, box)
            if self._turns.is_used_up:
                break
        if not self._boxes and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _try(self, peer: bytes, box: _Box) -> None:
        try:
            while self._push(box.messages[0]):
                box.octets -= _octets(box.messages.popleft())
                if not box.messages:
                    self._cleared(peer)
                    return
                if self._turns.is_used_up:
                    break
        except Detached:
            self._lost(peer, tuple(box.messages))
            return
        self._boxes[peer] = box


def _octets(message: Message) -> int:
    return sum(map(len, message)) + _PART_OCTETS * len(message)
