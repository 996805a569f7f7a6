"""Which messages may be sent now, and which of those sent has the other side taken over? (MicroMsg2, Reliable)

Messages leave in the order in which they were given, each frame under the next number. Where an extension gives no
room, they wait; a message of several frames may wait half-sent, and nothing comes between its frames (reading 45).
Whoever gives messages must stop while some wait: what waits here is bounded by nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from sys import maxsize
from typing import Any

import attrs

from fmqbus.protocols.micromsg2 import numbers
from fmqbus.protocols.micromsg2.codec import encode_extension
from fmqbus.protocols.micromsg2.frames import Frames
from fmqbus.protocols.micromsg2.hooks import Hooks
from fmqbus.protocols.micromsg2.numbers import Numbers


@attrs.define(slots=True)
class _Message:
    """What is to be sent: one message, or several where no extension wants to see each."""

    frames: Frames
    properties: Mapping[str, str]
    #: Which frames are the last of a message, with its tag.
    tags: deque[tuple[int, Any]]
    #: How many of the frames have been sent.
    sent: int = 0


class Outgoing:
    """One direction of a connection: ours."""

    __slots__ = ("_before_message", "_is_acknowledged", "_numbers", "_rooms", "_unsettled", "_waiting")

    def __init__(self, numbers: Numbers, hooks: Mapping[int, Hooks]) -> None:
        """`hooks` are those of the active extensions, by index."""
        self._numbers = numbers
        self._rooms: Sequence[Callable[[], int]] = [hook.room for hook in hooks.values() if hook.room]
        self._before_message = [(index, hook.before_message) for index, hook in hooks.items() if hook.before_message]
        self._is_acknowledged = any(hook.acknowledge for hook in hooks.values())
        self._waiting: deque[_Message] = deque()
        #: Number of the last frame, and tag.
        self._unsettled: deque[tuple[int, Any]] = deque()

    @property
    def is_waiting(self) -> bool:
        """Whether something waits for room."""
        return bool(self._waiting)

    @property
    def sees_messages(self) -> bool:
        """Whether an extension wants to see each message before it is sent."""
        return bool(self._before_message)

    def room(self) -> int:
        """How many frames may be sent now."""
        return min([room() for room in self._rooms], default=maxsize)

    def send(self, frames: Frames, properties: Mapping[str, str], tags: Sequence[Any]) -> list[bytes]:
        """Take messages over, with a tag for each or with none; returns what is to be written now."""
        ends = zip(frames.ends, tags, strict=True) if tags and self._is_acknowledged else ()
        self._waiting.append(_Message(frames, properties, deque(ends)))
        return self.go_on() if len(self._waiting) == 1 else []

    def go_on(self) -> list[bytes]:
        """Send what there is room for; returns what is to be written now."""
        chunks: list[bytes] = []
        while self._waiting and (room := self.room()) > 0:
            message = self._waiting[0]
            chunks += self._write(message, min(message.frames.count, message.sent + room))
            if message.sent == message.frames.count:
                self._waiting.popleft()
        return chunks

    def settled(self, number: int) -> list[Any]:
        """Everything up to this number has been taken over; returns the tags of the messages."""
        tags = []
        while self._unsettled and numbers.is_reached(self._unsettled[0][0], number):
            tags.append(self._unsettled.popleft()[1])
        return tags

    def _write(self, message: _Message, stop: int) -> list[bytes]:
        """Send the frames of a message up to one."""
        first = numbers.after(self._numbers.sent)
        chunks: list[bytes] = []
        if not message.sent:
            for index, before_message in self._before_message:
                payload = before_message(first, message.properties)
                if payload is not None:
                    chunks += encode_extension(index, payload)
        chunks.append(message.frames.numbered(first, message.sent, stop))
        while message.tags and message.tags[0][0] < stop:
            end, tag = message.tags.popleft()
            self._unsettled.append((numbers.after(first, end - message.sent), tag))
        self._numbers.sent = numbers.after(first, stop - message.sent - 1)
        message.sent = stop
        return chunks
