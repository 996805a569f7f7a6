"""Can an operator look at single messages of a queue, wherever they are, and move or remove just them?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from twisted.internet.task import Clock

from fmqbus.model import Message, Outcome, QueueSettings, StoredMessage, Terms
from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient, make_router


def payloads(messages: Sequence[StoredMessage]) -> list[bytes]:
    """What they carry."""
    return [stored.message.payload for stored in messages]


def fill(router: Router, count: int = 5) -> MemoryClient:
    """A client that has enqueued so many, numbered from 1 as the bus does."""
    client = MemoryClient(router)
    for number in range(1, count + 1):
        client.enqueue(b"q", b"%d" % number)
    return client


def purge(router: Router, numbers: Sequence[int]) -> int:
    """How many of these were forgotten."""
    done: list[int] = []
    router.purge(b"q", numbers).addCallback(done.append)
    [count] = done
    return count


def requeue(router: Router, numbers: Sequence[int]) -> int:
    """How many of these dead letters went back."""
    done: list[int] = []
    router.requeue(b"dead", numbers=numbers).addCallback(done.append)
    [count] = done
    return count


def search(router: Router, properties: Mapping[str, str], most: int = 10) -> list[bytes]:
    """What the messages carry that have these properties."""
    found: list[Sequence[StoredMessage]] = []
    router.search(b"q", properties, most).addCallback(found.append)
    return payloads(found[0])


# looking


def test_messages_are_found_by_number_wherever_they_are() -> None:
    """Ready, delayed or held; in the order asked for, each once, and what is not there is left out."""
    router = make_router()
    client = fill(router, 3)
    client.consume(b"q", window=1)
    client.enqueue(b"q", b"late", delay=5.0)
    assert payloads(router.find(b"q", [4, 9, 1, 3, 4])) == [b"late", b"1", b"3"]
    assert list(router.find(b"never/heard/of", [1])) == []


def test_those_that_consumers_hold_are_seen_with_since_when() -> None:
    """The one first that has been held longest, whoever has it; what has come back is held by nobody."""
    clock = Clock()
    router = make_router(clock)
    one, other = MemoryClient(router), MemoryClient(router)
    first = one.consume(b"q", window=1)
    other.consume(b"q", window=2)
    producer = fill(router, 2)
    clock.advance(3.0)
    producer.enqueue(b"q", b"3")
    held = router.peek(b"q", 9, held=True)
    assert [(stored.message.payload, stored.taken_at) for stored in held] == [(b"1", 0.0), (b"2", 0.0), (b"3", 3.0)]
    assert payloads(router.peek(b"q", 2, held=True)) == [b"1", b"2"]
    assert list(router.peek(b"q", 9)) == []
    one.cancel(first)
    assert [(stored.message.payload, stored.taken_at) for stored in router.peek(b"q", 9)] == [(b"1", None)]
    assert payloads(router.peek(b"q", 9, held=True)) == [b"2", b"3"]
    assert list(router.peek(b"never/heard/of", 9, held=True)) == []


def test_messages_are_found_by_their_properties() -> None:
    """All of them have to be there; held ones count too, and so many are told as asked for."""
    router = make_router()
    client = MemoryClient(router)
    for payload, properties in ((b"1", {"a": "1"}), (b"2", {"a": "1", "b": "2"}), (b"3", {"b": "2"}), (b"4", {})):
        client.session.enqueue(b"q", Message(b"q", payload, properties=properties), Terms())
    client.consume(b"q", window=1)
    assert search(router, {"a": "1"}) == [b"1", b"2"]
    assert search(router, {"a": "1"}, most=1) == [b"1"]
    assert search(router, {"a": "1", "b": "2"}) == [b"2"]
    assert search(router, {"c": "1"}) == []
    assert search(make_router(), {"a": "1"}) == []


def test_the_settings_of_a_queue_are_told_whether_it_is_there_or_not() -> None:
    """As the rules say."""
    special = QueueSettings(dead_letter=b"graves")
    router = make_router(queue_rules=[(b"shop/*", special)])
    assert router.queue_settings(b"shop/mails") == special
    assert router.queue_settings(b"q") == QueueSettings()
    assert list(router.queues()) == []


# removing


def test_just_those_messages_are_removed_that_are_named_and_in_nobodys_hands() -> None:
    """Ready and delayed ones; what a consumer holds is his."""
    router = make_router()
    client = fill(router)
    consumer = client.consume(b"q", window=2)
    client.enqueue(b"q", b"late", delay=5.0)
    assert purge(router, [2, 4, 6, 4, 99]) == 2
    assert payloads(router.peek(b"q", 9)) == [b"3", b"5"]
    assert client.settle(consumer) == 2
    status = router.queue(b"q")
    assert status is not None
    assert (status.dropped, status.delayed, status.unsettled) == (2, 0, 2)


def test_nothing_is_removed_where_nothing_is_named() -> None:
    """No number is not every number."""
    router = make_router()
    fill(router)
    assert purge(router, []) == 0
    assert len(router.peek(b"q", 9)) == 5


def test_a_queue_that_has_lost_its_last_message_is_gone() -> None:
    """As after any purge."""
    router = make_router()
    fill(router, 1)
    assert purge(router, [1]) == 1
    assert router.queue(b"q") is None
    assert purge(router, [1]) == 0


# sending back


def test_just_those_dead_letters_go_back_that_are_named() -> None:
    """In the order in which they are named; what is no dead letter stays, and what somebody holds too."""
    router = make_router()
    client = fill(router, 4)
    rejecting = client.consume(b"q")
    client.settle(rejecting, outcome=Outcome.REJECT)
    client.cancel(rejecting)
    client.enqueue(b"dead", b"plain")
    first, second, third, fourth, plain = [stored.number for stored in router.peek(b"dead", 9)]
    client.consume(b"dead", window=1)
    assert requeue(router, [plain, third, first, 99, second]) == 2
    assert payloads(router.peek(b"q", 9)) == [b"3", b"2"]
    assert [stored.number for stored in router.peek(b"dead", 9)] == [fourth, plain]
    assert [stored.number for stored in router.peek(b"dead", 9, held=True)] == [first]
