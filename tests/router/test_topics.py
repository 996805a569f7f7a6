"""Who gets a publication, how often, and in which order?"""

from __future__ import annotations

import pytest
from zope.interface.verify import verifyObject

from fmqbus.errors import Detached
from fmqbus.interfaces import IRouter, ISession
from fmqbus.model import Message
from fmqbus.testing.bus import LOCAL, MemoryClient, MemoryPeer, make_router


def test_the_router_and_its_sessions_provide_what_protocols_rely_on() -> None:
    """Every attribute and method of both interfaces is there, with the right signature."""
    router = make_router()
    assert verifyObject(IRouter, router)
    assert verifyObject(ISession, router.attach(MemoryPeer(), LOCAL))


@pytest.mark.parametrize(
    ("pattern", "topic"),
    [
        (b"a", b"a"),
        (b"a/b/c", b"a/b/c"),
        (b"a/*", b"a/b"),
        (b"*/b", b"a/b"),
        (b"*/*", b"a/b"),
        (b"a/b", b"a/*"),
        (b"a/b", b"*/*"),
        (b"a/*", b"*/b"),
        (b"*", b"*"),
        (b"a/*/b", b"a//b"),
        (b"a//b", b"a//b"),
        (b"a//b", b"*/*/*"),
        ("straße/日".encode(), "straße/*".encode()),
    ],
)
def test_equivalent_names_meet(pattern: bytes, topic: bytes) -> None:
    """A star is any one level, in the subscription and in the publication alike."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(pattern)
    writer.publish(topic, b"x")
    assert reader.messages == [Message(topic, b"x")]


@pytest.mark.parametrize(
    ("pattern", "topic"),
    [
        (b"a", b"b"),
        (b"a", b"A"),
        (b"a/*", b"a"),
        (b"a/*", b"a/b/c"),
        (b"*", b"a/b"),
        (b"a/b", b"a//b"),
        (b"a/b*", b"a/bc"),
        (b"a/bc", b"a/b*"),
        (b"a/**", b"a/b"),
        ("é".encode(), "e\u0301".encode()),
    ],
)
def test_names_that_are_not_equivalent_do_not_meet(pattern: bytes, topic: bytes) -> None:
    """A star stands for one level, never for part of one or for several; octets are compared as they are."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(pattern)
    writer.publish(topic, b"x")
    assert reader.messages == []


def test_equivalence_does_not_pass_from_one_name_to_the_next() -> None:
    """``a`` and ``b`` both meet ``*``, but not each other."""
    router = make_router()
    reader_of_a, reader_of_b, reader_of_all, writer = (MemoryClient(router) for _ in range(4))
    reader_of_a.subscribe(b"a")
    reader_of_b.subscribe(b"b")
    reader_of_all.subscribe(b"*")
    writer.publish(b"a", b"for a")
    writer.publish(b"*", b"for all")
    assert reader_of_a.payloads == [b"for a", b"for all"]
    assert reader_of_b.payloads == [b"for all"]
    assert reader_of_all.payloads == [b"for a", b"for all"]


@pytest.mark.parametrize("is_blind", [True, False])
@pytest.mark.parametrize("topic", [b"a/b", b"*/b"])
def test_a_client_gets_one_copy_however_many_of_its_subscriptions_match(topic: bytes, is_blind: bool) -> None:
    """Matching subscriptions of one client are one reader (reading 14)."""
    router = make_router()
    reader, writer = MemoryClient(router, is_blind=is_blind), MemoryClient(router)
    for pattern in (b"a/b", b"a/*", b"*/b", b"*/*"):
        reader.subscribe(pattern)
    writer.publish(topic, b"x")
    assert reader.payloads == [b"x"]


def test_a_peer_that_wants_to_know_is_told_every_subscription_that_matched() -> None:
    """So that its protocol can give the client back what it put into `Subscription.tag`."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    matching = {reader.subscribe(pattern) for pattern in (b"a/b", b"*/b")}
    reader.subscribe(b"c/*")
    writer.publish(b"a/b", b"x")
    [[(_, matched)]] = reader.batches
    assert set(matched) == matching


def test_a_publisher_that_subscribed_gets_its_own_messages() -> None:
    """It is a client as others are (reading 15)."""
    client = MemoryClient(make_router())
    client.subscribe(b"a")
    client.publish(b"a", b"x")
    assert client.payloads == [b"x"]


def test_an_empty_message_is_a_message() -> None:
    """What FMQP makes of it is FMQP's business; others may say all in its properties."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a")
    writer.publish(b"a", b"")
    assert reader.payloads == [b""]


def test_unsubscribing_ends_exactly_that_subscription() -> None:
    """By the very same name, not by an equivalent one (reading 18)."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a")
    assert not reader.unsubscribe(b"*")
    writer.publish(b"a", b"1")
    assert reader.unsubscribe(b"a")
    writer.publish(b"a", b"2")
    assert not reader.unsubscribe(b"a")
    assert reader.payloads == [b"1"]


def test_what_one_client_unsubscribes_others_still_get() -> None:
    """A subscription is its client's alone."""
    router = make_router()
    leaving, staying, writer = MemoryClient(router), MemoryClient(router), MemoryClient(router)
    for reader in (leaving, staying):
        reader.subscribe(b"a")
        reader.subscribe(b"*")
    leaving.unsubscribe(b"a")
    writer.publish(b"a", b"1")
    leaving.unsubscribe(b"*")
    writer.publish(b"a", b"2")
    assert leaving.payloads == [b"1"]
    assert staying.payloads == [b"1", b"2"]


def test_every_reader_gets_the_messages_in_the_order_in_which_they_were_published() -> None:
    """Over topics, publishers and subscriptions, whatever else was in the same turn."""
    router = make_router()
    narrow, wide, one, other = (MemoryClient(router) for _ in range(4))
    narrow.subscribe(b"a")
    wide.subscribe(b"*")
    for number in range(10):
        writer, topic = (one, b"a") if number % 3 else (other, b"b")
        writer.session.publish(Message(topic, b"%d" % number))
    one.session.flush()
    assert wide.payloads == [b"%d" % number for number in range(10)]
    assert narrow.payloads == [b"%d" % number for number in range(10) if number % 3]


def test_nothing_is_delivered_before_the_flush_and_then_all_in_one_batch() -> None:
    """The unit of work is what one read brought."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"*")
    for topic in (b"a", b"b", b"c"):
        writer.session.publish(Message(topic, b"x"))
    assert reader.batches == []
    writer.session.flush()
    assert [len(batch) for batch in reader.batches] == [3]
    writer.session.flush()
    assert len(reader.batches) == 1


def test_what_is_said_takes_effect_at_once_even_before_the_flush() -> None:
    """A subscription made after a publication does not see it, in the same turn or not; one made before does."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    writer.session.publish(Message(b"a", b"too early"))
    reader.session.subscribe(b"a")
    writer.session.publish(Message(b"a", b"in time"))
    reader.session.unsubscribe(b"a")
    writer.session.publish(Message(b"a", b"too late"))
    writer.session.flush()
    assert reader.payloads == [b"in time"]


def test_a_closed_client_gets_nothing_more_and_can_ask_for_nothing() -> None:
    """Every request of an ended session raises `Detached`; closing again does nothing."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a")
    writer.session.publish(Message(b"a", b"on its way"))
    reader.close()
    writer.publish(b"a", b"x")
    assert reader.received == []
    for request in (
        lambda: reader.subscribe(b"a"),
        lambda: reader.unsubscribe(b"a"),
        lambda: reader.publish(b"a", b"x"),
        lambda: reader.set_will(b"a", b"x"),
        lambda: reader.watch(b"a"),
        lambda: reader.unwatch(b"a"),
        lambda: reader.session.detach(1.0),
    ):
        with pytest.raises(Detached):
            request()
    reader.close()
    assert list(router.sessions()) == [writer.session]


def test_sessions_are_listed_in_the_order_in_which_they_began() -> None:
    """A snapshot: it does not change while it is looked through."""
    router = make_router()
    first, second, third = (MemoryClient(router) for _ in range(3))
    listed = router.sessions()
    second.close()
    assert list(listed) == [first.session, second.session, third.session]
    assert list(router.sessions()) == [first.session, third.session]
    assert router.connected("memory") == 2
    assert router.connected("other") == 0
