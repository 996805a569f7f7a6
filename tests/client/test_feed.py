"""`fmqbus.client.feed`: between what arrives and who reads it, bounded."""

from __future__ import annotations

import pytest
from twisted.internet.defer import CancelledError, Deferred

from fmqbus.client.events import Message
from fmqbus.client.feed import Feed
from fmqbus.errors import LocalError, Refused
from tests.client.failures import failure_of


def messages(*payloads: bytes) -> list[Message]:
    """Messages under one topic of one octet."""
    return [Message("t", payload) for payload in payloads]


async def next_payload(feed: Feed[Message]) -> bytes:
    """Read one."""
    return (await anext(feed)).payload


def read_all(feed: Feed[Message]) -> list[bytes]:
    """What can be read without waiting; then stop the feed."""
    got: list[bytes] = []

    async def read() -> None:
        async for message in feed:
            got.append(message.payload)

    reading = Deferred.fromCoroutine(read())
    feed.stop()
    assert reading.called
    return got


def test_a_slow_reader_loses_the_oldest() -> None:
    """And the loss is counted."""
    feed: Feed[Message] = Feed(2, 1000)
    feed.extend(messages(b"1", b"2"))
    feed.extend(messages(b"3"))
    assert feed.dropped == 1
    assert read_all(feed) == [b"2", b"3"]


def test_octets_are_bounded_too() -> None:
    """A few large messages take as much as many small ones."""
    feed: Feed[Message] = Feed(1000, 20)
    feed.extend(messages(b"x" * 10, b"y" * 5, b"z" * 10))
    assert feed.dropped == 1
    assert read_all(feed) == [b"y" * 5, b"z" * 10]


def test_a_reader_that_keeps_up_loses_nothing() -> None:
    """One read may bring far more than the queue holds: a reader that waits takes it while it comes."""
    feed: Feed[Message] = Feed(2, 1000)
    got: list[bytes] = []

    async def read() -> None:
        async for message in feed:
            got.append(message.payload)

    Deferred.fromCoroutine(read())
    feed.extend(messages(*(b"%d" % number for number in range(100))))
    assert len(got) == 100
    assert feed.dropped == 0


def test_a_second_reader_is_refused() -> None:
    """Two would steal from each other."""
    feed: Feed[Message] = Feed(2, 1000)
    first = Deferred.fromCoroutine(next_payload(feed))
    second = Deferred.fromCoroutine(next_payload(feed))
    assert second.addErrback(lambda reason: reason.trap(LocalError)).called
    feed.extend(messages(b"1"))
    assert first.result == b"1"


def test_a_cancelled_reader_makes_way_for_the_next() -> None:
    """It takes nothing with it."""
    feed: Feed[Message] = Feed(2, 1000)
    first = Deferred.fromCoroutine(next_payload(feed))
    first.addErrback(lambda reason: reason.trap(CancelledError))
    first.cancel()
    feed.extend(messages(b"1"))
    assert Deferred.fromCoroutine(next_payload(feed)).result == b"1"


def test_a_stopped_feed_gives_nothing_more() -> None:
    """Neither what is queued nor what comes."""
    feed: Feed[Message] = Feed(2, 1000)
    feed.extend(messages(b"1"))
    feed.stop()
    feed.extend(messages(b"2"))
    assert read_all(feed) == []


def test_a_callback_that_raises_is_logged_and_called_again() -> None:
    """One bad message must not end the stream."""
    got: list[bytes] = []

    def take(message: Message) -> None:
        if message.payload == b"bad":
            raise ValueError(message)
        got.append(message.payload)

    feed: Feed[Message] = Feed(1, 1000, take)
    feed.extend(messages(b"1", b"bad", b"2"))
    assert got == [b"1", b"2"]


def test_a_queue_for_nothing_is_refused() -> None:
    """It could not even hand over."""
    with pytest.raises(LocalError):
        Feed(0, 1000)


def test_a_feed_that_fails_tells_its_reader_why() -> None:
    """Each time he asks; what is queued is forgotten."""
    feed: Feed[Message] = Feed(2, 1000)
    feed.extend(messages(b"1"))
    feed.fail(Refused("not allowed"))
    for _ in range(2):
        failure = failure_of(Deferred.fromCoroutine(next_payload(feed)))
        assert isinstance(failure, Refused)


def test_a_cleared_feed_goes_on() -> None:
    """Only what was queued is gone."""
    feed: Feed[Message] = Feed(1, 1000)
    feed.extend(messages(b"1"))
    feed.clear()
    feed.extend(messages(b"2"))
    assert feed.dropped == 0
    assert Deferred.fromCoroutine(next_payload(feed)).result == b"2"
