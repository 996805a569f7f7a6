"""What becomes of a message that has to leave its queue without having been accepted?

It becomes a dead letter: a new message in another queue, appended there before it is removed here, so that no crash
loses it. Where there is no queue for it, it is forgotten, and counted. So is a dead letter that would become one again:
none ever wanders on by itself.

A dead letter carries marks that say what it died of and where. They are properties, so that every protocol that carries
properties shows them, and that a store keeps them. They decide where a message is sent back to; therefore a client that
sets them itself is not believed.
"""

from __future__ import annotations

import msgspec

from fmqbus.errors import Overloaded
from fmqbus.model import (
    ANSWER_ADDRESSES,
    DEAD_LETTER_DETAIL,
    DEAD_LETTER_QUEUE,
    DEAD_LETTER_REASON,
    NO_PROPERTIES,
    Message,
    QueueOverflow,
    StoredMessage,
    Terms,
)
from fmqbus.names import from_text, to_text
from fmqbus.router.queue import EXPIRED, Queue, is_dead_letter
from fmqbus.router.queue_table import QueueTable

#: Further values of `DEAD_LETTER_REASON`, beside those of `Queue.fault_of`.
REJECTED = "rejected"
QUEUE_FULL = "queue-full"

_MARKS = frozenset((DEAD_LETTER_REASON, DEAD_LETTER_QUEUE, DEAD_LETTER_DETAIL))
_DETAIL_CHARACTERS = 255


def unmarked(message: Message) -> Message:
    """The message without anything that makes it a dead letter."""
    if _MARKS.isdisjoint(message.properties):
        return message
    kept = {key: value for key, value in message.properties.items() if key not in _MARKS}
    return msgspec.structs.replace(message, properties=kept or NO_PROPERTIES)


def unforged(message: Message, protocol: str | None) -> Message:
    """The message without what only the bus, or another protocol, could say of it."""
    message = unmarked(message)
    if ANSWER_ADDRESSES.keys().isdisjoint(message.properties):
        return message
    kept = {key: value for key, value in message.properties.items() if ANSWER_ADDRESSES.get(key, protocol) == protocol}
    return msgspec.structs.replace(message, properties=kept or NO_PROPERTIES)


def _marked(message: Message, queue: bytes, reason: str, detail: str) -> Message:
    marks = {DEAD_LETTER_REASON: reason, DEAD_LETTER_QUEUE: to_text(queue)}
    if detail:
        marks[DEAD_LETTER_DETAIL] = detail[:_DETAIL_CHARACTERS]
    return msgspec.structs.replace(message, properties={**message.properties, **marks})


class DeadLetters:
    """The dead letters of one bus, wherever they are."""

    def __init__(self, table: QueueTable) -> None:
        self._table = table

    def bury(self, queue: Queue, stored: StoredMessage, reason: str, detail: str = "") -> None:
        """A message that was taken out of its place cannot go on in this queue."""
        queue.expired += reason == EXPIRED
        found = self.grave_for(queue, stored, reason, detail)
        if found is None:
            self._table.drop(queue, stored, reason)
        else:
            grave, letter = found
            self._table.add(None, grave, letter, letter.octets)
            queue.dead_lettered += 1
            self._table.leave(queue, stored, reason)

    def grave_for(
        self, queue: Queue, stored: StoredMessage, reason: str, detail: str = ""
    ) -> tuple[Queue, StoredMessage] | None:
        """The queue that takes a message of this one as a dead letter, and the letter; None if none does."""
        name = queue.settings.dead_letter
        if name is None or name == queue.name or is_dead_letter(stored.message):
            return None
        try:
            grave = self._table.queue(name)
        except Overloaded:
            return None
        message = _marked(stored.message, queue.name, reason, detail)
        letter = self._table.new_message(grave, message, Terms(priority=stored.priority))
        octets = letter.octets
        drops_oldest = grave.settings.overflow is QueueOverflow.DROP_OLDEST
        if grave.has_room(octets) or (drops_oldest and self._table.make_room(grave, octets, letter.priority)):
            return grave, letter
        return None

    def send_back(self, queue: Queue, letter: StoredMessage) -> bool:
        """Enqueue a letter again where it died, as if it were new. False if it is no letter, waits here no more, or
        finds no room there."""
        if not is_dead_letter(letter.message):
            return False
        try:
            origin = self._table.queue(from_text(letter.message.properties[DEAD_LETTER_QUEUE]))
        except Overloaded:
            return False
        revived = self._table.new_message(origin, unmarked(letter.message), Terms(priority=letter.priority))
        octets = revived.octets
        if not origin.has_room(octets) or not queue.withdraw(letter):
            return False
        self._table.add(None, origin, revived, octets)
        queue.requeued += 1
        self._table.leave(queue, letter, "requeued")
        return True
