"""What happens to publications that a client's link does not take? (architecture.md, section 5)

In these tests every message counts 10 octets: a topic of one octet and a payload of nine.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from fmqbus.limits import Limits
from fmqbus.model import Interest, Message, Overflow
from fmqbus.router.service import Router
from fmqbus.router.session import Session
from fmqbus.testing.bus import MemoryClient, make_router
from tests.router.fast_lane import publish_read
from tests.router.room import room_for


def body(number: int) -> bytes:
    """A payload of nine octets."""
    return b"%09d" % number


def bus_with_room_for(messages: int, **options: Any) -> Router:
    """A bus whose outboxes keep so many of the messages of these tests."""
    return make_router(limits=room_for(messages), **options)


def numbers(client: MemoryClient) -> list[int]:
    """Which of these tests' messages a client got."""
    return [int(payload) for payload in client.payloads]


def session_of(client: MemoryClient) -> Session:
    """The session, as the router knows it."""
    assert isinstance(client.session, Session)
    return client.session


def publish_numbers(client: MemoryClient, first: int, last: int, topic: bytes = b"a") -> None:
    """One read each."""
    for number in range(first, last + 1):
        client.publish(topic, body(number))


class Narrow(MemoryClient):
    """Its link is full again after each batch."""

    def deliver(self, batch: Any) -> None:
        super().deliver(batch)
        self.session.pause_delivery()


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


def test_drop_oldest_keeps_the_newest_that_fit() -> None:
    """The default, for data that age."""
    router = bus_with_room_for(3)
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a", overflow=Overflow.DROP_OLDEST)
    reader.pause()
    publish_numbers(writer, 1, 5)
    reader.resume()
    assert numbers(reader) == [3, 4, 5]
    assert session_of(reader).statistics.drops == {"outbox-full": 2}


def test_drop_newest_keeps_the_oldest_that_fit() -> None:
    """For data of which the beginning matters."""
    router = bus_with_room_for(3)
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a", overflow=Overflow.DROP_NEWEST)
    reader.pause()
    publish_numbers(writer, 1, 5)
    reader.resume()
    publish_numbers(writer, 6, 6)
    assert numbers(reader) == [1, 2, 3, 6]
    assert session_of(reader).statistics.drops == {"outbox-full": 2}


def test_conflate_keeps_the_last_of_each_topic() -> None:
    """At the place of the last; what was superseded is counted as such."""
    router = bus_with_room_for(100)
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"*", overflow=Overflow.CONFLATE)
    reader.pause()
    for number, topic in enumerate((b"a", b"b", b"a", b"c", b"a")):
        publish_read(writer, (topic, body(number)))
    reader.resume()
    assert [(message.topic, int(message.payload)) for message in reader.messages] == [(b"b", 1), (b"c", 3), (b"a", 4)]
    assert session_of(reader).statistics.drops == {"conflated": 2}


@pytest.mark.parametrize("is_blind", [True, False])
def test_conflate_looks_into_runs(is_blind: bool) -> None:
    """Also into one over several topics; each lost message is counted once, for its own topic."""
    router = bus_with_room_for(100)
    reader, writer = MemoryClient(router, is_blind=is_blind), MemoryClient(router)
    reader.subscribe(b"*", overflow=Overflow.CONFLATE)
    reader.pause()
    run = [(b"a", 1), (b"a", 2), (b"b", 3), (b"a", 4), (b"c", 5), (b"b", 6)]
    publish_read(writer, *((topic, body(number)) for topic, number in run))
    publish_read(writer, (b"a", body(7)), (b"c", body(8)))
    reader.resume()
    assert sorted((message.topic, int(message.payload)) for message in reader.messages) == [
        (b"a", 7),
        (b"b", 6),
        (b"c", 8),
    ]
    assert session_of(reader).statistics.drops == {"conflated": 5}
    assert {topic: route.dropped for topic, route in router.table.routes.items()} == {b"a": 3, b"b": 1, b"c": 1}


def test_conflate_drops_the_oldest_topics_where_even_the_last_ones_are_too_many() -> None:
    """The bound holds for every policy."""
    router = bus_with_room_for(2)
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"*", overflow=Overflow.CONFLATE)
    reader.pause()
    for number, topic in enumerate((b"a", b"b", b"a", b"c")):
        publish_read(writer, (topic, body(number)))
    reader.resume()
    assert numbers(reader) == [2, 3]
    assert session_of(reader).statistics.drops == {"conflated": 1, "outbox-full": 1}


def test_disconnect_ends_the_client_that_cannot_keep_up() -> None:
    """By its link, once, when the turn is over; everybody else is served as ever."""
    router = bus_with_room_for(2)
    slow, reader, writer = (MemoryClient(router) for _ in range(3))
    slow.subscribe(b"a", overflow=Overflow.DISCONNECT)
    reader.subscribe(b"a")
    slow.pause()
    publish_numbers(writer, 1, 2)
    assert slow.calls == []
    writer.session.publish(Message(b"a", body(3)))
    writer.session.publish(Message(b"a", body(4)))
    assert slow.calls == []
    writer.session.flush()
    assert slow.calls == ["abort outbox-full"]
    slow.close("link lost")
    publish_numbers(writer, 5, 5)
    assert numbers(reader) == [1, 2, 3, 4, 5]
    assert session_of(slow).statistics.drops == {"outbox-full": 2}


def test_pause_stops_the_publishers_and_loses_nothing() -> None:
    """What was read before they stop is accepted; they go on when half of the room is free."""
    router = bus_with_room_for(4)
    slow, writer, bystander = (MemoryClient(router) for _ in range(3))
    slow.subscribe(b"a", overflow=Overflow.PAUSE)
    slow.pause()
    publish_numbers(writer, 1, 4)
    assert writer.calls == []
    for number in range(5, 8):
        writer.session.publish(Message(b"a", body(number)))
    writer.session.flush()
    publish_numbers(bystander, 8, 8, topic=b"b")
    assert writer.calls == ["pause_reading"]
    assert bystander.calls == []
    slow.resume()
    assert writer.calls == ["pause_reading", "resume_reading"]
    assert numbers(slow) == list(range(1, 8))
    assert session_of(slow).statistics.drops == {}


def test_publishers_that_come_for_ever_find_an_end_too() -> None:
    """Each is held, but what their last reads bring is kept up to twice the bound only; the rest is dropped."""
    router = bus_with_room_for(4)
    slow = MemoryClient(router)
    slow.subscribe(b"a", overflow=Overflow.PAUSE)
    slow.pause()
    for number in range(1, 13):
        writer = MemoryClient(router)
        publish_numbers(writer, number, number)
        assert writer.calls == (["pause_reading"] if number > 4 else [])
        writer.close()
    slow.resume()
    assert numbers(slow) == list(range(1, 9))
    assert session_of(slow).statistics.drops == {"outbox-full": 4}


def test_publishers_wait_until_half_of_the_room_is_free() -> None:
    """Or they would be held and let go with every message."""
    large = 256 * 1024
    router = make_router(limits=room_for(8, octets=large))
    slow, writer = Narrow(router), MemoryClient(router)
    slow.subscribe(b"a", overflow=Overflow.PAUSE)
    slow.pause()
    for _ in range(9):
        writer.publish(b"a", bytes(large - 1))
    for taken in range(1, 6):
        assert writer.calls == ["pause_reading"]
        slow.resume()
        assert len(slow.messages) == taken
    assert writer.calls == ["pause_reading", "resume_reading"]


def test_a_publisher_held_by_two_slow_readers_goes_on_when_both_have_caught_up() -> None:
    """Each asks once."""
    router = bus_with_room_for(1)
    slow, slower, writer = (MemoryClient(router) for _ in range(3))
    for reader in (slow, slower):
        reader.subscribe(b"a", overflow=Overflow.PAUSE)
        reader.pause()
    publish_numbers(writer, 1, 3)
    slow.resume()
    assert writer.calls == ["pause_reading"]
    slower.resume()
    assert writer.calls == ["pause_reading", "resume_reading"]


def test_a_slow_reader_that_goes_releases_its_publishers() -> None:
    """Nobody waits for the dead."""
    router = bus_with_room_for(1)
    slow, writer = MemoryClient(router), MemoryClient(router)
    slow.subscribe(b"a", overflow=Overflow.PAUSE)
    slow.pause()
    publish_numbers(writer, 1, 2)
    slow.close()
    assert writer.calls == ["pause_reading", "resume_reading"]


def test_a_publisher_that_goes_while_held_harms_nobody() -> None:
    """Its reader gets what was published, and serves others."""
    router = bus_with_room_for(1)
    slow, writer, other = (MemoryClient(router) for _ in range(3))
    slow.subscribe(b"a", overflow=Overflow.PAUSE)
    slow.pause()
    publish_numbers(writer, 1, 2)
    writer.close()
    slow.resume()
    publish_numbers(other, 3, 3)
    assert numbers(slow) == [1, 2, 3]
    assert other.calls == []
    assert writer.calls == ["pause_reading"]


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


def test_interest_does_not_stop_the_client_that_caused_it() -> None:
    """Who subscribes is no publisher: a slow watcher must not keep it from reading."""
    router = bus_with_room_for(3, overflow=Overflow.PAUSE)
    watcher, subscriber = MemoryClient(router), MemoryClient(router)
    watcher.watch(b"*")
    watcher.pause()
    for number in range(10):
        subscriber.subscribe(b"%d" % number)
    assert subscriber.calls == []


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


def test_the_policy_is_the_subscriptions_the_rules_or_the_default_in_this_order() -> None:
    """The first rule whose pattern is equivalent decides for subscriptions that ask for none."""
    router = make_router(
        overflow=Overflow.DROP_NEWEST,
        overflow_rules=[(b"a/*", Overflow.CONFLATE), (b"a/1", Overflow.DISCONNECT)],
    )
    reader = MemoryClient(router)
    assert reader.subscribe(b"a/1", overflow=Overflow.PAUSE).overflow is Overflow.PAUSE
    assert reader.subscribe(b"a/1").overflow is Overflow.CONFLATE
    assert reader.subscribe(b"b/1").overflow is Overflow.DROP_NEWEST


def test_a_repeated_subscription_changes_the_policy() -> None:
    """The later call decides, for what comes from then on, whether the peer is blind or not."""
    for is_blind in (True, False):
        router = bus_with_room_for(1)
        reader, writer = MemoryClient(router, is_blind=is_blind), MemoryClient(router)
        reader.subscribe(b"a", overflow=Overflow.DROP_NEWEST)
        publish_numbers(writer, 0, 0)
        reader.subscribe(b"a", overflow=Overflow.DROP_OLDEST)
        reader.pause()
        publish_numbers(writer, 1, 2)
        reader.resume()
        assert numbers(reader) == [0, 2]


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
