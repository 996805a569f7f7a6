"""What happens to publications that find an outbox full? (architecture.md, section 5)"""

from __future__ import annotations

import pytest

from fmqbus.model import Message, Overflow
from fmqbus.testing.bus import MemoryClient, make_router
from tests.router.fast_lane import publish_read
from tests.router.slow_readers import Narrow, body, bus_with_room_for, numbers, publish_numbers, room_for, session_of


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
