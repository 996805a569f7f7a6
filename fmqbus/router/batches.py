"""Which batch of which producer was the last to come onto the bus? So that one that is said again does not come twice.

A batch comes as a whole or not at all. What it puts into durable queues and the note that it has come are one change to
the store, and nobody is handed anything of it before that is safe: else he would get it again if the bus died in
between, and the producer said it again. Publications go out then too: never twice; if the bus dies at this very moment,
not at all, as any others that were on their way.

A producer belongs to who has proved his name; those who have proved none share theirs. So nobody says of another's
producer that its batches have come, and who makes up producers drives out notes of his own.

A batch that is too large for one call comes in parts, each of which is noted in the same way. The note has what tells
the batch from others: who goes on with one that was broken off has to go on with that one, or messages would be
missing, or there twice, in silence.

The note is a message of a queue that nobody can name, since that is what a store keeps. Without a store, the bus
remembers for as long as it runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

import attrs
import msgspec
from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from fmqbus import names
from fmqbus.errors import BusError, InvalidName, Overloaded, PeerError, StoreFailed
from fmqbus.model import Action, BatchPart, Message, StoredMessage
from fmqbus.router.dead_letters import unforged
from fmqbus.router.queue import Queue
from fmqbus.schedules.errands import Errand

if TYPE_CHECKING:
    from fmqbus.router.queue_table import QueueTable
    from fmqbus.router.safekeeping import Safekeeping
    from fmqbus.router.service import Router
    from fmqbus.router.session import Session

_log = Logger()

#: The queue of the notes.
NOTES = b"$/batches"


class Note(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a producer."""

    producer: str
    #: Of its last batch.
    number: int
    #: The name that its client has proved; empty if none.
    owner: str = ""
    #: The last part of that batch, of how many, and what tells the batch from others.
    part: int = 0
    parts: int = 1
    digest: str = ""


@attrs.define(eq=False)
class _Last:
    """The last batch of a producer, and who waits to hear that it is safe; None if it is."""

    number: int
    part: BatchPart
    stored: StoredMessage
    waiting: list[Deferred[bool]] | None = None

    def has(self, number: int, part: BatchPart) -> bool:
        """Whether this batch, or this part of it, has come. Raises `PeerError` if it cannot come now."""
        if number < self.number:
            return True
        if number > self.number:
            _demand_first(number, part)
            return False
        if self.part.number + 1 == self.part.of:
            return True
        if (part.of, part.digest) != (self.part.of, self.part.digest):
            raise PeerError(
                f"batch {number} was begun with other messages: {self.part.number + 1} of its {self.part.of} parts "
                "have come, and the others have to be of the same batch",
                "batch-changed",
            )
        if part.number > self.part.number + 1:
            raise PeerError(f"of batch {number}, part {self.part.number + 1} comes next", "batch-part")
        return part.number <= self.part.number


class Batches:
    """The producers of batches of one bus, and how far each has come."""

    def __init__(self, router: Router, table: QueueTable, safekeeping: Safekeeping | None) -> None:
        self._router = router
        self._table = table
        self._safekeeping = safekeeping
        #: By owner and name; who has come last is last.
        self._last: dict[tuple[str, str], _Last] = {}

    def bring_back(self, stored: StoredMessage) -> None:
        """The store has kept this note."""
        note = msgspec.msgpack.decode(stored.message.payload, type=Note)
        part = BatchPart(note.part, note.parts, note.digest)
        self._last[note.owner, note.producer] = _Last(note.number, part, stored)

    def put(
        self, session: Session, producer: str, number: int, errands: Sequence[Errand], part: BatchPart
    ) -> Deferred[bool]:
        """See `ISession.put_batch`."""
        if not errands:
            # rights are asked at what is in it
            raise PeerError("a batch has one message at least", "batch-empty")
        owner = session.principal.identity or ""
        last = self._last.get((owner, producer))
        if not producer:
            # he will not say again what has come: one note is for all without a name
            pass
        elif last is None:
            _demand_first(number, part)
        elif last.has(number, part):
            if last.waiting is None:
                return succeed(False)
            again: Deferred[bool] = Deferred()
            last.waiting.append(again)
            return again.addCallback(lambda _: False)
        if self._safekeeping is not None and self._safekeeping.failure is not None:
            # it could not be noted
            raise StoreFailed(str(self._safekeeping.failure))
        queues = self._demand(session, errands)
        arrivals: list[StoredMessage] = []
        with nullcontext() if self._safekeeping is None else self._safekeeping.together():
            for errand in errands:
                if errand.queue is not None:
                    queue = queues[errand.queue]
                    message = errand.message
                    if message.properties:
                        message = unforged(message, session.principal.protocol)
                    stored = self._table.new_message(queue, message, errand.terms)
                    if queue.safekeeping is not None:
                        queue.safekeeping.append(stored)
                    arrivals.append(stored)
            safe = self._note(owner, producer, number, part)
        published = [errand.message for errand in errands if errand.queue is None]
        return safe.addCallback(lambda _: self._arrive(session, arrivals, published))

    def _demand(self, session: Session, errands: Sequence[Errand]) -> dict[bytes, Queue]:
        """Raises what `ISession.put_batch` does where any of these cannot be done; returns the queues. Each message is
        named by its place."""
        if len(errands) > self._router.limits.batch_messages:
            most = self._router.limits.batch_messages
            raise Overloaded(f"a batch of {len(errands)} messages, {most} at most", "batch-large")
        may: set[tuple[Action, bytes]] = set()
        messages: Counter[bytes] = Counter()
        octets: Counter[bytes] = Counter()
        for place, errand in enumerate(errands):
            try:
                for action in _actions(errand):
                    if (action, errand.name) not in may:
                        self._demand_one(session, action, errand.name)
                        may.add((action, errand.name))
            except BusError as error:
                raise type(error)(f"message {place}: {error}", reason=error.reason) from None
            if errand.queue is not None:
                messages[errand.queue] += 1
                octets[errand.queue] += errand.octets
        self._table.demand_room_for(sum(messages.values()), sum(octets.values()), messages)
        queues = {name: self._table.queue(name) for name in messages}
        for name, queue in queues.items():
            if not queue.has_room_for(messages[name], octets[name]):
                raise Overloaded(f"queue {names.to_text(name)} has no room for the whole batch", "queue-full")
        return queues

    def _demand_one(self, session: Session, action: Action, name: bytes) -> None:
        if action is Action.ENQUEUE:
            session.demand_at(action, name)
        elif names.is_service(name):
            raise InvalidName("a batch is for no service topic", "name-reserved")
        else:
            session.demand(action, name)

    def _note(self, owner: str, producer: str, number: int, part: BatchPart) -> Deferred[None]:
        """Note the batch in place of the one before; fires when it is safe."""
        payload = msgspec.msgpack.encode(Note(producer, number, owner, part.number, part.of, part.digest))
        stored = StoredMessage(NOTES, self._table.next_number(), Message(NOTES, payload))
        key = owner, producer
        former = self._last.pop(key, None)
        gone = [] if former is None else [former]
        if len(self._last) >= self._router.limits.batch_producers:
            own = (each for each in self._last if each[0] == owner)
            gone.append(self._last.pop(next(own, None) or next(iter(self._last))))
        last = self._last[key] = _Last(number, part, stored, waiting=[])
        safekeeping = self._safekeeping
        if safekeeping is None:
            last.waiting = None
            return succeed(None)
        for each in gone:
            safekeeping.remove(each.stored)
        safekeeping.append(stored)
        return safekeeping.when_safe(stored).addCallbacks(
            self._safe, self._lost, callbackArgs=(last,), errbackArgs=(key, last)
        )

    def _safe(self, _: None, last: _Last) -> None:
        waiting, last.waiting = last.waiting, None
        for again in waiting or ():
            again.callback(True)

    def _lost(self, failure: Failure, key: tuple[str, str], last: _Last) -> Failure:
        """It is not known to the store: to be said again, when there is one that works."""
        if self._last.get(key) is last:
            del self._last[key]
        waiting, last.waiting = last.waiting, None
        for again in waiting or ():
            again.errback(failure)
        return failure

    def _arrive(self, session: Session, queued: Sequence[StoredMessage], published: Sequence[Message]) -> bool:
        for stored in queued:
            # the room that there was may be taken by now: the bounds are exceeded by this batch, then
            self._table.admit(session, stored)
        for message in published:
            try:
                session.publish_later(message)
            except BusError as error:
                # the policy has changed meanwhile
                session.count_refused(error.reason)
            except Exception:
                _log.failure("a message of a batch of {session} could not be published", session=session)
        self._router.flush(None)
        return True


def _demand_first(number: int, part: BatchPart) -> None:
    if part.number:
        raise PeerError(f"of batch {number}, part 0 comes first", "batch-part")


def _actions(errand: Errand) -> Sequence[Action]:
    if errand.queue is not None:
        return (Action.ENQUEUE,)
    return (Action.PUBLISH, Action.RETAIN) if errand.message.retain else (Action.PUBLISH,)
