"""Queues stay apart from topics, whose names they may share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from fmqbus.model import NO_PROPERTIES
from tests.crossing.conftest import Join
from tests.crossing.emqp import EMQP
from tests.crossing.fmqp import FMQP
from tests.crossing.micromsg2 import MicroMsg2
from tests.crossing.mtl import MTL
from tests.crossing.speakers import Heard, wait_for
from tests.crossing.umq import UMQ
from tests.live.emqp_peers import args_of, body_of

#: Those that have queues.
HAVE_QUEUES: Sequence[type[MicroMsg2 | UMQ | MTL]] = (MicroMsg2, UMQ, MTL)
#: From whom, and to whom.
PAIRS = [pytest.param(*pair, id="-to-".join(kind.protocol for kind in pair)) for pair in product(HAVE_QUEUES, repeat=2)]


@pytest.mark.parametrize(("sends", "consumes"), PAIRS)
def test_a_message_to_a_queue_reaches_one_consumer(
    join: Join, sends: type[MicroMsg2 | UMQ | MTL], consumes: type[MicroMsg2 | UMQ | MTL], topic: bytes
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


@pytest.mark.parametrize("sends", HAVE_QUEUES, ids=lambda kind: kind.protocol)
def test_a_message_to_a_queue_that_workers_serve_is_a_job(
    join: Join, sends: type[MicroMsg2 | UMQ | MTL], topic: bytes
) -> None:
    """If its payload is one; else it is nobody's work, and a dead letter."""
    sender, undertaker, worker = join(sends), join(MicroMsg2), join(EMQP).worker(topic)
    sender.enqueue(topic, b"no job")
    sender.enqueue(topic, body_of("add", 1, 2))
    job = worker.job()
    assert (job[2], args_of(job)) == (topic, [1, 2])
    worker.reply(job, 3)
    undertaker.consume(b"dead")
    assert [message.payload for message in wait_for(undertaker.heard)] == [b"no job"]


@pytest.mark.parametrize("consumes", HAVE_QUEUES, ids=lambda kind: kind.protocol)
def test_a_job_reaches_consumers_of_other_protocols(
    join: Join, consumes: type[MicroMsg2 | UMQ | MTL], topic: bytes
) -> None:
    """As a message of its queue, where that is known: the body as it came, and what else was said in properties. In
    MicroMsg2 there is no name of a property with a colon."""
    consumer, client = join(consumes), join(EMQP).client()
    consumer.consume(topic)
    id = client.submit(topic.decode(), body_of("add", 1, 2), "timeout:5")
    (message,) = wait_for(consumer.heard)
    assert message.payload == body_of("add", 1, 2)
    said = {"emqp:id": id.decode(), "emqp:headers": "timeout:5"} if consumes is not MicroMsg2 else NO_PROPERTIES
    assert message.properties == said


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
