"""Does work stay in proportion where there is much of everything? Ratios and counts; no time is absolute here."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from unittest.mock import patch

import pytest

from fmqbus.model import Route
from fmqbus.router.routes import RouteTable
from fmqbus.testing.bus import MemoryClient, make_router
from fmqbus.topic_index import TopicIndex
from tests.router.fast_lane import publish_read


def best(work: Callable[[], object], rounds: int = 5) -> float:
    """Seconds of the fastest of some rounds: what the work takes when nothing disturbs it."""
    times = []
    for _ in range(rounds):
        before = time.process_time()
        work()
        times.append(time.process_time() - before)
    return min(times)


def test_a_name_is_found_among_a_hundred_thousand_as_among_a_hundred() -> None:
    """Matching does not look at subscriptions that have nothing to do with the name."""
    seconds = {}
    for size in (100, 100_000):
        index: TopicIndex[int] = TopicIndex()
        for number in range(size):
            index.set(b"sensor/%d/temperature" % number, number)
        for number in range(100):
            index.set(b"other/%d/*" % number, number)
        topics = [b"sensor/%d/temperature" % (number * 7 % size) for number in range(500)]
        seconds[size] = best(lambda: [list(index.matching(topic)) for topic in topics])  # noqa: B023
    assert seconds[100_000] < 10 * seconds[100]


@pytest.mark.parametrize("depth", [4, 8, 12])
def test_overlapping_wildcards_cost_what_they_match_and_no_more(depth: int) -> None:
    """All of ``{a,*}`` at each level match ``a/a/...``: no node of the tree is looked at twice."""
    index: TopicIndex[bool] = TopicIndex()
    patterns = [b"/".join(levels) for levels in itertools.product((b"a", b"*"), repeat=depth)]
    for pattern in patterns:
        index.set(pattern, True)
    topic = b"/".join([b"a"] * depth)
    assert {pattern for pattern, _ in index.matching(topic, budget=3 * len(patterns))} == set(patterns)
    other = b"/".join([b"b"] * depth)
    assert len(list(index.matching(other, budget=3 * depth))) == 1


def test_a_storm_of_subscriptions_costs_publishers_only_the_topics_it_concerns() -> None:
    """A literal subscription has one route matched anew, whatever else is being published."""
    router = make_router()
    writer, stormy, reader = (MemoryClient(router, is_blind=True) for _ in range(3))
    topics = [b"t/%d" % number for number in range(200)]
    for topic in topics:
        reader.subscribe(topic)
    read = [(topic, b"x") for topic in topics]
    publish_read(writer, *read)
    matched: list[bytes] = []
    match = RouteTable.match

    def counting(table: RouteTable, route: Route) -> object:
        matched.append(route.topic)
        return match(table, route)

    with patch.object(RouteTable, "match", counting):
        for number in range(100):
            stormy.subscribe(topics[number])
            publish_read(writer, *read)
            stormy.unsubscribe(topics[number])
            publish_read(writer, *read)
    assert matched == [topics[number] for number in range(100) for _ in range(2)]
    assert len(reader.messages) == 201 * len(topics)
    assert len(stormy.messages) == 100


def test_a_storm_of_wildcards_costs_no_more_than_what_was_published_since() -> None:
    """A change of wildcards forgets the matched routes; those that nobody uses are not matched again for it."""
    router = make_router()
    writer, stormy = MemoryClient(router), MemoryClient(router)
    publish_read(writer, *((b"t/%d" % number, b"x") for number in range(5_000)))
    matched: list[bytes] = []
    match = RouteTable.match

    def counting(table: RouteTable, route: Route) -> object:
        matched.append(route.topic)
        return match(table, route)

    with patch.object(RouteTable, "match", counting):
        for _ in range(500):
            stormy.subscribe(b"*/5")
            publish_read(writer, (b"t/5", b"x"), (b"t/6", b"x"))
            stormy.unsubscribe(b"*/5")
    assert matched == [b"t/5", b"t/6"] * 500
    assert len(stormy.messages) == 500


def test_a_hundred_thousand_subscriptions_come_and_go_without_one_slowing_the_next() -> None:
    """The last ten thousand take as long as the first, and nothing is left of them."""
    router = make_router()
    client = MemoryClient(router, is_blind=True)
    seconds = []
    for block in range(10):
        before = time.process_time()
        for number in range(10_000):
            client.session.subscribe(b"site/%d/sensor/%d" % (block, number))
        seconds.append(time.process_time() - before)
    assert router.subscriptions == 100_000
    assert min(seconds[5:]) < 5 * min(seconds[:5])
    writer = MemoryClient(router)
    publish_read(writer, (b"site/9/sensor/9999", b"x"))
    assert client.payloads == [b"x"]
    client.close()
    assert router.subscriptions == len(router.table.subscriptions) == 0
