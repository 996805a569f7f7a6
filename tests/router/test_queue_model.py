"""Do queues do what queues without any cleverness would do, whatever is asked of them in whatever order?

Hypothesis plays producers, consumers, an operator and time against the bus. The model is a plain list for each queue,
which is sorted and searched each time. Who of several consumers gets a message is the bus's choice; all else is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import attrs
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, precondition, rule
from twisted.internet.task import Clock

from fmqbus.errors import Overloaded
from fmqbus.model import (
    DEAD_LETTER_QUEUE,
    DEAD_LETTER_REASON,
    Consumer,
    Outcome,
    QueueOverflow,
    QueueSettings,
    StoredMessage,
)
from fmqbus.testing.bus import MemoryClient, make_router

QUEUES = (b"q", b"r")
DEAD = b"dead"
PRIORITIES = st.sampled_from((0, 0, 5, 9))
PICKS = st.integers(0, 11)
PLACES = st.lists(st.integers(0, 3), min_size=1, max_size=6)
SECONDS = st.sampled_from((1.0, 2.0, 5.0))


@attrs.define(eq=False)
class Kept:
    """A message, as the model knows it."""

    payload: bytes
    serial: int
    priority: int
    expires_at: float | None = None
    not_before: float = 0.0
    deliveries: int = 0
    is_redelivered: bool = False
    taken_at: float | None = None
    #: Of a dead letter: the queue it was in, and why it is there no more.
    origin: bytes | None = None
    reason: str | None = None

    @property
    def order(self) -> tuple[int, int]:
        return (-self.priority, self.serial)


@attrs.define(eq=False)
class Plain:
    """A queue of the model: what waits, and who holds what."""

    settings: QueueSettings
    waiting: list[Kept] = attrs.field(factory=list)
    held: dict[Consumer, list[Kept]] = attrs.field(factory=dict)

    @property
    def messages(self) -> int:
        return len(self.waiting) + sum(map(len, self.held.values()))

    def ready(self, now: float) -> list[Kept]:
        return sorted((kept for kept in self.waiting if kept.not_before <= now), key=lambda kept: kept.order)


@attrs.define(eq=False)
class Known:
    """A client, and how much of its mail has been looked at."""

    client: MemoryClient
    consumers: list[Consumer] = attrs.field(factory=list)
    is_paused: bool = False
    seen: int = 0


class QueueMachine(RuleBasedStateMachine):
    """The model, and the rules by which both are played."""

    clients = Bundle("clients")

    @initialize(
        target=clients,
        overflow=st.sampled_from(QueueOverflow),
        most=st.sampled_from((3, 100)),
        limit=st.sampled_from((0, 1, 3)),
        retry=st.sampled_from((0.0, 1.0)),
        life=st.sampled_from((0.0, 4.0)),
        dead_letter=st.sampled_from((DEAD, DEAD, None)),
        most_dead=st.sampled_from((2, 100)),
    )
    def begin(
        self,
        overflow: QueueOverflow,
        most: int,
        limit: int,
        retry: float,
        life: float,
        dead_letter: bytes | None,
        most_dead: int,
    ) -> Known:
        self.clock = Clock()
        self.serials = count()
        usual = QueueSettings(
            max_messages=most,
            overflow=overflow,
            delivery_limit=limit,
            retry_first=retry,
            time_to_live=life,
            dead_letter=dead_letter,
        )
        # a circle, which no letter may run in
        dead = QueueSettings(max_messages=most_dead, dead_letter=b"q")
        self.router = make_router(self.clock, queue_settings=usual, queue_rules=[(DEAD, dead)])
        self.queues = {name: Plain(usual) for name in QUEUES} | {DEAD: Plain(dead)}
        self.producer = MemoryClient(self.router)
        self.known: list[Known] = []
        known = self.connect()
        self.consume(known, b"q", 10, 1)
        return known

    # clients

    @rule(target=clients)
    def connect_another(self) -> Known:
        return self.connect()

    def connect(self) -> Known:
        known = Known(MemoryClient(self.router))
        self.known.append(known)
        return known

    @precondition(lambda self: len(self.known) > 1)
    @rule(known=consumes(clients))
    def close(self, known: Known) -> None:
        for consumer in known.consumers:
            self.give_back_in_model(consumer)
        self.known.remove(known)
        known.client.close()
        self.compare()

    @precondition(lambda self: any(not known.is_paused for known in self.known))
    @rule(known=clients)
    def pause(self, known: Known) -> None:
        known.is_paused = True
        known.client.pause()

    @rule(known=clients)
    def resume(self, known: Known) -> None:
        known.is_paused = False
        known.client.resume()
        self.compare()

    # consumers

    @rule(
        known=clients,
        queue=st.sampled_from((*QUEUES, b"q", DEAD)),
        window=st.sampled_from((1, 3, 10)),
        weight=st.sampled_from((1, 3)),
    )
    def consume(self, known: Known, queue: bytes, window: int, weight: int) -> None:
        consumer = known.client.session.consume(queue, window, weight)
        known.consumers.append(consumer)
        self.queues[queue].held[consumer] = []
        known.client.session.flush()
        self.compare()

    @precondition(lambda self: self.pairs())
    @rule(pick=PICKS, window=st.sampled_from((0, 1, 5)))
    def set_window(self, pick: int, window: int) -> None:
        known, consumer = self.pairs()[pick % len(self.pairs())]
        known.client.session.set_window(consumer, window)
        known.client.session.flush()
        self.compare()

    @precondition(lambda self: len(self.pairs()) > 1)
    @rule(pick=PICKS, times=st.integers(1, 2))
    def cancel(self, pick: int, times: int) -> None:
        known, consumer = self.pairs()[pick % len(self.pairs())]
        self.give_back_in_model(consumer)
        known.consumers.remove(consumer)
        for _ in range(times):
            known.client.cancel(consumer)
        self.compare()

    @precondition(lambda self: self.holders())
    @rule(pick=PICKS, places=PLACES)
    def accept(self, pick: int, places: list[int]) -> None:
        self.settle(pick, Outcome.ACCEPT, places)

    @precondition(lambda self: self.holders())
    @rule(pick=PICKS, places=PLACES)
    def release(self, pick: int, places: list[int]) -> None:
        self.settle(pick, Outcome.RELEASE, places)

    @precondition(lambda self: self.holders())
    @rule(pick=PICKS, places=PLACES)
    def reject(self, pick: int, places: list[int]) -> None:
        self.settle(pick, Outcome.REJECT, places)

    def settle(self, pick: int, outcome: Outcome, places: list[int]) -> None:
        known, consumer = self.holders()[pick % len(self.holders())]
        queue = self.queues[consumer.queue]
        held, numbers = queue.held[consumer], list(consumer.unsettled)
        asked = [numbers[place] if place < len(numbers) else 10_000 + place for place in places]
        chosen = [held[place] for place in dict.fromkeys(places) if place < len(held)]
        for kept in chosen:
            held.remove(kept)
        for kept in chosen:
            if outcome is Outcome.RELEASE:
                kept.not_before = self.now + self.retry_wait(queue, kept)
                self.take_back_in_model(consumer.queue, kept)
            elif outcome is Outcome.REJECT:
                self.bury_in_model(consumer.queue, kept, "rejected")
        assert known.client.settle(consumer, asked, outcome) == len(chosen)
        self.compare()

    def pairs(self) -> list[tuple[Known, Consumer]]:
        return [(known, consumer) for known in self.known for consumer in known.consumers]

    def holders(self) -> list[tuple[Known, Consumer]]:
        return [(known, consumer) for known, consumer in self.pairs() if consumer.unsettled]

    # producers

    @rule(
        queue=st.sampled_from((*QUEUES, b"q")),
        all_terms=st.lists(
            st.tuples(
                PRIORITIES, st.one_of(st.none(), st.none(), SECONDS), st.one_of(st.just(0.0), st.just(0.0), SECONDS)
            ),
            min_size=1,
            max_size=6,
        ),
    )
    def enqueue_some(self, queue: bytes, all_terms: list[tuple[int, float | None, float]]) -> None:
        for priority, life, delay in all_terms:
            self.enqueue(queue, priority, life, delay)

    def enqueue(self, queue: bytes, priority: int, life: float | None, delay: float) -> None:
        payload = b"%d" % next(self.serials)
        is_taken = self.enqueue_in_model(queue, payload, priority, life, delay)
        try:
            self.producer.enqueue(queue, payload, priority=priority, time_to_live=life, delay=delay)
            assert is_taken
        except Overloaded:
            assert not is_taken
        self.compare()

    # time, and the operator

    @rule(seconds=st.integers(1, 3))
    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.let_time_pass_in_model()
            self.clock.advance(1)
            self.compare()

    @rule(queue=st.sampled_from((*QUEUES, DEAD)), really=st.integers(0, 5))
    def purge(self, queue: bytes, really: int) -> None:
        if really:
            return  # else there would hardly ever be anything
        expected = len(self.queues[queue].waiting)
        self.queues[queue].waiting = []
        purged: list[int] = []
        self.router.purge(queue).addCallback(purged.append)
        assert purged == [expected]
        self.compare()

    @rule(queue=st.sampled_from((*QUEUES, DEAD)), places=PLACES)
    def purge_some(self, queue: bytes, places: list[int]) -> None:
        """Of all that are there, held ones too; and of one that is not."""
        seen = self.all_of(queue)
        chosen = {seen[place].message.payload for place in places if place < len(seen)}
        kept = [kept for kept in self.queues[queue].waiting if kept.payload not in chosen]
        expected = len(self.queues[queue].waiting) - len(kept)
        self.queues[queue].waiting = kept
        purged: list[int] = []
        self.router.purge(queue, numbers_at(seen, places)).addCallback(purged.append)
        assert purged == [expected]
        self.compare()

    @rule(most=st.one_of(st.none(), st.integers(0, 3)))
    def requeue(self, most: int | None) -> None:
        dead = self.queues[DEAD]
        letters = dead.ready(self.now) + [kept for kept in dead.waiting if kept.not_before > self.now]
        expected = self.requeue_in_model(letters, most)
        requeued: list[int] = []
        self.router.requeue(DEAD, most).addCallback(requeued.append)
        assert requeued == [expected]
        self.compare()

    @precondition(lambda self: self.queues[DEAD].messages)
    @rule(places=PLACES)
    def requeue_some(self, places: list[int]) -> None:
        seen = self.all_of(DEAD)
        waiting = {kept.payload: kept for kept in self.queues[DEAD].waiting}
        asked = [seen[place].message.payload for place in dict.fromkeys(places) if place < len(seen)]
        expected = self.requeue_in_model([waiting[payload] for payload in asked if payload in waiting], None)
        requeued: list[int] = []
        self.router.requeue(DEAD, numbers=numbers_at(seen, places)).addCallback(requeued.append)
        assert requeued == [expected]
        self.compare()

    def all_of(self, queue: bytes) -> list[StoredMessage]:
        return [*self.router.peek(queue, 1000, held=True), *self.router.peek(queue, 1000)]

    # the model

    @property
    def now(self) -> float:
        return self.clock.seconds()

    @staticmethod
    def retry_wait(queue: Plain, kept: Kept) -> float:
        return queue.settings.retry_first * 2.0 ** (kept.deliveries - 1)

    def enqueue_in_model(self, name: bytes, payload: bytes, priority: int, life: float | None, delay: float) -> bool:
        queue = self.queues[name]
        usual = queue.settings.time_to_live
        lives = [seconds for seconds in (life, usual or None) if seconds is not None]
        kept = Kept(
            payload,
            next(self.serials),
            priority,
            self.now + min(lives) if lives else None,
            self.now + delay if delay else 0.0,
        )
        most, overflow = queue.settings.max_messages, queue.settings.overflow
        if queue.messages >= most:
            ready = queue.ready(self.now)
            lowest = min((other.priority for other in ready), default=10)
            if overflow is QueueOverflow.DROP_OLDEST and lowest <= priority:
                queue.waiting.remove(next(other for other in ready if other.priority == lowest))
            elif overflow is QueueOverflow.DEAD_LETTER and queue.settings.dead_letter and self.has_room(DEAD):
                self.bury_in_model(name, kept, "queue-full")
                return True
            elif overflow is not QueueOverflow.PAUSE or queue.messages >= 2 * most:
                return False
        queue.waiting.append(kept)
        return True

    def has_room(self, name: bytes) -> bool:
        return self.queues[name].messages < self.queues[name].settings.max_messages

    def give_back_in_model(self, consumer: Consumer) -> None:
        for kept in self.queues[consumer.queue].held.pop(consumer):
            self.take_back_in_model(consumer.queue, kept)

    def take_back_in_model(self, name: bytes, kept: Kept) -> None:
        kept.is_redelivered = True
        limit = self.queues[name].settings.delivery_limit
        if kept.expires_at is not None and kept.expires_at <= self.now:
            self.bury_in_model(name, kept, "expired")
        elif limit and kept.deliveries >= limit and kept.origin is None:
            self.bury_in_model(name, kept, "delivery-limit")
        else:
            self.queues[name].waiting.append(kept)

    def bury_in_model(self, name: bytes, kept: Kept, reason: str) -> None:
        if self.queues[name].settings.dead_letter == DEAD != name and kept.origin is None and self.has_room(DEAD):
            letter = Kept(kept.payload, next(self.serials), kept.priority, origin=name, reason=reason)
            self.queues[DEAD].waiting.append(letter)

    def requeue_in_model(self, letters: list[Kept], most: int | None) -> int:
        dead = self.queues[DEAD]
        revived = 0
        for letter in letters:
            if revived == most:
                break
            assert letter.origin is not None
            if self.has_room(letter.origin):
                life = self.queues[letter.origin].settings.time_to_live
                dead.waiting.remove(letter)
                self.queues[letter.origin].waiting.append(
                    Kept(letter.payload, next(self.serials), letter.priority, self.now + life if life else None)
                )
                revived += 1
        return revived

    def let_time_pass_in_model(self) -> None:
        now = self.now + 1
        expired = sorted(
            (kept.expires_at, kept.serial, name, kept)
            for name, queue in self.queues.items()
            for kept in queue.waiting
            if kept.expires_at is not None and kept.expires_at <= now
        )
        for _, _, name, kept in expired:
            self.queues[name].waiting.remove(kept)
            self.bury_in_model(name, kept, "expired")

    # what must be so

    def compare(self) -> None:
        """Look through the new mail of all clients: is it what must have come, in the order in which it must?"""
        for name, queue in self.queues.items():
            new = [
                (consumer, stored)
                for known in self.known
                for consumer, stored in known.client.taken[known.seen :]
                if consumer.queue == name
            ]
            ready = queue.ready(self.now)
            due, left = ready[: len(new)], ready[len(new) :]
            by_payload = {kept.payload: kept for kept in due}
            assert sorted(stored.message.payload for _, stored in new) == sorted(by_payload)
            orders: dict[Consumer, list[tuple[int, int]]] = {}
            for consumer, stored in new:
                kept = by_payload[stored.message.payload]
                orders.setdefault(consumer, []).append(kept.order)
                queue.waiting.remove(kept)
                queue.held[consumer].append(kept)
                kept.deliveries += 1
                kept.taken_at = self.now
                assert (stored.deliveries, stored.is_redelivered) == (kept.deliveries, kept.is_redelivered)
                assert stored.priority == kept.priority
                properties = stored.message.properties
                assert properties.get(DEAD_LETTER_QUEUE, "").encode() == (kept.origin or b"")
                assert properties.get(DEAD_LETTER_REASON) == kept.reason
            assert all(order == sorted(order) for order in orders.values())
            assert all(len(consumer.unsettled) <= consumer.window for consumer in orders)
            if left:
                assert not any(self.has_place(known, name) for known in self.known), "somebody could have had more"
        for known in self.known:
            known.seen = len(known.client.taken)

    @staticmethod
    def has_place(known: Known, queue: bytes) -> bool:
        return not known.is_paused and any(
            len(consumer.unsettled) < consumer.window for consumer in known.consumers if consumer.queue == queue
        )

    @invariant()
    def consumers_hold_what_the_model_says(self) -> None:
        for queue in getattr(self, "queues", {}).values():
            for consumer, held in queue.held.items():
                assert payloads(consumer) == [kept.payload for kept in held]

    @invariant()
    def whoever_looks_sees_what_is_there(self) -> None:
        for name, queue in getattr(self, "queues", {}).items():
            waiting, held = self.router.peek(name, 1000), self.router.peek(name, 1000, held=True)
            assert sorted(stored.message.payload for stored in waiting) == sorted(
                kept.payload for kept in queue.waiting
            )
            assert [stored.taken_at for stored in waiting] == [None] * len(waiting)
            everything = [kept for held_by_one in queue.held.values() for kept in held_by_one]
            assert {stored.message.payload: stored.taken_at for stored in held} == {
                kept.payload: kept.taken_at for kept in everything
            }
            assert [stored.taken_at for stored in held] == sorted(kept.taken_at for kept in everything)
            numbers = [stored.number for stored in (*held, *waiting)]
            assert list(self.router.find(name, [*numbers, 10_000, *numbers])) == [*held, *waiting]

    @invariant()
    def the_accounts_are_right(self) -> None:
        if not hasattr(self, "router"):
            return
        statuses = {status.name: status for status in self.router.queues()}
        for name, queue in self.queues.items():
            status = statuses.pop(name, None)
            if status is None:
                assert not queue.messages
                assert not queue.held
                continue
            assert status.unsettled == sum(map(len, queue.held.values()))
            assert status.consumers == len(queue.held)
            assert status.ready == len(queue.ready(self.now))
            assert status.ready + status.delayed == len(queue.waiting)
            gone = status.accepted + status.dead_lettered + status.requeued + status.dropped
            assert status.enqueued == status.ready + status.delayed + status.unsettled + gone
            assert status.ready + status.delayed + status.unsettled <= 2 * queue.settings.max_messages
        assert not statuses
        now_ready = [kept for queue in self.queues.values() for kept in queue.ready(self.now)]
        delayed = sum(len(queue.waiting) for queue in self.queues.values()) - len(now_ready)
        assert len(self.router.queuing.schedule) == delayed + sum(kept.expires_at is not None for kept in now_ready)
        table = self.router.queuing.table
        assert table.messages == sum(queue.messages for queue in self.queues.values())
        assert table.octets == sum(status.octets for status in self.router.queues())

    def teardown(self) -> None:
        if not hasattr(self, "router"):
            return
        while self.known:
            self.close(self.known[0])
        for name in self.queues:
            self.router.purge(name)
        table = self.router.queuing.table
        assert (table.messages, table.octets) == (0, 0)
        assert [status.name for status in self.router.queues()] in ([], [DEAD])


def numbers_at(seen: Sequence[StoredMessage], places: Sequence[int]) -> list[int]:
    """The numbers of those at these places, and one for each other place that no message has."""
    return [seen[place].number if place < len(seen) else 10_000 + place for place in places]


def payloads(consumer: Consumer) -> Sequence[bytes]:
    """What a consumer holds, in the order of delivery."""
    return [stored.message.payload for stored in consumer.unsettled.values()]


TestQueues = QueueMachine.TestCase
TestQueues.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
