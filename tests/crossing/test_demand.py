"""Publishers learn who listens, in whatever protocol, where their own has a word for it."""

from __future__ import annotations

import pytest

from tests.crossing.conftest import PROTOCOLS, Join
from tests.crossing.emqp import EMQP
from tests.crossing.fmqp import FMQP
from tests.crossing.micromsg2 import MicroMsg2
from tests.crossing.mtl import MTL
from tests.crossing.speakers import Speaker, wait_for
from tests.crossing.umq import UMQ


@pytest.fixture(params=[kind for kind in PROTOCOLS if kind.has_levels], ids=lambda kind: kind.protocol)
def listener(request: pytest.FixtureRequest, join: Join) -> Speaker:
    """One of each protocol that subscribes to levels."""
    return join(request.param)


@pytest.fixture(params=[FMQP, UMQ], ids=lambda kind: f"by {kind.protocol}")
def watcher(request: pytest.FixtureRequest, join: Join) -> FMQP | UMQ:
    """One of each protocol that can watch."""
    return join(request.param)


def test_feedback_tells_of_subscribers_of_every_protocol(
    join: Join, watcher: FMQP | UMQ, listener: Speaker, topic: bytes
) -> None:
    """Of patterns as they are, of their number, and of their end."""
    neighbour = join(FMQP)
    watcher.watch(topic + b"/*")
    listener.subscribe(topic + b"/a")
    listener.subscribe(topic + b"/*")
    assert watcher.demand() == [(topic + b"/a", 1), (topic + b"/*", 1)]
    neighbour.subscribe(topic + b"/a")
    listener.unsubscribe(topic + b"/a")
    assert watcher.demand() == [(topic + b"/a", 2), (topic + b"/a", 1)]
    listener.close()
    assert wait_for(watcher.demand) == [(topic + b"/*", 0)]


def test_who_listens_by_how_topics_begin_is_a_subscriber_at_every_depth(
    join: Join, watcher: FMQP | UMQ, topic: bytes
) -> None:
    """Of all that could begin so, down to sixteen levels."""
    listener = join(EMQP)
    watcher.watch(topic + b"/*")
    listener.subscribe(topic + b"/a")
    assert watcher.demand() == [(topic + b"/*", 1)]
    listener.unsubscribe(topic + b"/a")
    assert watcher.demand() == [(topic + b"/*", 0)]


def test_those_who_filter_are_subscribers_too(join: Join, watcher: FMQP | UMQ, topic: bytes) -> None:
    """Whether anything would pass, nobody can know beforehand."""
    listener = join(MicroMsg2)
    listener.subscribe(topic, "colour=Tred")
    watcher.watch(topic)
    assert watcher.demand() == [(topic, 1)]


@pytest.mark.parametrize("kind", [MicroMsg2, UMQ, MTL], ids=lambda kind: kind.protocol)
def test_a_consumer_of_a_queue_is_no_subscriber(
    join: Join, watcher: FMQP | UMQ, kind: type[MicroMsg2 | UMQ | MTL], topic: bytes
) -> None:
    """A queue and a topic of the same name have nothing to do with each other."""
    consumer = join(kind)
    watcher.watch(topic)
    consumer.consume(topic)
    assert watcher.demand() == []
