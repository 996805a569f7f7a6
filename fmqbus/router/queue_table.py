"""Which queues are there, how does each behave, and how much do they hold together?

A queue comes to be when it is named and goes when nothing would be lost, so peers can invent names without end and
leave nothing behind. Every message comes in by `add` and goes by `leave` or `accept`: here the totals are kept, the
store is told, and who waits for room is let go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING

import attrs

from fmqbus import names
from fmqbus.errors import Overloaded
from fmqbus.model import Message, QueueSettings, QueueStatus, StoredMessage, Terms
from fmqbus.router.queue import Queue
from fmqbus.router.queue_tally import QueueTally
from fmqbus.router.safekeeping import Safekeeping
from fmqbus.router.schedule import Schedule
from fmqbus.router.slices import STEP

if TYPE_CHECKING:
    from fmqbus.router.service import Router
    from fmqbus.router.session import Session

#: What one message may drive out, when it is larger than those before it; some milliseconds.
_MOST_DROPS = 1000


class QueueTable:
    """The queues of one bus by name."""

    def __init__(
        self,
        router: Router,
        schedule: Schedule[StoredMessage],
        safekeeping: Safekeeping | None,
        awake: dict[Queue, None],
        settings: QueueSettings,
        rules: Sequence[tuple[bytes, QueueSettings]],
    ) -> None:
        """`awake` is where queues are noted that have something for somebody. Of the rules, the first whose pattern is
        equivalent to a queue's name decides on its settings."""
        #: The time, in POSIX seconds.
        self.now = schedule.now
        #: What all queues hold together.
        self.messages = 0
        self.octets = 0
        self._queues: dict[bytes, Queue] = {}
        self._router = router
        self._limits = router.limits
        self._schedule = schedule
        self._safekeeping = safekeeping
        self._awake = awake
        self._settings = settings
        self._rules = list(rules)
        self._numbers = count(1)
        #: Queues with producers on hold.
        self._holding: set[Queue] = set()
        #: Of queues that have gone, by the pattern of their rule.
        self._tallies: dict[bytes, QueueTally] = {}
        #: Enqueued in this turn, for observers.
        self._news: list[tuple[Session | None, StoredMessage]] = []

    # queues

    def __iter__(self) -> Iterator[Queue]:
        """All of them, as they are now."""
        return iter(list(self._queues.values()))

    def find(self, name: bytes) -> Queue | None:
        """The queue of this name, if there is one."""
        return self._queues.get(name)

    def queue(self, name: bytes) -> Queue:
        """The queue of this name; a new one is in the table only when `keep` is called or something is added. Raises
        `Overloaded`."""
        queue = self._queues.get(name)
        if queue is not None:
            return queue
        if len(self._queues) >= self._limits.queues:
            raise Overloaded("there are too many queues", "queues-full")
        return self._make(name)

    def keep(self, queue: Queue) -> None:
        """Somebody has come to this queue."""
        self._queues[queue.name] = queue

    def _make(self, name: bytes) -> Queue:
        pattern, settings = self._rule_of(name)
        safekeeping = self._safekeeping if settings.durable else None
        return Queue(name, settings, self._schedule, safekeeping, pattern)

    def settings_of(self, name: bytes) -> QueueSettings:
        """How a queue of this name behaves, or would."""
        return self._rule_of(name)[1]

    def _rule_of(self, name: bytes) -> tuple[bytes, QueueSettings]:
        usual = (b"", self._settings)
        return next((rule for rule in self._rules if names.equivalent(rule[0], name)), usual)

    def look_at(self, queue: Queue) -> None:
        """Something has changed: there may be something to deliver, or room for producers, or nothing left at all."""
        if queue.producers_on_hold and queue.is_half_empty:
            producers, queue.producers_on_hold = queue.producers_on_hold, None
            self._holding.discard(queue)
            for session in producers:
                session.release_reading()
        if queue.can_deliver:
            self._awake[queue] = None
        elif queue.is_idle:
            gone = self._queues.pop(queue.name, None)
            if gone is not None:
                self._tallies.setdefault(gone.rule, QueueTally()).take(gone)

    def tally(self, tallies: dict[bytes, QueueTally]) -> Iterator[None]:
        """Reckon in steps what the queues of each rule hold and have seen, those included that have gone."""
        tallies.update((rule, attrs.evolve(tally)) for rule, tally in self._tallies.items())
        for number, queue in enumerate(self):
            tallies.setdefault(queue.rule, QueueTally()).add(queue)
            if number % STEP == 0:
                yield

    def statuses(self, after: bytes, most: int | None) -> list[QueueStatus]:
        """See `IRouter.queues`."""
        return [self._queues[name].status() for name in names.page(self._queues, after, most)]

    # messages

    def new_message(self, queue: Queue, message: Message, terms: Terms) -> StoredMessage:
        """A message as this queue would keep it; it is in it when it is added."""
        number = self.next_number()
        life, usual = terms.time_to_live, queue.settings.time_to_live
        if life is None or 0 < usual < life:
            life = usual or None
        if life is None and not terms.delay:
            return StoredMessage(queue.name, number, message, terms.priority)
        now = self.now()
        expires_at = None if life is None else now + life
        return StoredMessage(
            queue.name, number, message, terms.priority, expires_at, now + terms.delay if terms.delay else 0.0
        )

    def next_number(self) -> int:
        """A number that nothing else in the store has."""
        return next(self._numbers)

    def demand_room_for(self, messages: int, octets: int, queues: Iterable[bytes]) -> None:
        """Raises `Overloaded` if all queues together have no room for so many more messages of so many octets, or these
        queues would be too many."""
        limits = self._limits
        if len(self._queues) + sum(name not in self._queues for name in queues) > limits.queues:
            raise Overloaded("there are too many queues", "queues-full")
        if self.messages + messages > limits.queued_messages or self.octets + octets > limits.queued_octets:
            raise Overloaded("the queues of this bus have no room for the whole batch", "queues-full")

    def demand_room(self, octets: int) -> None:
        """Raises `Overloaded` if all queues together have no room for one more message of this size."""
        limits = self._limits
        if self.messages >= limits.queued_messages or self.octets + octets > limits.queued_octets:
            raise Overloaded("the queues of this bus are full", "queues-full")

    def add(self, session: Session | None, queue: Queue, stored: StoredMessage, octets: int) -> None:
        """The message is in this queue from now on; `session` has enqueued it."""
        if queue.safekeeping is not None:
            queue.safekeeping.append(stored)
        self._place(session, queue, stored, octets)

    def admit(self, session: Session, stored: StoredMessage) -> None:
        """As `add`, for a message that the store has already, if its queue is durable."""
        queue = self._queues.get(stored.queue) or self._make(stored.queue)
        self._place(session, queue, stored, stored.octets)

    def _place(self, session: Session | None, queue: Queue, stored: StoredMessage, octets: int) -> None:
        self._count(queue, octets)
        queue.place(stored, self.now() if stored.not_before else 0.0)
        if queue.consumers.may_have_room:
            self._awake[queue] = None
        if self._router.observers:
            self._news.append((session, stored))

    def bring_back(self, stored: StoredMessage) -> Queue:
        """The store has kept this message: count it in its queue, where it is still to be placed."""
        queue = self._queues.get(stored.queue) or self._make(stored.queue)
        # also if its settings have changed since: else its messages would come back for ever
        queue.safekeeping = self._safekeeping
        self._count(queue, stored.octets)
        return queue

    def _count(self, queue: Queue, octets: int) -> None:
        self._queues[queue.name] = queue
        queue.enqueued += 1
        queue.messages += 1
        queue.octets += octets
        self.messages += 1
        self.octets += octets

    def accept(self, queue: Queue, settled: Sequence[StoredMessage]) -> None:
        """These, which a consumer held, are done with."""
        octets = 0
        for stored in settled:
            octets += stored.octets
            if queue.safekeeping is not None:
                queue.safekeeping.accepted(stored)
        queue.accepted += len(settled)
        queue.unsettled -= len(settled)
        queue.messages -= len(settled)
        queue.octets -= octets
        self.messages -= len(settled)
        self.octets -= octets

    def leave(self, queue: Queue, stored: StoredMessage, reason: str) -> None:
        """A message that was taken out of its place goes, and nobody has accepted it."""
        octets = stored.octets
        queue.messages -= 1
        queue.octets -= octets
        self.messages -= 1
        self.octets -= octets
        if queue.safekeeping is not None:
            queue.safekeeping.remove(stored)
        self._router.tell("gave_up", queue.name, stored, reason)

    def drop(self, queue: Queue, stored: StoredMessage, reason: str) -> None:
        """It goes for good."""
        queue.dropped += 1
        self.leave(queue, stored, reason)

    def make_room(self, queue: Queue, octets: int, priority: int) -> bool:
        """Drop what is oldest until a message of this size and priority fits; False if it does not."""
        if octets > queue.settings.max_octets:
            return False
        for _ in range(_MOST_DROPS):
            oldest = None if queue.has_room(octets) else queue.oldest_up_to(priority)
            if oldest is None:
                break
            queue.withdraw(oldest)
            self.drop(queue, oldest, "make-room")
        return queue.has_room(octets)

    # producers

    def hold(self, queue: Queue, session: Session) -> None:
        """The producer has to wait until the queue is half empty."""
        if queue.producers_on_hold is None:
            queue.producers_on_hold = set()
        if session not in queue.producers_on_hold:
            queue.producers_on_hold.add(session)
            self._holding.add(queue)
            session.hold_reading()

    def forget_producer(self, session: Session) -> None:
        """The session has closed."""
        for queue in tuple(self._holding):
            if queue.producers_on_hold is not None:
                queue.producers_on_hold.discard(session)
            if not queue.producers_on_hold:
                self._holding.discard(queue)

    # observers

    def tell_news(self) -> None:
        """Tell observers what has come in since this was last called."""
        if not self._news:
            return
        news, self._news = self._news, []
        by_session: dict[Session | None, list[StoredMessage]] = {}
        for session, stored in news:
            by_session.setdefault(session, []).append(stored)
        for session, messages in by_session.items():
            self._router.tell("enqueued", session, messages)

    def count_from(self, number: int) -> None:
        """Number new messages from here on."""
        self._numbers = count(number)
