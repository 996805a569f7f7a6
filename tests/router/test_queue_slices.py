"""Are others served while the bus has much to do with one queue?"""

from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from fmqbus.model import Consumer, Outcome, QueueSettings, StoredMessage
from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient, make_router

MANY = 5_000


class Busy(Clock):
    """A clock by which some time passes whenever somebody looks at it: all work takes time then."""

    def seconds(self) -> float:
        self.rightNow += 0.002
        return self.rightNow

    def turn(self) -> bool:
        """Call what is due now, as one turn of a reactor does; False if nothing is, nor will be in a second."""
        due = [call for call in self.getDelayedCalls() if call.getTime() <= self.rightNow + 1.0]
        for call in due:
            self.calls.remove(call)
            call.called = 1
            call.func(*call.args, **call.kw)
        return bool(due)


def bus(settings: QueueSettings | None = None) -> tuple[Router, Busy, MemoryClient]:
    """A bus on which all takes time, with a queue of very many messages."""
    clock = Busy()
    router = make_router(clock, queue_settings=settings or QueueSettings(), wall=lambda: clock.rightNow)
    client = MemoryClient(router)
    for number in range(MANY):
        client.enqueue(b"q", b"%d" % number)
    return router, clock, client


def turns(clock: Busy, client: MemoryClient) -> int:
    """Let the bus work until it has nothing more to do at once; returns in how many turns. Others are served in every
    second of them: they and the work take turns."""
    other = MemoryClient(client.session._router)  # type: ignore[attr-defined]
    consumer = other.consume(b"other")
    count = 0
    while clock.turn():
        count += 1
        other.enqueue(b"other", b"x")
        assert 2 * len(other.taken) >= count - 2
        other.settle(consumer)
    other.close()
    return count


def test_a_purge_leaves_others_their_turns() -> None:
    """And forgets just what was there when it was asked for."""
    router, clock, client = bus()
    purged: list[int] = []
    router.purge(b"q").addCallback(purged.append)
    client.enqueue(b"q", b"new")
    assert purged == []
    assert turns(clock, client) > 10
    assert purged == [MANY]
    assert [stored.message.payload for stored in router.peek(b"q", 10)] == [b"new"]


def test_what_a_consumer_takes_during_a_purge_is_his() -> None:
    """A message is purged or delivered, never both."""
    router, clock, client = bus()
    purged: list[int] = []
    router.purge(b"q").addCallback(purged.append)
    consumer = client.consume(b"q", window=300)
    turns(clock, client)
    assert purged == [MANY - 300]
    assert client.settle(consumer) == 300


def test_a_search_leaves_others_their_turns() -> None:
    """What has gone before it is over is not found."""
    router, clock, client = bus()
    found: list[list[StoredMessage]] = []
    router.search(b"q", {}, MANY).addCallback(found.append)
    assert found == []
    first, second = router.peek(b"q", 2)
    router.purge(b"q", [first.number])
    assert turns(clock, client) > 3
    [messages] = found
    assert (len(messages), messages[0]) == (MANY - 1, second)


def test_very_many_expire_in_turns() -> None:
    """All of them, with their reason."""
    router, clock, client = bus(QueueSettings(time_to_live=1000.0))
    clock.rightNow += 1000.0
    assert turns(clock, client) > 10
    assert router.queue(b"q") is None
    assert len(router.peek(b"dead", MANY + 1)) == MANY


def test_nothing_expires_any_more_when_the_bus_has_ended() -> None:
    """Also if very much was about to; the next process will see to it."""
    router, clock, client = bus(QueueSettings(time_to_live=1000.0))
    clock.rightNow += 1000.0
    clock.turn()
    stopped = router.stopService()
    client.close()
    while not stopped.called:
        clock.turn()
    left = router.queue(b"q")
    assert left is not None
    while clock.turn():
        pass
    assert router.queue(b"q") == left
    assert clock.getDelayedCalls() == []


def test_very_many_are_sent_back_in_turns() -> None:
    """In their order."""
    router, clock, client = bus()
    consumer = client.consume(b"q", window=MANY)
    turns(clock, client)
    client.settle(consumer, outcome=Outcome.REJECT)
    turns(clock, client)
    client.cancel(consumer)
    requeued: list[int] = []
    router.requeue(b"dead").addCallback(requeued.append)
    assert requeued == []
    turns(clock, client)
    assert requeued == [MANY]
    assert numbers(router.peek(b"q", MANY)) == list(range(MANY))


def test_very_many_are_delivered_in_turns() -> None:
    """To a consumer that wants them all."""
    _, clock, client = bus()
    consumer = client.consume(b"q", window=MANY)
    assert 0 < len(consumer.unsettled) < MANY
    assert turns(clock, client) > 10
    assert numbers([stored for _, stored in client.taken]) == list(range(MANY))


@pytest.mark.parametrize("ending", ["close", "cancel", "release"])
def test_very_many_come_back_in_turns_and_in_order(ending: str) -> None:
    """Nobody is given any of them before all are back, or he would get later ones before earlier ones."""
    router, clock, client = bus()
    heir = MemoryClient(router)
    consumer = client.consume(b"q", window=MANY)
    turns(clock, client)
    heir.consume(b"q", window=2 * MANY)
    heir.enqueue(b"q", b"%d" % MANY)
    end(client, consumer, ending)
    while not router.queue(b"q").released:  # type: ignore[union-attr]
        clock.turn()
    heir.enqueue(b"q", b"%d" % (MANY + 1))
    assert len(heir.taken) == 1
    turns(clock, client)
    assert numbers([stored for _, stored in heir.taken]) == [MANY, *range(MANY), MANY + 1]
    status = router.queue(b"q")
    assert status is not None
    assert (status.unsettled, status.released) == (MANY + 2, MANY)


def end(client: MemoryClient, consumer: Consumer, ending: str) -> None:
    """Have the consumer give back all that it holds, in one of the ways."""
    if ending == "close":
        client.close()
    elif ending == "cancel":
        client.cancel(consumer)
    else:
        client.session.set_window(consumer, 0)
        client.settle(consumer, outcome=Outcome.RELEASE)


def numbers(messages: list[StoredMessage]) -> list[int]:
    """The numbers that the payloads are."""
    return [int(stored.message.payload) for stored in messages]


def test_a_queue_that_is_given_back_to_is_there_until_all_are_back() -> None:
    """Also if it looks empty meanwhile."""
    router, clock, client = bus()
    consumer = client.consume(b"q", window=MANY)
    turns(clock, client)
    client.cancel(consumer)
    assert router.queue(b"q") is not None
    turns(clock, client)
    assert len(router.peek(b"q", MANY)) == MANY
    router.purge(b"q")
    turns(clock, client)
    assert router.queue(b"q") is None
