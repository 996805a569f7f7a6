"""Queues stay apart from topics, whose names they may share."""

from __future__ import annotations

from itertools import product

import pytest

from tests.crossing.conftest import Join
from tests.crossing.fmqp import FMQP
from tests.crossing.micromsg2 import MicroMsg2
from tests.crossing.speakers import Heard, wait_for
from tests.crossing.umq import UMQ

#: Those that have queues: from whom, and to whom.
PAIRS = [
    pytest.param(*pair, id="-to-".join(kind.protocol for kind in pair)) for pair in product((MicroMsg2, UMQ), repeat=2)
]


@pytest.mark.parametrize(("sends", "consumes"), PAIRS)
def test_a_message_to_a_queue_reaches_one_consumer(
    join: Join, sends: type[MicroMsg2] | type[UMQ], consumes: type[MicroMsg2] | type[UMQ], topic: bytes
) -> None:
    """Whoever sent it; it waits until there is one."""
    sender, consumer = join(sends), join(consumes)
    sender.enqueue(topic, b"1")
    consumer.consume(topic)
    (message,) = wait_for(consumer.heard)
    assert (message.topic.removeprefix(b"queue/"), message.payload) == (topic, b"1")
    other = join(consumes)
    other.consume(topic)
    assert other.heard() == []


def test_what_is_published_to_a_topic_is_in_no_queue(join: Join, topic: bytes) -> None:
    """FMQP has no word for queues."""
    publisher, consumer = join(FMQP), join(MicroMsg2)
    consumer.consume(topic)
    publisher.publish(topic, b"1")
    consumer.send(b"queue/" + topic, b"2")
    assert wait_for(consumer.heard) == [Heard(b"queue/" + topic, b"2")]


def test_what_is_sent_to_a_queue_is_on_no_topic(join: Join, topic: bytes) -> None:
    """It waits for a consumer."""
    subscriber, sender, consumer = join(FMQP), join(MicroMsg2), join(MicroMsg2)
    subscriber.subscribe(topic)
    sender.send(b"queue/" + topic, b"1")
    assert subscriber.heard() == []
    consumer.consume(topic)
    assert wait_for(consumer.heard) == [Heard(b"queue/" + topic, b"1")]
