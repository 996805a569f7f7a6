"""Whom does a queue prefer, and how much do the consumers of one client get together?"""

from __future__ import annotations

from fmqbus.model import Credit
from fmqbus.testing.bus import MemoryClient, make_router


def fill(client: MemoryClient, messages: int, queue: bytes = b"q") -> None:
    """Enqueue so many."""
    for number in range(messages):
        client.enqueue(queue, queue + b"%d" % number)


# priority


def test_who_has_a_higher_priority_gets_all_while_he_has_room() -> None:
    """Then comes the next one, however much room the first of them has got back by settling before."""
    router = make_router()
    low, high, producer = MemoryClient(router), MemoryClient(router), MemoryClient(router)
    low.session.consume(b"q", 10)
    consumer = high.session.consume(b"q", 2, priority=5)
    fill(producer, 3)
    assert (len(high.taken), len(low.taken)) == (2, 1)
    high.settle(consumer)
    fill(producer, 3)
    assert (len(high.taken), len(low.taken)) == (4, 2)


def test_equals_of_one_priority_share_by_weight() -> None:
    """As everywhere."""
    router = make_router()
    one, other, producer = MemoryClient(router), MemoryClient(router), MemoryClient(router)
    one.session.consume(b"q", 100, priority=-1)
    other.session.consume(b"q", 100, weight=3, priority=-1)
    fill(producer, 40)
    assert (len(one.taken), len(other.taken)) == (10, 30)


def test_priorities_come_and_go() -> None:
    """Those that nobody uses any more cost nothing."""
    router = make_router()
    client, producer = MemoryClient(router), MemoryClient(router)
    for priority in range(50):
        consumer = client.session.consume(b"q", 1, priority=priority)
        fill(producer, 1)
        assert len(consumer.unsettled) == 1
        client.settle(consumer)
        client.session.cancel(consumer)
    assert len(client.taken) == 50


# credit


def test_what_shares_a_credit_gets_no_more_than_that_together() -> None:
    """And settling gives nothing back."""
    router = make_router()
    client, producer = MemoryClient(router), MemoryClient(router)
    credit = Credit()
    consumers = [client.session.consume(queue, 10, credit=credit) for queue in (b"a", b"b")]
    fill(producer, 5, b"a")
    fill(producer, 5, b"b")
    assert client.taken_payloads == []
    client.session.set_credit(credit, 7)
    client.session.flush()
    assert client.taken_payloads == [b"a0", b"a1", b"a2", b"a3", b"a4", b"b0", b"b1"]
    for consumer in consumers:
        client.settle(consumer)
    assert (len(client.taken), credit.left) == (7, 0)


def test_the_first_consumer_that_was_begun_comes_first_whichever_queue_was_filled_first() -> None:
    """One message at a time."""
    router = make_router()
    client, producer = MemoryClient(router), MemoryClient(router)
    credit = Credit()
    for queue in (b"first", b"second"):
        client.session.consume(queue, 10, credit=credit)
    fill(producer, 2, b"second")
    fill(producer, 2, b"first")
    for _ in range(4):
        client.session.set_credit(credit, credit.left + 1)
        client.session.flush()
    assert client.taken_payloads == [b"first0", b"first1", b"second0", b"second1"]


def test_credit_that_is_left_is_used_as_messages_come() -> None:
    """Up to the consumer's own window."""
    router = make_router()
    client, producer = MemoryClient(router), MemoryClient(router)
    credit = Credit()
    consumer = client.session.consume(b"q", 2, credit=credit)
    client.session.set_credit(credit, 5)
    fill(producer, 3)
    assert (len(consumer.unsettled), credit.left) == (2, 3)
    client.settle(consumer)
    assert (len(client.taken), credit.left) == (3, 2)


def test_credit_can_be_taken_back() -> None:
    """Nothing comes any more; what has come is still to be settled."""
    router = make_router()
    client, producer = MemoryClient(router), MemoryClient(router)
    credit = Credit()
    consumer = client.session.consume(b"q", 10, credit=credit)
    client.session.set_credit(credit, 3)
    fill(producer, 1)
    client.session.set_credit(credit, 0)
    fill(producer, 1)
    assert (client.taken_payloads, client.settle(consumer)) == ([b"q0"], 1)


def test_a_cancelled_consumer_shares_no_more() -> None:
    """The others have the credit for themselves."""
    router = make_router()
    client, producer = MemoryClient(router), MemoryClient(router)
    credit = Credit()
    ended, going_on = (client.session.consume(queue, 10, credit=credit) for queue in (b"a", b"b"))
    client.session.cancel(ended)
    assert credit.consumers == [going_on]
    client.session.set_credit(credit, 1)
    fill(producer, 1, b"a")
    fill(producer, 1, b"b")
    assert client.taken_payloads == [b"b0"]
