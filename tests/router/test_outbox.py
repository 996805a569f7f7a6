"""What waits for a client whose link is full, in which order, and how much can it be? (architecture.md, section 5)"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from fmqbus.limits import Limits
from fmqbus.model import Interest, Message, Overflow
from fmqbus.testing.bus import MemoryClient, make_router
from tests.router.fast_lane import publish_read
from tests.router.slow_readers import Narrow, body, bus_with_room_for, numbers, publish_numbers, room_for, session_of


def test_a_full_link_gets_nothing_and_then_all_in_order() -> None:
    """Within the bound nothing is lost, whatever was on its way when the link filled up and cleared."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"*")
    publish_numbers(writer, 1, 1)
    reader.pause()
    publish_numbers(writer, 2, 3)
    assert numbers(reader) == [1]
    reader.resume()
    publish_numbers(writer, 4, 4)
    assert numbers(reader) == [1, 2, 3, 4]


def test_order_survives_a_link_that_fills_and_clears_within_a_turn() -> None:
    """Whenever that is: what is ready, what is kept and what comes later stay in line."""
    for seed in range(200):
        random = Random(seed)
        router = make_router()
        reader, writer = MemoryClient(router), MemoryClient(router)
        reader.subscribe(b"a")
        for number in range(20):
            writer.session.publish(Message(b"a", body(number)))
            random.choice((reader.pause, reader.resume, writer.session.flush, lambda: None))()
        reader.resume()
        writer.session.flush()
        assert numbers(reader) == list(range(20))


def test_a_link_that_fills_up_while_it_is_being_served_gets_the_rest_later() -> None:
    """A peer may say so from within a delivery."""

    router = make_router()
    reader, writer = Narrow(router), MemoryClient(router)
    reader.subscribe(b"a")
    for number in range(100):
        publish_read(writer, (b"a", b"%09d" % number + bytes(10_000)))
    assert len(reader.messages) == 1
    while len(reader.messages) < 100:
        before = len(reader.batches)
        reader.resume()
        assert len(reader.batches) == before + 1
        assert len(reader.batches[-1]) < 50
    assert [int(payload[:9]) for payload in reader.payloads] == list(range(100))


def test_a_replay_that_fills_the_link_waits_within_the_bound() -> None:
    """However much is retained, a client that does not read costs no more than its outbox and what its link takes."""
    router = make_router(limits=Limits(outbox_octets=1_000_000))
    publisher, reader = MemoryClient(router), Narrow(router)
    for number in range(30):
        publisher.publish(b"%02d" % number, bytes(100_000), retain=True)
    reader.subscribe(b"*")
    taken = len(reader.messages)
    assert taken < 5
    while session_of(reader).outbox.kept_octets:
        reader.resume()
    assert len(reader.messages) == taken + 9
    assert router.statistics.drops == {"outbox-full": 30 - taken - 9}


def test_a_link_that_fills_up_between_messages_and_interest_gets_the_rest_later() -> None:
    """One turn may hold both; nothing is handed to a full link, and the order stays."""

    class Full(Narrow):
        """Its link is full after any kind of news."""

        def interest_changed(self, changes: Sequence[Interest]) -> None:
            super().interest_changed(changes)
            self.session.pause_delivery()

    router = make_router()
    watcher, other = Full(router), MemoryClient(router)
    watcher.watch(b"a")
    watcher.subscribe(b"b")
    other.session.publish(Message(b"b", b"1"))
    other.session.subscribe(b"a")
    other.session.publish(Message(b"b", b"2"))
    other.session.flush()
    everything = [Message(b"b", b"1"), Interest(b"a", 1), Message(b"b", b"2")]
    for heard in (1, 2, 3):
        assert watcher.received == everything[:heard]
        watcher.resume()


@pytest.mark.parametrize("overflow", [policy for policy in Overflow if policy is not Overflow.PAUSE])
@pytest.mark.parametrize("is_blind", [True, False])
def test_what_waits_never_exceeds_the_bound(overflow: Overflow, is_blind: bool) -> None:
    """In octets, whatever sizes come in whatever order; and the account is right to the last octet."""
    limits = room_for(6, octets=100)
    router = make_router(limits=limits)
    reader, writer = MemoryClient(router, is_blind=is_blind), MemoryClient(router)
    reader.subscribe(b"*", overflow=overflow)
    reader.watch(b"*")
    reader.pause()
    random = Random(1)
    outbox = session_of(reader).outbox
    for _ in range(500):
        publish_read(writer, *((random.choice((b"a", b"b", b"c")), bytes(random.randint(1, 300))) for _ in range(3)))
        random.choice((writer.subscribe, writer.unsubscribe))(random.choice((b"a", b"b")))
        assert outbox.kept_octets <= limits.outbox_octets
    reader.resume()
    assert outbox.kept_octets == 0


@pytest.mark.parametrize("overflow", [Overflow.DROP_OLDEST, Overflow.DROP_NEWEST, Overflow.CONFLATE])
def test_a_message_larger_than_the_whole_outbox_is_dropped_alone(overflow: Overflow) -> None:
    """It would fit at no price, so no other is sacrificed for it."""
    router = bus_with_room_for(3)
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"*", overflow=overflow)
    reader.pause()
    publish_numbers(writer, 1, 1)
    publish_read(writer, (b"b", bytes(2000)))
    reader.resume()
    assert numbers(reader) == [1]
    assert session_of(reader).statistics.drops == {"outbox-full": 1}


def test_drops_are_counted_for_the_peer_the_bus_and_the_topic() -> None:
    """By a word for the reason, and never for anybody else."""
    router = bus_with_room_for(1)
    slow, quick, writer = (MemoryClient(router) for _ in range(3))
    for reader in (slow, quick):
        reader.subscribe(b"*")
    slow.pause()
    publish_numbers(writer, 1, 3, topic=b"a")
    publish_numbers(writer, 4, 4, topic=b"b")
    assert session_of(slow).statistics.drops == {"outbox-full": 3}
    assert session_of(quick).statistics.dropped == 0
    assert router.statistics.drops == {"outbox-full": 3}
    assert {topic: route.dropped for topic, route in router.table.routes.items()} == {b"a": 3, b"b": 0}


def test_when_delivered_fires_once_nothing_waits_for_the_client() -> None:
    """A Deferred of each caller's own; at once where nothing waits, and when the client has gone."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a")
    assert reader.session.when_delivered().called
    writer.session.publish(Message(b"a", b"x"))
    in_turn = reader.session.when_delivered()
    assert not in_turn.called
    writer.session.flush()
    assert in_turn.called
    reader.pause()
    full, also_full = reader.session.when_delivered(), reader.session.when_delivered()
    writer.publish(b"a", b"x")
    assert not full.called
    reader.resume()
    assert full.called
    assert also_full.called
    reader.pause()
    gone = reader.session.when_delivered()
    reader.close()
    assert gone.called
    assert reader.session.when_delivered().called


def test_interest_does_not_stop_the_client_that_caused_it() -> None:
    """Who subscribes is no publisher: a slow watcher must not keep it from reading."""
    router = bus_with_room_for(3, overflow=Overflow.PAUSE)
    watcher, subscriber = MemoryClient(router), MemoryClient(router)
    watcher.watch(b"*")
    watcher.pause()
    for number in range(10):
        subscriber.subscribe(b"%d" % number)
    assert subscriber.calls == []


def test_feedback_is_told_however_many_messages_wait() -> None:
    """Messages go first: a publisher that missed the last unsubscription would work for nobody (reading 50)."""
    for overflow in (Overflow.DROP_OLDEST, Overflow.DROP_NEWEST, Overflow.CONFLATE):
        router = bus_with_room_for(10, overflow=overflow)
        watcher, reader, writer = (MemoryClient(router) for _ in range(3))
        watcher.watch(b"a")
        watcher.subscribe(b"b")
        watcher.pause()
        publish_numbers(writer, 1, 10, topic=b"b")
        reader.subscribe(b"a")
        publish_numbers(writer, 11, 30, topic=b"b")
        reader.unsubscribe(b"a")
        publish_numbers(writer, 31, 50, topic=b"b")
        watcher.resume()
        assert watcher.interest[-1] == (b"a", 0)
        assert watcher.payloads


def test_feedback_that_comes_often_takes_no_more_room_than_its_last_word() -> None:
    """A storm of subscriptions costs a slow watcher one entry for each pattern."""
    router = bus_with_room_for(10)
    watcher, reader = MemoryClient(router), MemoryClient(router)
    watcher.watch(b"*")
    watcher.pause()
    for _ in range(1000):
        reader.subscribe(b"a")
        reader.unsubscribe(b"a")
        reader.subscribe(b"b")
    watcher.resume()
    assert watcher.received == [Interest(b"b", 1), Interest(b"a", 0)]
    assert watcher.calls == []


def test_a_watcher_that_does_not_even_take_its_feedback_is_cut_off() -> None:
    """It cannot be told the truth any more, and must not go on believing something else."""
    router = bus_with_room_for(10)
    watcher, reader = MemoryClient(router), MemoryClient(router)
    watcher.watch(b"*")
    watcher.pause()
    for number in range(100):
        reader.subscribe(b"%d" % number)
    assert watcher.calls == ["abort outbox-full"]
