"""What can be said to eMQP's workers in MicroMsg2 and UMQ, and what is heard there of jobs? (docs/protocols/emqp.md)"""

from __future__ import annotations

import json

import pytest

from fmqbus.protocols.emqp.commands import Reply, Request
from tests.protocols.emqp.memory_place import JOB, Peer, Place
from tests.protocols.micromsg2.memory_bus import Client as MicroMsg2Client
from tests.protocols.micromsg2.written import handshake, payload_of
from tests.protocols.umq.clients import greeted


def micromsg2(place: Place) -> MicroMsg2Client:
    """A client of it, without acknowledgements."""
    client = MicroMsg2Client(place)
    client.say(2 * handshake(b"pubsub"))
    client.heard_octets()
    return client


def job_of(worker: Peer) -> Request:
    """The one job that it has been given."""
    [request] = worker.heard()
    assert isinstance(request, Request)
    return request


def test_in_micromsg2_a_message_to_a_queue_is_a_job() -> None:
    """Without headers: no property that comes by MicroMsg2 has a colon in its name."""
    place = Place(others=["micromsg2"])
    worker, client = place.worker(queues=b"email", credit=2), micromsg2(place)
    for properties in (b"", b"emqp%3Aheaders:timeout%3A5"):
        client.send(b"queue/email", JOB, properties=properties)
        job = job_of(worker)
        assert (job.body, job.headers) == (JOB, b"reply-requested")


def test_in_micromsg2_a_message_to_a_method_is_a_job_with_an_answer() -> None:
    """It comes where the caller wants it."""
    place = Place(others=["micromsg2"])
    worker, client = place.worker(queues=b"email", credit=1), micromsg2(place)
    client.subscribe("answers")
    client.send(b"method/job/email", b'["jobs:add", [1, 2]]', properties=b"reply-to:answers")
    place.wait()
    worker.say(Reply(b"x", b'{"value": 3}', job_of(worker).message_id))
    place.wait()
    [heard] = client.heard()
    assert (payload_of(heard), b"content-type" in heard) == (b"3", True)


def test_in_umq_a_call_is_a_job_with_an_answer() -> None:
    """The arguments are the payload."""
    place = Place()
    worker, client = place.worker(queues=b"email", credit=2), greeted(place.router)
    for body, heard in ((b'{"value": 3}', "R1:3"), (b'{"value": "no", "error": "ValueError"}', "E1:8 ValueError: no")):
        assert client.ask("1", "job/email", "jobs:add", [1], {"second": 2}) == []
        place.wait()
        job = job_of(worker)
        members = json.loads(job.body)[1]
        assert (members["callable"], members["args"], members["kwargs"]) == ("add", [1], {"second": 2})
        worker.say(Reply(b"x", body, job.message_id))
        assert client.heard() == [heard]


@pytest.mark.parametrize("headers", ["", "guarantee"])
def test_in_umq_a_message_to_a_queue_is_a_job(headers: str) -> None:
    """With headers, if it has such a property."""
    place = Place()
    worker, client = place.worker(queues=b"email", credit=1), greeted(place.router)
    options = {"properties": {"emqp:headers": headers}} if headers else {}
    assert client.ask("1", "enqueue", "email", JOB.decode(), options) == ["R1:null"]
    place.wait()
    assert (b"guarantee" in job_of(worker).headers) == bool(headers)


def test_a_worker_can_speak_another_protocol() -> None:
    """It sees who waits for what, and how; nobody but the broker can answer for it."""
    place = Place(others=["micromsg2"])
    place.worker(queues=b"email")
    client, worker = place.peer(b"c"), micromsg2(place)
    worker.subscribe("queue/email")
    client.request(b"1", b"reply-requested", b"email")
    assert worker.payloads() == [JOB]
