"""When is a producer told that his message is safe, and what is there again after the end of the process?"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import astuple
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from fmqbus.errors import Overloaded, StoreFailed
from fmqbus.model import Message, Outcome, QueueOverflow, QueueSettings, StoredMessage
from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient, make_router
from fmqbus.testing.message_store import Medium, MemoryMessageStore

EPHEMERAL = (b"e", QueueSettings(durable=False))


def bus(store: MemoryMessageStore, **options: Any) -> tuple[Router, MemoryClient]:
    """A bus that has begun, and a client of it."""
    router = make_router(message_store=store, queue_rules=[EPHEMERAL], **options)
    router.startService()
    return router, MemoryClient(router)


def outcomes(*waiting: Deferred[None] | None) -> list[str]:
    """What producers have been told so far."""
    return [outcome(one) for one in waiting]


def outcome(waiting: Deferred[None] | None) -> str:
    """The same of one; a failure is taken out."""
    if waiting is None:
        return "at once"
    told: list[str] = []
    waiting.addCallbacks(lambda _: told.append("safe"), lambda failure: told.append(failure.type.__name__))
    return told[0] if told else "waits"


def test_a_producer_is_told_when_the_store_has_committed() -> None:
    """And not before; delivery does not wait for it."""
    store = MemoryMessageStore(is_slow=True)
    _, client = bus(store)
    client.consume(b"q")
    waiting = client.enqueue(b"q", b"x")
    assert outcomes(waiting) == ["waits"]
    assert client.taken_payloads == [b"x"]
    store.write()
    assert outcomes(waiting) == ["safe"]


def test_what_is_in_memory_only_is_as_safe_as_it_will_be_at_once() -> None:
    """A queue that is not durable, and a bus that has no store."""
    _, client = bus(MemoryMessageStore(is_slow=True))
    assert outcomes(client.enqueue(b"e", b"x")) == ["at once"]
    assert outcomes(MemoryClient(make_router()).enqueue(b"q", b"x")) == ["at once"]


def test_all_that_a_turn_brought_is_committed_together() -> None:
    """However many messages it were."""
    commits: list[None] = []

    class Counting(MemoryMessageStore):
        def commit(self, at_leisure: bool = False) -> Deferred[None]:
            commits.append(None)
            return super().commit(at_leisure)

    _, client = bus(Counting())
    for number in range(50):
        client.session.enqueue(b"q%d" % number, message(b"x"))
    assert commits == []
    client.session.flush()
    assert len(commits) == 1
    client.settle(client.consume(b"q7"))
    assert len(commits) == 1


def message(payload: bytes) -> Message:
    """A message for a queue."""
    return Message(b"q", payload)


def test_a_message_that_was_accepted_needs_no_disk_any_more() -> None:
    """Its producer is told at once; one that was rejected is not done with."""
    store = MemoryMessageStore(is_slow=True)
    _, client = bus(store)
    consumer = client.consume(b"q")
    accepted, rejected = client.enqueue(b"q", b"1"), client.enqueue(b"q", b"2")
    first, second = consumer.unsettled
    client.settle(consumer, [second], Outcome.REJECT)
    client.session.settle(consumer, [first], Outcome.ACCEPT)
    assert outcomes(accepted, rejected) == ["waits", "waits"]
    client.session.flush()
    assert outcomes(accepted, rejected) == ["safe", "waits"]
    store.write()
    assert outcomes(rejected) == ["safe"]


def test_a_producer_that_no_longer_waits_is_not_told() -> None:
    """It may cancel what it got."""
    store = MemoryMessageStore(is_slow=True)
    _, client = bus(store)
    waiting = client.enqueue(b"q", b"x")
    assert waiting is not None
    told: list[object] = []
    waiting.addErrback(told.append)
    waiting.cancel()
    store.write()
    assert len(told) == 1


# the next process


def again(medium: Medium, clock: Clock | None = None, **options: Any) -> tuple[Router, MemoryClient]:
    """The next process's bus, with what the disk has."""
    return bus(MemoryMessageStore(medium), clock=clock or Clock(), **options)


def taken(client: MemoryClient) -> list[tuple[bytes, bool]]:
    """What a client has been handed: payloads, and whether they may have been handed out before."""
    return [(stored.message.payload, stored.is_redelivered) for _, stored in client.taken]


def test_what_was_in_the_queue_is_there_again_in_its_order() -> None:
    """With priorities, delays, times to live and counts; new messages come behind."""
    medium, clock = Medium(), Clock()
    router, client = again(medium, clock)
    for payload, terms in ((b"1", {}), (b"2", {"priority": 5}), (b"3", {"delay": 60.0}), (b"4", {"time_to_live": 9.0})):
        client.enqueue(b"q", payload, **terms)
    before = router.peek(b"q", 9)
    router.stopService()
    client.close()
    router, client = again(medium, clock)
    assert [astuple(stored) for stored in router.peek(b"q", 9)] == [astuple(stored) for stored in before]
    client.enqueue(b"q", b"5")
    client.consume(b"q")
    assert taken(client) == [(b"2", False), (b"1", False), (b"4", False), (b"5", False)]
    clock.advance(60.0)
    assert client.taken_payloads[-1] == b"3"


def test_what_was_settled_is_not_there_again_and_what_was_held_says_so() -> None:
    """Also after a crash, when nobody could say goodbye."""
    medium = Medium()
    _, client = again(medium)
    for payload in (b"accepted", b"held", b"waiting"):
        client.enqueue(b"q", payload)
    consumer = client.consume(b"q", window=2)
    client.settle(consumer, list(consumer.unsettled)[:1])
    client.session.set_window(consumer, 1)
    client.enqueue(b"q", b"last")
    router, client = again(medium)
    assert [stored.message.payload for stored in router.peek(b"q", 9)] == [b"held", b"waiting", b"last"]
    client.consume(b"q")
    assert all(is_redelivered for _, is_redelivered in taken(client))


def test_what_is_over_by_the_time_of_the_next_process_becomes_a_dead_letter() -> None:
    """It has expired, or has been delivered as often as it may."""
    medium, clock = Medium(), Clock()
    settings = QueueSettings(delivery_limit=1)
    _, client = again(medium, clock, queue_settings=settings)
    client.enqueue(b"q", b"old", time_to_live=5.0)
    client.enqueue(b"r", b"poison")
    client.consume(b"r")
    client.enqueue(b"s", b"flush")
    clock.rightNow = 10.0
    router, client = again(medium, clock, queue_settings=settings)
    assert {stored.message.payload for stored in router.peek(b"dead", 9)} == {b"old", b"poison"}
    assert [status.name for status in router.queues()] == [b"dead", b"s"]


def test_dead_letters_are_kept_and_their_originals_are_not() -> None:
    """Every message is on the disk once."""
    medium = Medium()
    router, client = again(medium)
    client.enqueue(b"q", b"x")
    client.settle(client.consume(b"q"), outcome=Outcome.REJECT)
    client.enqueue(b"other", b"flush")
    assert [(queue, stored.message.payload) for (queue, _), stored in medium.kept.items()] == [
        (b"dead", b"x"),
        (b"other", b"flush"),
    ]
    assert len(router.peek(b"dead", 9)) == 1


def test_purged_and_dropped_messages_are_forgotten_by_the_store_too() -> None:
    """And expired ones."""
    medium, clock = Medium(), Clock()
    settings = QueueSettings(max_messages=1, overflow=QueueOverflow.DROP_OLDEST, dead_letter=None)
    router, client = again(medium, clock, queue_settings=settings)
    for queue in (b"dropped", b"dropped", b"purged"):
        client.enqueue(queue, b"x")
    client.enqueue(b"expired", b"x", time_to_live=1.0)
    clock.advance(1.0)
    router.purge(b"purged")
    client.enqueue(b"z", b"flush")
    assert [queue for queue, _ in medium.kept] == [b"dropped", b"z"]


def test_a_queue_that_is_durable_no_longer_lets_go_of_what_it_kept() -> None:
    """Else its messages would come back with every process."""
    medium = Medium()
    _, client = again(medium)
    client.enqueue(b"q", b"x")
    router, client = again(medium, queue_settings=QueueSettings(durable=False))
    consumer = client.consume(b"q")
    client.settle(consumer)
    client.cancel(consumer)
    router.stopService()
    client.close()
    assert medium.kept == {}


def test_until_all_is_back_nothing_can_be_asked_of_queues() -> None:
    """Or numbers would be given twice, and new messages overtake old ones. Topics are not touched by it."""

    class Slow(MemoryMessageStore):
        def recover(self) -> Any:
            self.waiting: Deferred[Any] = Deferred()
            return self.waiting

    store = Slow()
    router = make_router(message_store=store)
    client = MemoryClient(router)
    for _ in range(2):
        with pytest.raises(Overloaded) as refusal:
            client.enqueue(b"q", b"x")
        assert refusal.value.reason == "recovering"
        with pytest.raises(Overloaded):
            client.consume(b"q")
        client.subscribe(b"t")
        client.publish(b"t", b"x")
        if not router.running:
            router.startService()
    recovered = outcome(router.when_recovered())
    store.waiting.callback([StoredMessage(b"q", 7, message(b"old"))])
    assert (recovered, outcome(router.when_recovered())) == ("waits", "safe")
    client.enqueue(b"q", b"new")
    assert [(stored.number, stored.message.payload) for stored in router.peek(b"q", 9)] == [(7, b"old"), (8, b"new")]
    assert client.payloads == [b"x", b"x"]


# a store that fails


def test_when_the_store_fails_producers_are_told_and_nothing_more_is_taken_for_durable_queues() -> None:
    """Those that wait, and all later ones; what was acknowledged before goes on being delivered."""
    store = MemoryMessageStore(is_slow=True)
    router, client = bus(store)
    safe = client.enqueue(b"q", b"1")
    store.write()
    lost = client.enqueue(b"q", b"2")
    assert router.store_failure is None
    store.break_down("the disk is full")
    assert outcomes(safe, lost) == ["safe", "StoreFailed"]
    with pytest.raises(StoreFailed, match="the disk is full"):
        client.enqueue(b"q", b"3")
    assert str(router.store_failure) == "the disk is full"
    client.settle(client.consume(b"q"))
    assert client.taken_payloads == [b"1", b"2"]


def test_a_failed_store_harms_nothing_that_needs_no_store() -> None:
    """Topics, and queues in memory (threats, row 36)."""
    store = MemoryMessageStore()
    _, client = bus(store)
    store.break_down()
    outcome(client.enqueue(b"q", b"x"))
    client.subscribe(b"t")
    client.publish(b"t", b"1")
    client.consume(b"e")
    assert outcomes(client.enqueue(b"e", b"2")) == ["at once"]
    assert (client.payloads, client.taken_payloads) == ([b"1"], [b"2"])


def test_a_refused_message_leaves_no_queue_behind() -> None:
    """Nor does it drive out another first."""
    store = MemoryMessageStore()
    router, client = bus(store)
    store.break_down()
    outcome(client.enqueue(b"q", b"x"))
    with pytest.raises(StoreFailed):
        client.enqueue(b"r", b"x")
    assert [status.name for status in router.queues()] == [b"q"]


def test_a_store_that_cannot_give_back_what_it_has_takes_nothing_either() -> None:
    """The failure is told to whoever waits for the recovery."""

    class Damaged(MemoryMessageStore):
        def recover(self) -> Any:
            waiting: Deferred[Any] = Deferred()
            waiting.errback(StoreFailed("damaged"))
            return waiting

    router, client = bus(Damaged())
    assert outcome(router.when_recovered()) == "StoreFailed"
    with pytest.raises(StoreFailed):
        client.enqueue(b"q", b"x")
    assert outcomes(client.enqueue(b"e", b"x")) == ["at once"]


# the end


def test_a_soft_stop_hands_out_nothing_more_and_keeps_it_all() -> None:
    """What was in the queue, and what consumers held; the store is closed last."""
    medium = Medium()
    router, client = again(medium)
    consumer = client.consume(b"q", window=1)
    client.enqueue(b"q", b"held")
    client.enqueue(b"q", b"waiting")
    stopped = router.stopService()
    client.settle(consumer)
    assert client.taken_payloads == [b"held"]
    assert not stopped.called
    client.close()
    assert stopped.called
    assert not medium.is_open
    _, client = again(medium)
    client.consume(b"q")
    assert taken(client) == [(b"waiting", False)]


def test_nothing_is_said_to_a_store_that_is_closed() -> None:
    """Whatever is still under way, or comes late."""
    store = MemoryMessageStore()
    router, client = bus(store)
    client.enqueue(b"q", b"x")
    router.stopService()
    client.close()
    store.append = store.remove = store.commit = None  # type: ignore[assignment, method-assign]
    purged: list[int] = []
    router.purge(b"q").addCallback(purged.append)
    assert purged == [1]
