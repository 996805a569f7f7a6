"""What can producers not make the bus hold, and what do they feel of it?"""

from __future__ import annotations

import pytest

from fmqbus.errors import InvalidName, Overloaded, Refused
from fmqbus.limits import Limits
from fmqbus.model import DEAD_LETTER_REASON, Action, Message, QueueOverflow, QueueSettings, QueueStatus
from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient, OpenPolicy, make_router

REFUSE, PAUSE, DROP_OLDEST, DEAD_LETTER = QueueOverflow


def bus(overflow: QueueOverflow = REFUSE, **settings: object) -> tuple[Router, MemoryClient]:
    """A bus with queues of these settings, and a client of it."""
    router = make_router(queue_settings=QueueSettings(overflow=overflow, **settings))
    return router, MemoryClient(router)


def payloads(router: Router, queue: bytes = b"q") -> list[bytes]:
    """What waits in a queue."""
    return [stored.message.payload for stored in router.peek(queue, 1000)]


def status(router: Router, queue: bytes = b"q") -> QueueStatus:
    """The numbers of a queue that there is."""
    found = router.queue(queue)
    assert found is not None
    return found


def test_a_full_queue_refuses_and_counts_it() -> None:
    """What is in it stays; once somebody has accepted something, there is room again."""
    router, client = bus(max_messages=2)
    client.enqueue(b"q", b"1")
    client.enqueue(b"q", b"2")
    with pytest.raises(Overloaded) as refusal:
        client.enqueue(b"q", b"3")
    assert refusal.value.reason == "queue-full"
    assert (payloads(router), status(router).refused) == ([b"1", b"2"], 1)
    client.settle(client.consume(b"q", window=1))
    client.enqueue(b"q", b"4")


def test_a_queue_is_full_of_octets_too() -> None:
    """Of names, payloads and properties; what consumers hold counts, and what is delayed."""
    router, client = bus(max_octets=10)
    client.enqueue(b"q", b"1234", delay=60.0)
    client.consume(b"q")
    client.session.enqueue(b"q", Message(b"t", b"", properties={"k": "v"}))
    assert status(router).octets == 8
    client.enqueue(b"q", b"1")
    with pytest.raises(Overloaded):
        client.enqueue(b"q", b"")


def test_a_message_larger_than_its_queue_never_fits() -> None:
    """Whatever the policy; nothing is dropped in vain, and an empty queue leaves no trace."""
    for overflow in QueueOverflow:
        router, client = bus(overflow, max_octets=10, dead_letter=None)
        with pytest.raises(Overloaded):
            client.enqueue(b"q", bytes(20))
        assert router.queues() == []
        client.enqueue(b"q", b"small")
        with pytest.raises(Overloaded):
            client.enqueue(b"q", bytes(20))
        assert payloads(router) == [b"small"]


def test_the_oldest_give_way_where_the_queue_says_so() -> None:
    """As many as it takes; they are counted."""
    router, client = bus(DROP_OLDEST, max_octets=12)
    for payload in (b"1", b"2", b"3", b"4", b"5", b"6666"):
        client.enqueue(b"q", payload)
    assert payloads(router) == [b"3", b"4", b"5", b"6666"]
    assert (status(router).dropped, status(router).octets) == (2, 11)


def test_no_message_gives_way_to_a_less_urgent_one() -> None:
    """The oldest of the lowest priority goes; if there is only more urgent, the new one is refused."""
    router, client = bus(DROP_OLDEST, max_messages=2)
    client.enqueue(b"q", b"low", priority=1)
    client.enqueue(b"q", b"high", priority=9)
    client.enqueue(b"q", b"middle", priority=5)
    assert payloads(router) == [b"high", b"middle"]
    with pytest.raises(Overloaded):
        client.enqueue(b"q", b"low", priority=4)
    client.enqueue(b"q", b"new", priority=5)
    assert payloads(router) == [b"high", b"new"]


def test_what_a_consumer_holds_does_not_give_way() -> None:
    """He is at work on it; the new message is refused."""
    _, client = bus(DROP_OLDEST, max_messages=1)
    client.enqueue(b"q", b"1")
    consumer = client.consume(b"q")
    with pytest.raises(Overloaded):
        client.enqueue(b"q", b"2")
    assert client.settle(consumer) == 1


def test_one_large_message_does_not_drive_out_small_ones_without_end() -> None:
    """That would take long; it may come again, and finds more room then."""
    router, client = bus(DROP_OLDEST, max_octets=4000)
    for _ in range(2000):
        client.enqueue(b"q", b"x")
    with pytest.raises(Overloaded):
        client.enqueue(b"q", bytes(3000))
    assert status(router).ready == 1000
    client.enqueue(b"q", bytes(3000))


def test_a_producer_waits_where_the_queue_says_so_until_it_is_half_empty() -> None:
    """He is told once; what his read brought is still taken."""
    router, client = bus(PAUSE, max_messages=4)
    producer = MemoryClient(router)
    for number in range(4):
        producer.enqueue(b"q", b"%d" % number)
    assert producer.calls == []
    producer.enqueue(b"q", b"4")
    producer.enqueue(b"q", b"5")
    assert producer.calls == ["pause_reading"]
    consumer = client.consume(b"q")
    for number in list(consumer.unsettled)[:3]:
        client.settle(consumer, [number])
    assert producer.calls == ["pause_reading"]
    client.settle(consumer, list(consumer.unsettled)[:1])
    assert producer.calls == ["pause_reading", "resume_reading"]
    assert router.queuing.table._holding == set()
    for number in range(3):
        producer.enqueue(b"q", b"%d" % number)
    assert producer.calls == ["pause_reading", "resume_reading", "pause_reading"]


def test_a_producer_that_does_not_wait_is_refused_at_twice_the_bounds() -> None:
    """Never unbounded memory: other producers could come without end."""
    router, client = bus(PAUSE, max_messages=2)
    for number in range(4):
        client.enqueue(b"q", b"%d" % number)
    with pytest.raises(Overloaded):
        client.enqueue(b"q", b"5")
    assert status(router).ready == 4


def test_a_producer_waits_for_all_queues_that_hold_him_up() -> None:
    """And for slow subscribers too; one that has room again is not enough."""
    router, client = bus(PAUSE, max_messages=1)
    producer = MemoryClient(router)
    for queue in (b"q", b"q", b"r", b"r"):
        producer.enqueue(queue, b"x")
    client.settle(client.consume(b"q"))
    assert producer.calls == ["pause_reading"]
    router.purge(b"r")
    assert producer.calls == ["pause_reading", "resume_reading"]


def test_a_producer_that_goes_while_he_waits_is_forgotten() -> None:
    """Nothing is held for him, and nobody else feels it."""
    router, client = bus(PAUSE, max_messages=2)
    one, other = MemoryClient(router), MemoryClient(router)
    client.enqueue(b"q", b"x")
    client.enqueue(b"q", b"x")
    for producer in (one, other):
        producer.enqueue(b"q", b"x")
    one.close()
    client.settle(client.consume(b"q"))
    assert (one.calls, other.calls) == (["pause_reading"], ["pause_reading", "resume_reading"])
    for _ in range(3):
        other.enqueue(b"q", b"x")
    other.close()
    assert router.queuing.table._holding == set()


def test_a_message_without_room_becomes_a_dead_letter_where_the_queue_says_so() -> None:
    """The producer is told that it was taken; if there is no room for dead letters either, he is refused."""
    router = make_router(
        queue_settings=QueueSettings(overflow=DEAD_LETTER, max_messages=1),
        queue_rules=[(b"dead", QueueSettings(max_messages=1))],
    )
    client = MemoryClient(router)
    client.enqueue(b"q", b"1")
    client.enqueue(b"q", b"2")
    [letter] = router.peek(b"dead", 9)
    assert (letter.message.payload, letter.message.properties[DEAD_LETTER_REASON]) == (b"2", "queue-full")
    with pytest.raises(Overloaded):
        client.enqueue(b"q", b"3")
    assert (payloads(router), payloads(router, b"dead")) == ([b"1"], [b"2"])


def test_the_first_rule_that_fits_a_queues_name_decides() -> None:
    """Else the general settings do."""
    router = make_router(
        queue_settings=QueueSettings(max_messages=1),
        queue_rules=[(b"a/*", QueueSettings(max_messages=2)), (b"a/b", QueueSettings(max_messages=3))],
    )
    client = MemoryClient(router)
    for queue, room in ((b"x", 1), (b"a/b", 2), (b"a/b/c", 1)):
        for _ in range(room):
            client.enqueue(queue, b"x")
        with pytest.raises(Overloaded):
            client.enqueue(queue, b"x")


# the bus


@pytest.mark.parametrize("limits", [Limits(queued_messages=3), Limits(queued_octets=10)])
def test_all_queues_together_have_bounds_of_their_own(limits: Limits) -> None:
    """Whatever each of them may hold; what leaves one makes room in all."""
    router = make_router(limits=limits)
    client = MemoryClient(router)
    for queue in (b"q", b"r", b"s"):
        client.enqueue(queue, b"12")
    with pytest.raises(Overloaded) as refusal:
        client.enqueue(b"t", b"12")
    assert refusal.value.reason == "queues-full"
    router.purge(b"r")
    client.enqueue(b"t", b"12")


def test_there_are_so_many_queues_and_no_more() -> None:
    """Names are the clients' to invent; a queue that has become empty does not count."""
    router = make_router(limits=Limits(queues=2))
    client = MemoryClient(router)
    client.enqueue(b"q", b"x")
    consumer = client.consume(b"r")
    with pytest.raises(Overloaded):
        client.enqueue(b"s", b"x")
    with pytest.raises(Overloaded):
        client.consume(b"s")
    client.cancel(consumer)
    client.consume(b"s")


def test_queues_that_were_emptied_leave_no_trace() -> None:
    """Nor do consumers of queues that never were; those named in the configuration stay, with their numbers."""
    router = make_router(queue_rules=[(b"named", QueueSettings()), (b"n/*", QueueSettings())])
    client = MemoryClient(router)
    for queue in (b"named", b"n/1", b"other"):
        for _ in range(3):
            client.enqueue(queue, b"x", time_to_live=60.0)
        consumer = client.consume(queue)
        client.settle(consumer)
        client.cancel(consumer)
    assert [(status.name, status.accepted) for status in router.queues()] == [(b"named", 3)]
    assert len(router.queuing.schedule) == 0


@pytest.mark.parametrize("name", [b"*", b"a/*", b"$", b"$/q"])
def test_a_pattern_and_a_service_topic_are_no_queues(name: bytes) -> None:
    """Neither to produce for, nor to consume."""
    client = MemoryClient(make_router())
    with pytest.raises(InvalidName):
        client.enqueue(name, b"x")
    with pytest.raises(InvalidName):
        client.consume(name)


def test_enqueueing_and_consuming_are_rights_of_their_own() -> None:
    """Without it nothing happens; a right that is lost is lost at once, and one that is found is found."""
    policy = OpenPolicy()
    router = make_router(authorizers=[policy])
    client = MemoryClient(router)
    client.enqueue(b"q", b"1")
    consumer = client.consume(b"q")
    policy.deny(Action.ENQUEUE, b"q")
    policy.deny(Action.CONSUME, b"q")
    client.consume(b"r")
    router.policy_changed()
    assert client.calls == ["consumer_ended q policy"]
    assert consumer.unsettled == {}
    with pytest.raises(Refused):
        client.enqueue(b"q", b"2")
    with pytest.raises(Refused):
        client.consume(b"q")
    client.enqueue(b"r", b"3")
    assert client.taken_payloads == [b"1", b"3"]
    policy.denied.clear()
    router.policy_changed()
    client.enqueue(b"q", b"2")
    client.consume(b"q")
    assert client.taken_payloads == [b"1", b"3", b"1", b"2"]


def test_what_is_remembered_of_rights_is_bounded() -> None:
    """A client can name queues without end; it may go on all the same."""
    router, client = bus()
    for number in range(1000):
        client.enqueue(b"q%d" % number, b"x")
    assert len(router.queues()) == 1000
    assert len(client.session._queue_user._may_enqueue_to.names) <= 256  # type: ignore[attr-defined]
