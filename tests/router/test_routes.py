"""Does the fast lane give the same answers as a look at all subscriptions, however they have just changed?"""

from __future__ import annotations

from random import Random

import pytest

from fmqbus import names
from fmqbus.limits import Limits
from fmqbus.model import SINGLY, Action, Message, Publication
from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient, OpenPolicy, make_router
from tests.router.fast_lane import publish_read


@pytest.mark.parametrize("raw", [b"", b"/", b"/a", b"a/", b"a\0", b"\xff", b"*", b"a/*", b"$", b"$/signals/stop"])
def test_topics_that_need_a_look_of_their_own_stay_out_of_the_fast_lane(raw: bytes) -> None:
    """Invalid or untrimmed names, wildcards, and the broker's own topics."""
    assert MemoryClient(make_router()).session.routes[raw].targets is SINGLY


@pytest.mark.parametrize("raw", [b"a", b"a//b", b"a*/b", b"$a", b"a/$", "é".encode()])
def test_ordinary_topics_take_the_fast_lane(raw: bytes) -> None:
    """A star or a dollar inside a level is literal."""
    assert MemoryClient(make_router()).session.routes[raw].targets is not SINGLY


def test_neighbours_with_the_same_readers_share_their_targets() -> None:
    """So that a run may span topics; a topic with another reader has others."""
    router = make_router()
    first, second, writer = (MemoryClient(router, is_blind=True) for _ in range(3))
    for reader in (first, second):
        reader.subscribe(b"a/*")
    second.subscribe(b"b/2")
    first.subscribe(b"b/*")
    routes = writer.session.routes
    targets = {topic: routes[topic].rematch() for topic in (b"a/1", b"a/2", b"b/1", b"b/2")}
    assert targets[b"a/1"] is targets[b"a/2"] is targets[b"b/2"]
    assert targets[b"b/1"] is not targets[b"a/1"]


@pytest.mark.parametrize("pattern", [b"a/b", b"a/*", b"*/*"])
def test_a_route_in_use_follows_every_change_of_subscriptions(pattern: bytes) -> None:
    """Subscribed, unsubscribed, subscribed again, closed: the very next publication knows."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    publish_read(writer, (b"a/b", b"nobody yet"))
    reader.subscribe(pattern)
    publish_read(writer, (b"a/b", b"1"))
    reader.unsubscribe(pattern)
    publish_read(writer, (b"a/b", b"missed"))
    reader.subscribe(pattern)
    publish_read(writer, (b"a/b", b"2"))
    reader.close()
    publish_read(writer, (b"a/b", b"late"))
    assert reader.payloads == [b"1", b"2"]


@pytest.mark.parametrize("cached_routes", [0, 1, 2, 3])
def test_a_full_cache_loses_time_but_no_message(cached_routes: int) -> None:
    """A topic looked up as the cache starts anew still follows its subscriptions."""
    router = make_router(limits=Limits(cached_routes=cached_routes))
    reader, writer = MemoryClient(router), MemoryClient(router)
    topics = [b"a", b"b", b"c"]
    for topic in topics:
        publish_read(writer, (topic, b"early"))
    for topic in topics:
        reader.subscribe(topic)
        publish_read(writer, *((each, b"x") for each in topics))
    assert [message.topic for message in reader.messages] == [b"a", b"a", b"b", b"a", b"b", b"c"]


def test_caches_hold_no_more_than_their_limit_whatever_topics_peers_invent() -> None:
    """All caches together, refused and invalid names included."""
    policy = OpenPolicy()
    router = make_router(limits=Limits(cached_routes=100), authorizers=[policy])
    policy.deny(Action.PUBLISH, *(b"t/%d" % number for number in range(0, 1000, 2)))
    writers = [MemoryClient(router) for _ in range(3)]
    for number in range(1000):
        for writer in writers:
            publish_read(writer, (b"t/%d" % number, b"x"), (b"\xff%d" % number, b"x"))
        assert len(writers[0].session.routes) <= 100
        assert len(router.table.routes) <= 100


def test_peers_alike_share_one_cache_and_others_do_not() -> None:
    """Rights are part of what is cached."""
    router = make_router()
    one, alike = MemoryClient(router), MemoryClient(router)
    assert one.session.routes is alike.session.routes


def test_messages_are_counted_for_their_topics_by_either_lane() -> None:
    """One route of the bus for both."""
    router = make_router()
    writer = MemoryClient(router)
    publish_read(writer, *[(b"a", b"x")] * 5, (b"b", b"x"))
    writer.publish(b"a", b"x")
    assert {topic: route.messages for topic, route in router.table.routes.items()} == {b"a": 6, b"b": 1}


def test_a_publication_without_a_route_of_its_own_says_so() -> None:
    """A wildcard publication has none: nothing would be counted for the right topic."""
    router = make_router()
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a")
    writer.publish(b"*", b"x")
    [[(publication, _)]] = reader.batches
    assert publication.route is None


class _Naive:
    """All subscriptions in a list, looked through for every message."""

    def __init__(self, router: Router, random: Random, clients: int) -> None:
        self._clients = [MemoryClient(router, is_blind=random.random() < 0.5) for _ in range(clients)]
        self._random = random
        self._subscriptions: set[tuple[MemoryClient, bytes]] = set()

    def change(self) -> None:
        client = self._random.choice(self._clients)
        pattern = b"/".join(self._random.choices((b"a", b"b", b"*"), k=self._random.randint(1, 3)))
        if (client, pattern) in self._subscriptions:
            assert client.unsubscribe(pattern)
            self._subscriptions.remove((client, pattern))
        else:
            client.subscribe(pattern)
            self._subscriptions.add((client, pattern))

    def publish(self) -> None:
        messages = [
            (
                b"/".join(self._random.choices((b"a", b"b", b"*"), (5, 5, 1), k=self._random.randint(1, 3))),
                b"%d" % number,
            )
            for number in range(6)
        ]
        publish_read(self._random.choice(self._clients), *messages)
        for client in self._clients:
            patterns = [pattern for owner, pattern in self._subscriptions if owner is client]
            expected = [m for m in messages if any(names.equivalent(m[0], pattern) for pattern in patterns)]
            assert [(message.topic, message.payload) for message in client.messages] == expected
            client.received.clear()


@pytest.mark.parametrize("cached_routes", [2, 5, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_random_changes_between_reads_never_show_a_stale_route(seed: int, cached_routes: int) -> None:
    """Whatever is subscribed and unsubscribed, deliveries are those that looking at every subscription would give."""
    naive = _Naive(make_router(limits=Limits(cached_routes=cached_routes)), Random(seed), clients=4)
    for _ in range(150):
        naive.change()
        naive.publish()


def test_octets_reach_a_peer_of_the_same_protocol_as_they_came() -> None:
    """Once the way of each topic is known, a run is handed on whole: not one object per message."""
    router = make_router()
    reader, writer = MemoryClient(router, is_blind=True), MemoryClient(router)
    reader.subscribe(b"a/*")
    read = [(b"a/%d" % (number % 7), b"%d" % number) for number in range(100)]
    for _ in range(2):
        publish_read(writer, *read)
    _, [(publication, matched)] = reader.batches
    assert publication.count == 100
    assert matched == ()
    assert reader.payloads == 2 * [payload for _, payload in read]


def test_a_message_encoded_for_one_reader_is_not_encoded_again_for_the_next() -> None:
    """Once per wire format, however many receive it."""

    class Counting:
        name = "counting"
        calls = 0

        def encode(self, messages: object) -> bytes:
            self.calls += 1
            return b"encoded"

    router = make_router()
    readers = [MemoryClient(router) for _ in range(10)]
    for reader in readers:
        reader.subscribe(b"a")
    MemoryClient(router).publish(b"a", b"x")
    wire = Counting()
    publications = {reader.batches[0][0][0] for reader in readers}
    assert len(publications) == 1
    publication: Publication = publications.pop()
    assert {publication.encoded(wire) for _ in readers} == {b"encoded"}  # type: ignore[arg-type]
    assert wire.calls == 1
    assert publication.messages == (Message(b"a", b"x"),)
