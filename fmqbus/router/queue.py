"""One queue: which message is next, what waits for its time, and how full is it? A state machine without I/O.

Each message is in one of three places. It is *ready*; or *delayed*, until its time comes; or *unsettled*, in the hands
of a consumer, until he settles it or goes. What is ready has one order: higher priorities first, and within a priority
the order of enqueueing, which is that of the messages' numbers. A message that comes back, or whose delay is over,
therefore takes its old place, before all that came later.

Time is an argument. What is due is kept in the bus's schedule; what becomes of messages that have to leave is decided
in `fmqbus.router.settling`.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from fmqbus.model import DEAD_LETTER_QUEUE, Message, QueueSettings, QueueStatus, StoredMessage
from fmqbus.router.consumers import Member
from fmqbus.router.line import Line
from fmqbus.router.sorted_map import SortedMap

if TYPE_CHECKING:
    from fmqbus.router.safekeeping import Safekeeping
    from fmqbus.router.schedule import Schedule
    from fmqbus.router.session import Session

#: Why a message may not wait in its queue any longer; values of `fmqbus.model.DEAD_LETTER_REASON`.
EXPIRED = "expired"
DELIVERY_LIMIT = "delivery-limit"

#: From here on the waiting time between two deliveries grows no more, whatever its factor; keeps numbers finite.
_MOST_GROWTHS = 64
_not_before = attrgetter("not_before")
_taken_at = attrgetter("taken_at")
_priority = itemgetter(0)


class Queue:
    """See above. Who changes it from outside keeps to its methods; the counters are for all to read."""

    __slots__ = (
        "_delayed",
        "_lanes",
        "_schedule",
        "accepted",
        "consumers",
        "dead_lettered",
        "delivered",
        "dropped",
        "enqueued",
        "expired",
        "is_named",
        "messages",
        "name",
        "octets",
        "producers_on_hold",
        "ready",
        "refused",
        "released",
        "requeued",
        "returns",
        "rule",
        "safekeeping",
        "settings",
        "unsettled",
    )

    def __init__(
        self,
        name: bytes,
        settings: QueueSettings,
        schedule: Schedule[StoredMessage],
        safekeeping: Safekeeping | None = None,
        rule: bytes = b"",
    ) -> None:
        self.name = name
        self.settings = settings
        #: The pattern of the rule that decided on them; empty if none did.
        self.rule = rule
        #: Where its messages are kept too; None if they are in memory only.
        self.safekeeping = safekeeping
        #: It has settings of its own, and stays when it is empty.
        self.is_named = rule == name
        self.consumers: Line[Member] = Line()
        #: Works under way that bring messages back, in order; nobody is given any meanwhile.
        self.returns = 0
        #: All messages that are in it, those that are ready, and those in the hands of consumers.
        self.messages = self.ready = self.unsettled = 0
        #: What all of them count.
        self.octets = 0
        # see `fmqbus.model.QueueStatus`
        self.enqueued = self.delivered = self.accepted = self.released = 0
        self.dead_lettered = self.requeued = self.dropped = self.expired = self.refused = 0
        #: Those who must wait until it is half empty; made when first needed, as `_delayed`.
        self.producers_on_hold: set[Session] | None = None
        self._delayed: dict[int, StoredMessage] | None = None
        #: The ready messages of each priority that was ever used, by number; the highest first.
        self._lanes: dict[int, SortedMap[int, StoredMessage]] = {}
        self._schedule = schedule

    # how full it is

    @property
    def is_idle(self) -> bool:
        """Nothing would be lost if it were forgotten."""
        return not (self.is_named or self.consumers or self.messages or self.returns)

    @property
    def delayed(self) -> int:
        """Messages whose time has not come."""
        return len(self._delayed or ())

    @property
    def is_half_empty(self) -> bool:
        """No bound is used by more than half."""
        settings = self.settings
        return self.messages * 2 <= settings.max_messages and self.octets * 2 <= settings.max_octets

    @property
    def can_deliver(self) -> bool:
        """There is something for somebody."""
        return bool(self.ready and self.consumers.may_have_room and not self.returns)

    def has_room(self, octets: int, times: int = 1) -> bool:
        """One more message of this size keeps to so many times the bounds."""
        settings = self.settings
        return self.messages < settings.max_messages * times and self.octets + octets <= settings.max_octets * times

    def has_room_for(self, messages: int, octets: int) -> bool:
        """So many messages, of so many octets together, keep to the bounds."""
        settings = self.settings
        return self.messages + messages <= settings.max_messages and self.octets + octets <= settings.max_octets

    # how messages move

    def place(self, stored: StoredMessage, now: float) -> None:
        """Put a message of this queue where it has to wait."""
        if stored.not_before > now:
            if self._delayed is None:
                self._delayed = {}
            self._delayed[stored.number] = stored
            self._schedule.add(_end_of_delay(stored), stored)
            return
        self._lane_of(stored.priority).add(stored.number, stored)
        self.ready += 1
        if stored.expires_at is not None:
            self._schedule.add(stored.expires_at, stored)

    def withdraw(self, stored: StoredMessage) -> bool:
        """Take a waiting message out, wherever it is; False if it does not wait here."""
        if self._delayed and self._delayed.pop(stored.number, None) is not None:
            self._schedule.discard(_end_of_delay(stored), stored)
            return True
        if self._lane_of(stored.priority).discard(stored.number) is None:
            return False
        self.ready -= 1
        if stored.expires_at is not None:
            self._schedule.discard(stored.expires_at, stored)
        return True

    def take(self, most: int, most_octets: int) -> list[StoredMessage]:
        """Take some of the next ready messages out: so many at most, none beyond the one that passes so many octets,
        and one at least; there must be one."""
        lane = next(filter(None, self._lanes.values()))
        taken: list[StoredMessage] = []
        octets = 0
        for stored in lane.peek(most):
            taken.append(stored)
            octets += len(stored.message.payload)
            if stored.expires_at is not None:
                self._schedule.discard(stored.expires_at, stored)
            if octets >= most_octets:
                break
        lane.drop_first(len(taken))
        self.ready -= len(taken)
        return taken

    def give(self, member: Member, messages: Sequence[StoredMessage], now: float) -> None:
        """These were taken out, and are now in the hands of a consumer."""
        for stored in messages:
            stored.deliveries += 1
            stored.taken_at = now
            member.unsettled[stored.number] = stored
        if member.credit is not None:
            member.credit.left -= len(messages)
        self.delivered += len(messages)
        self.unsettled += len(messages)
        self.consumers.gave(member, len(messages))

    def fault_of(self, stored: StoredMessage, now: float) -> str | None:
        """Why a message may not wait here any longer; None if it may."""
        if stored.expires_at is not None and stored.expires_at <= now:
            return EXPIRED
        limit = self.settings.delivery_limit
        if limit and stored.deliveries >= limit and not is_dead_letter(stored.message):
            return DELIVERY_LIMIT
        return None

    def retry_wait(self, stored: StoredMessage) -> float:
        """Seconds until a released message may be delivered again."""
        settings = self.settings
        growths = min(max(stored.deliveries - 1, 0), _MOST_GROWTHS)
        return min(settings.retry_first * settings.retry_factor**growths, settings.retry_longest)

    # what can be seen of it

    def waiting(self) -> Iterator[StoredMessage]:
        """All that are in nobody's hands: the ready ones in their order, then the delayed ones."""
        return chain(*self._lanes.values(), (self._delayed or {}).values())

    def peek(self, most: int) -> list[StoredMessage]:
        """The next that would be delivered, as far as can be told; takes no longer if there are many."""
        ready = [stored for stored, _ in zip(chain(*self._lanes.values()), range(most), strict=False)]
        return ready + heapq.nsmallest(most - len(ready), (self._delayed or {}).values(), key=_not_before)

    def held(self) -> Iterator[StoredMessage]:
        """All that consumers hold, those first that they have had longest."""
        return heapq.merge(*(member.unsettled.values() for member in self.consumers), key=_taken_at)

    def find(self, numbers: Iterable[int]) -> list[StoredMessage]:
        """Those of these messages that are in it, waiting or held, in the order asked for."""
        asked = dict.fromkeys(numbers)
        found = {number: stored for number in asked if (stored := self._waiting(number)) is not None}
        others = asked.keys() - found.keys()
        if others and self.unsettled:
            for member in self.consumers:
                found.update((number, member.unsettled[number]) for number in others & member.unsettled.keys())
        return [found[number] for number in asked if number in found]

    def _waiting(self, number: int) -> StoredMessage | None:
        if self._delayed is not None and number in self._delayed:
            return self._delayed[number]
        return next((stored for lane in self._lanes.values() if (stored := lane.get(number)) is not None), None)

    def oldest_up_to(self, priority: int) -> StoredMessage | None:
        """The first of the lowest priority that has any ready, if that is not higher."""
        lowest = next((entry for entry in reversed(self._lanes.items()) if entry[1]), None)
        return next(iter(lowest[1])) if lowest is not None and lowest[0] <= priority else None

    def status(self) -> QueueStatus:
        """Its numbers."""
        return QueueStatus(
            name=self.name,
            ready=self.ready,
            unsettled=self.unsettled,
            delayed=self.delayed,
            octets=self.octets,
            consumers=len(self.consumers),
            enqueued=self.enqueued,
            delivered=self.delivered,
            accepted=self.accepted,
            released=self.released,
            dead_lettered=self.dead_lettered,
            requeued=self.requeued,
            dropped=self.dropped,
            expired=self.expired,
            refused=self.refused,
        )

    def _lane_of(self, priority: int) -> SortedMap[int, StoredMessage]:
        lane = self._lanes.get(priority)
        if lane is None:
            lane = self._lanes[priority] = SortedMap()
            self._lanes = dict(sorted(self._lanes.items(), key=_priority, reverse=True))
        return lane


def is_dead_letter(message: Message) -> bool:
    """Tell whether the bus has put this message away."""
    return DEAD_LETTER_QUEUE in message.properties


def _end_of_delay(stored: StoredMessage) -> float:
    """When a delayed message is due: it may expire before it can be delivered."""
    return stored.not_before if stored.expires_at is None else min(stored.not_before, stored.expires_at)
