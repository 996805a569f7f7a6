"""What does a later subscriber get at once? (FMQP, section Caching)"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from fmqbus.errors import Overloaded
from fmqbus.limits import Limits
from fmqbus.model import Message
from fmqbus.stores.memory import MemoryRetainedStore
from fmqbus.testing.bus import MemoryClient, make_router


def test_a_subscriber_gets_the_retained_value_before_anything_newer() -> None:
    """Also if the newer message comes in the same turn (reading 21)."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    writer.publish(b"a", b"kept", retain=True)
    reader.session.subscribe(b"a")
    writer.session.publish(Message(b"a", b"newer"))
    writer.session.flush()
    assert reader.messages == [Message(b"a", b"kept", retain=True), Message(b"a", b"newer")]


def test_present_subscribers_get_a_retained_message_too_once() -> None:
    """Keeping it does not replace publishing it."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a")
    writer.publish(b"a", b"x", retain=True)
    assert reader.payloads == [b"x"]


def test_a_topic_keeps_its_last_retained_message() -> None:
    """The cache of a topic holds one message, and an ordinary one leaves it alone (reading 23)."""
    router = make_router()
    writer = MemoryClient(router)
    writer.publish(b"a", b"1", retain=True)
    writer.publish(b"a", b"2", retain=True)
    writer.publish(b"a", b"3")
    late = MemoryClient(router)
    late.subscribe(b"a")
    assert late.payloads == [b"2"]


def test_an_empty_retained_message_removes_the_value_and_reaches_nobody() -> None:
    """As reading 24 has it; an empty one without the flag removes nothing (reading 25)."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    writer.publish(b"a", b"1", retain=True)
    writer.publish(b"a", b"")
    reader.subscribe(b"a")
    writer.publish(b"a", b"", retain=True)
    reader.subscribe(b"a")
    assert reader.payloads == [b"1"]
    assert len(router.retained) == 0


def test_a_wildcard_subscription_gets_all_values_below_it_in_the_order_in_which_they_were_last_put() -> None:
    """A renewed value is a new one."""
    router = make_router()
    writer, reader = MemoryClient(router), MemoryClient(router)
    for topic in (b"a/1", b"a/2", b"b/1", b"a/3", b"a/1"):
        writer.publish(topic, b"value of " + topic, retain=True)
    reader.subscribe(b"a/*")
    assert [message.topic for message in reader.messages] == [b"a/2", b"a/3", b"a/1"]


def test_a_value_kept_under_a_wildcard_is_an_entry_of_its_own() -> None:
    """It meets subscriptions by equivalence, and neither replaces nor removes those of other names (reading 22)."""
    router = make_router()
    writer = MemoryClient(router)
    writer.publish(b"a/b", b"plain", retain=True)
    writer.publish(b"a/*", b"wild", retain=True)
    for pattern in (b"a/b", b"a/*", b"*/b"):
        reader = MemoryClient(router)
        reader.subscribe(pattern)
        assert reader.payloads == [b"plain", b"wild"]
    writer.publish(b"a/*", b"", retain=True)
    last = MemoryClient(router)
    last.subscribe(b"*/*")
    assert last.payloads == [b"plain"]


def test_subscribing_again_brings_the_values_again() -> None:
    """Every subscribe counts (reading 20)."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    writer.publish(b"a", b"x", retain=True)
    reader.subscribe(b"a")
    reader.subscribe(b"a")
    assert reader.payloads == [b"x", b"x"]


def test_a_store_may_make_its_messages_anew_for_each_answer() -> None:
    """As one that reads them from a disk does."""

    class Copying(MemoryRetainedStore):
        def get(self, topic: bytes) -> Message | None:
            kept = super().get(topic)
            return None if kept is None else msgspec.structs.replace(kept)

        def matching(self, pattern: bytes) -> Sequence[Message]:
            return [msgspec.structs.replace(message) for message in super().matching(pattern)]

    router = make_router(retained=Copying())
    reader, writer = MemoryClient(router), MemoryClient(router)
    writer.publish(b"a", b"x", retain=True)
    reader.subscribe(b"*")
    assert reader.payloads == [b"x"]


def test_a_value_outlives_its_publisher() -> None:
    """It belongs to the topic."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    writer.publish(b"a", b"x", retain=True)
    writer.close()
    reader.subscribe(b"a")
    assert reader.payloads == [b"x"]


def test_where_no_more_can_be_kept_the_message_is_refused_whole() -> None:
    """Nobody gets what its publisher believes to be kept; what is kept stays, and can still be replaced and removed."""
    router = make_router(limits=Limits(retained_topics=1))
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"*")
    writer.publish(b"a", b"1", retain=True)
    with pytest.raises(Overloaded):
        writer.publish(b"b", b"2", retain=True)
    writer.session.flush()
    writer.publish(b"a", b"3", retain=True)
    assert reader.payloads == [b"1", b"3"]
    writer.publish(b"a", b"", retain=True)
    writer.publish(b"b", b"4", retain=True)
    assert [message.topic for message in router.retained.matching(b"*")] == [b"b"]


def test_a_subscription_that_would_bring_too_much_is_refused_and_leaves_no_trace() -> None:
    """A star over more values than may be looked at; repeating it does not use up the client's wildcards."""
    limits = Limits(replay_visits=10, wildcards_per_peer=1)
    router = make_router(limits=limits, retained=MemoryRetainedStore(limits))
    reader, writer = MemoryClient(router), MemoryClient(router)
    for number in range(20):
        writer.publish(b"a/%d" % number, b"x", retain=True)
    for _ in range(3):
        with pytest.raises(Overloaded):
            reader.subscribe(b"a/*")
    assert router.subscriptions == 0
    assert reader.received == []
    reader.subscribe(b"b/*")
    writer.publish(b"a/1", b"y")
    writer.publish(b"b/1", b"y")
    assert [message.topic for message in reader.messages] == [b"b/1"]
