"""What does a message of a queue say of a job, to whoever else looks at the queue?"""

from __future__ import annotations

import pytest

from fmqbus.errors import PeerError
from fmqbus.model import Message
from fmqbus.protocols.emqp.commands import Reply, Request
from fmqbus.protocols.emqp.headers import Headers
from fmqbus.protocols.emqp.job_message import JobMessage, job_message, read_job_message
from tests.protocols.emqp.memory_place import JOB, Place


def test_a_job_is_a_message_for_consumers_of_other_protocols() -> None:
    """The body as it came; id, headers, the queue's name where the bus has another for it, and who waits.
    (reading 25)"""
    place = Place('[protocols.emqp]\nunknown-queue = "keep"\n')
    consumer = place.bystander()
    consumer.consume(b"orders/new")
    client = place.peer(b"\xff\x01")
    client.request(b"id", b"reply-requested, timeout:5, own", b"/orders/new/")
    client.request(b"", b"", b"orders/new")
    (_, first), (_, second) = consumer.taken
    assert (first.message.payload, first.queue) == (JOB, b"orders/new")
    assert first.message.properties == {
        "emqp:id": "id",
        "emqp:headers": "reply-requested,timeout:5,own",
        "emqp:queue": "/orders/new/",
        "emqp:client": "frontend ff01",
    }
    assert second.message.properties == {}


def test_a_message_of_another_protocol_is_a_job_if_its_payload_is_one() -> None:
    """With headers, if it has such a property."""
    place = Place()
    worker, producer = place.worker(credit=2), place.bystander()
    for properties in ({}, {"emqp:headers": "timeout:5,guarantee", "emqp:id": "mine"}):
        producer.session.enqueue(b"default", Message(b"default", JOB, properties=properties))
    producer.session.flush()
    place.wait()
    first, second = worker.heard()
    assert isinstance(first, Request)
    assert isinstance(second, Request)
    assert (first.queue, first.headers, first.body) == (b"default", b"reply-requested", JOB)
    assert second.message_id == b"mine"
    assert sorted(second.headers.split(b",")) == [b"guarantee", b"reply-requested", b"timeout:5"]
    worker.say(Reply(b"x", b'{"value": 3}', first.message_id))
    queue = place.router.queue(b"default")
    assert queue is not None
    assert queue.unsettled == 1


@pytest.mark.parametrize("client", [None, ("frontend", b"\x00\xff"), ("call", b"17")])
def test_what_is_written_is_read_as_the_same(client: tuple[str, bytes] | None) -> None:
    """Identities are any octets."""
    request = Request("ä".encode(), b"/q", b"", JOB)
    headers = Headers(timeout=5, others=("own",))
    read = read_job_message(job_message(b"q", request, headers, client))
    assert read == JobMessage("ä".encode(), headers, b"/q", client)
    assert read_job_message(Message(b"q", JOB)) == JobMessage()


@pytest.mark.parametrize("properties", [{"emqp:client": "frontend xyz"}, {"emqp:headers": "timeout:x"}])
def test_properties_that_make_no_sense_are_refused(properties: dict[str, str]) -> None:
    """Anybody may have written them. (reading 29)"""
    with pytest.raises(PeerError):
        read_job_message(Message(b"q", JOB, properties=properties))
