"""In which order do messages of a queue come, and when? Priorities, delays, times to live, retries."""

from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from fmqbus.errors import LocalError
from fmqbus.model import DEAD_LETTER_REASON, Outcome, QueueSettings, Terms
from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient, make_router


def bus(clock: Clock, **settings: object) -> tuple[Router, MemoryClient]:
    """A bus with queues of these settings, and a client of it."""
    router = make_router(clock, queue_settings=QueueSettings(**settings))
    return router, MemoryClient(router)


def test_messages_come_in_the_order_in_which_they_were_enqueued() -> None:
    """Of whomever."""
    router = make_router()
    one, other, consumer = (MemoryClient(router) for _ in range(3))
    one.enqueue(b"q", b"1")
    other.enqueue(b"q", b"2")
    one.enqueue(b"q", b"3")
    consumer.consume(b"q")
    assert consumer.taken_payloads == [b"1", b"2", b"3"]


def test_queues_do_not_disturb_each_other_nor_topics() -> None:
    """A queue and a topic of one name have nothing to do with each other."""
    client = MemoryClient(make_router())
    client.subscribe(b"q")
    client.consume(b"q")
    client.enqueue(b"r", b"1")
    client.publish(b"q", b"2")
    client.enqueue(b"q", b"3")
    assert (client.taken_payloads, client.payloads) == ([b"3"], [b"2"])


def test_a_higher_priority_comes_first_and_in_order() -> None:
    """All of a higher one before any of a lower one."""
    client = MemoryClient(make_router())
    for priority in (0, 9, 4, 9, 0, 4):
        client.enqueue(b"q", b"%d" % priority, priority=priority)
    consumer = client.consume(b"q", window=1)
    while consumer.unsettled:
        client.settle(consumer)
    assert client.taken_payloads == [b"9", b"9", b"4", b"4", b"0", b"0"]
    numbers = [stored.number for _, stored in client.taken]
    assert numbers == [2, 4, 3, 6, 1, 5]


def test_a_delayed_message_comes_when_its_time_has_come() -> None:
    """It lets others pass meanwhile, and has its old place when it comes."""
    clock = Clock()
    _, client = bus(clock)
    client.enqueue(b"q", b"later", delay=10.0)
    client.enqueue(b"q", b"now")
    consumer = client.consume(b"q", window=1)
    assert client.taken_payloads == [b"now"]
    client.enqueue(b"q", b"behind")
    clock.advance(9.9)
    client.settle(consumer, numbers=[])
    assert client.taken_payloads == [b"now"]
    clock.advance(0.1)
    client.settle(consumer)
    assert client.taken_payloads == [b"now", b"later"]
    client.settle(consumer)
    assert client.taken_payloads == [b"now", b"later", b"behind"]


def test_a_delayed_message_wakes_a_consumer_that_waits() -> None:
    """Nobody else has to say anything."""
    clock = Clock()
    _, client = bus(clock)
    client.consume(b"q")
    client.enqueue(b"q", b"x", delay=90.0)
    clock.pump([30.0, 30.0, 29.0])
    assert client.taken_payloads == []
    clock.advance(1.0)
    assert client.taken_payloads == [b"x"]


@pytest.mark.parametrize("terms", [{"priority": 10}, {"priority": -1}, {"delay": -1.0}, {"time_to_live": float("nan")}])
def test_terms_that_cannot_be_are_a_mistake_of_the_protocol(terms: dict[str, float]) -> None:
    """It has to look at what a client says."""
    with pytest.raises(LocalError):
        Terms(**terms)  # type: ignore[arg-type]


def test_a_message_that_is_too_old_is_delivered_to_nobody() -> None:
    """It becomes a dead letter at its time, whether anybody consumes or not, wherever it stands in the queue."""
    clock = Clock()
    router, client = bus(clock)
    client.enqueue(b"q", b"1")
    client.enqueue(b"q", b"2", time_to_live=5.0)
    client.enqueue(b"q", b"3")
    clock.advance(5.0)
    [letter] = router.peek(b"dead", 10)
    assert letter.message.payload == b"2"
    assert letter.message.properties[DEAD_LETTER_REASON] == "expired"
    client.consume(b"q")
    assert client.taken_payloads == [b"1", b"3"]


def test_the_life_of_a_message_is_the_shorter_of_its_own_and_the_queues() -> None:
    """A queue without one leaves it to the message."""
    for usual, own, life in ((0.0, None, None), (0.0, 3.0, 3.0), (5.0, None, 5.0), (5.0, 3.0, 3.0), (5.0, 9.0, 5.0)):
        router, client = bus(Clock(), time_to_live=usual)
        client.enqueue(b"q", b"x", time_to_live=own)
        [stored] = router.peek(b"q", 1)
        assert stored.expires_at == life


def test_what_a_consumer_holds_does_not_expire() -> None:
    """He may still accept it; if he gives it back it is too old, and nobody gets it again."""
    clock = Clock()
    router, client = bus(clock)
    client.enqueue(b"q", b"accepted", time_to_live=5.0)
    client.enqueue(b"q", b"released", time_to_live=5.0)
    consumer = client.consume(b"q")
    clock.advance(10.0)
    first, second = consumer.unsettled
    assert client.settle(consumer, [first]) == 1
    client.settle(consumer, [second], Outcome.RELEASE)
    assert client.taken_payloads == [b"accepted", b"released"]
    assert [letter.message.payload for letter in router.peek(b"dead", 10)] == [b"released"]


def test_a_message_can_expire_while_it_is_delayed() -> None:
    """Its time to live runs from the beginning."""
    clock = Clock()
    router, client = bus(clock, dead_letter=None)
    client.consume(b"q")
    client.enqueue(b"q", b"x", time_to_live=5.0, delay=10.0)
    clock.advance(20.0)
    assert client.taken_payloads == []
    status = router.queue(b"q")
    assert status is not None
    assert (status.expired, status.dropped, status.delayed) == (1, 1, 0)


def test_a_message_of_no_life_at_all_is_delivered_to_nobody() -> None:
    """Not even to a consumer that waits."""
    clock = Clock()
    _, client = bus(clock)
    client.consume(b"q")
    client.enqueue(b"q", b"x", time_to_live=0.0)
    clock.advance(1.0)
    assert client.taken_payloads == []


def test_a_released_message_waits_longer_each_time_where_the_queue_says_so() -> None:
    """One second, three, nine, and then ten, which is the longest."""
    clock = Clock()
    _, client = bus(clock, retry_first=1.0, retry_factor=3.0, retry_longest=10.0)
    client.enqueue(b"q", b"x")
    consumer = client.consume(b"q")
    for number, wait in enumerate((1.0, 3.0, 9.0, 10.0, 10.0), 1):
        client.settle(consumer, outcome=Outcome.RELEASE)
        clock.advance(wait - 0.5)
        assert len(client.taken) == number
        clock.advance(0.5)
        assert len(client.taken) == number + 1


def test_a_thousand_retries_do_not_overflow_the_wait() -> None:
    """Numbers stay finite, however often it doubles."""
    clock = Clock()
    _, client = bus(clock, retry_first=1.0, retry_factor=100.0, retry_longest=1.0, delivery_limit=0)
    client.enqueue(b"q", b"x")
    consumer = client.consume(b"q")
    for _ in range(1000):
        client.settle(consumer, outcome=Outcome.RELEASE)
        clock.advance(1.0)
    assert len(client.taken) == 1001


def test_a_consumer_that_goes_makes_nobody_wait() -> None:
    """The backoff is for those who released a message, not for those who could not help it."""
    _, client = bus(Clock(), retry_first=60.0)
    client.enqueue(b"q", b"x")
    client.cancel(client.consume(b"q"))
    client.consume(b"q")
    assert client.taken_payloads == [b"x", b"x"]


def test_setting_the_wall_clock_neither_loses_nor_hurries_anything_for_long() -> None:
    """What is due is looked at again within a minute."""
    clock = Clock()
    wall = [1000.0]
    router = make_router(clock, wall=lambda: wall[0])
    client = MemoryClient(router)
    client.consume(b"q")
    client.enqueue(b"q", b"x", delay=3600.0)
    wall[0] += 3600.0
    assert client.taken_payloads == []
    clock.advance(60.0)
    assert client.taken_payloads == [b"x"]


def test_what_is_due_later_does_not_hold_up_what_is_due_before() -> None:
    """In whichever order they came."""
    clock = Clock()
    _, client = bus(clock)
    client.consume(b"q")
    for delay in (20.0, 5.0, 10.0):
        client.enqueue(b"q", b"%d" % delay, delay=delay)
    for due in (5.0, 10.0, 20.0):
        clock.advance(due - clock.seconds())
        assert client.taken_payloads[-1:] == [b"%d" % due]


def test_one_timer_is_enough_for_all_that_is_to_come() -> None:
    """And it is gone when nothing is to come any more."""
    clock = Clock()
    _, client = bus(clock)
    for number in range(100):
        client.enqueue(b"q%d" % (number % 7), b"x", delay=float(number % 50 + 1), time_to_live=float(number % 30 + 1))
    assert len(clock.getDelayedCalls()) == 1
    clock.pump([1.0] * 60)
    assert clock.getDelayedCalls() == []
