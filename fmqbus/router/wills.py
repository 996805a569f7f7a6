"""The last wills of one client, until it goes: one for each topic, bounded. Whose right it is is asked elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from fmqbus.errors import Overloaded
from fmqbus.limits import Limits
from fmqbus.model import Message


class Wills:
    """Messages by topic, in the order in which their topics were first set."""

    __slots__ = ("_messages", "_octets")

    def __init__(self) -> None:
        self._messages: dict[bytes, Message] = {}
        self._octets = 0

    def set(self, message: Message, limits: Limits) -> None:
        """Keep the message instead of the topic's former one. Raises `Overloaded` at the bounds."""
        former = self._messages.get(message.topic)
        octets = self._octets + len(message.payload) - (len(former.payload) if former else 0)
        if octets > limits.wills_octets_per_peer or (not former and len(self._messages) >= limits.wills_per_peer):
            raise Overloaded("too many last wills of one client")
        self._messages[message.topic] = message
        self._octets = octets

    def remove(self, topic: bytes) -> None:
        """Forget the topic's message, if there is one."""
        former = self._messages.pop(topic, None)
        self._octets -= len(former.payload) if former else 0

    def take(self) -> Sequence[Message]:
        """Return all, and keep none."""
        messages, self._messages, self._octets = list(self._messages.values()), {}, 0
        return messages
