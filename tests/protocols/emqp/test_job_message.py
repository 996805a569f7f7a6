"""Does a job's message say the same to whoever reads it, now and after a restart?"""

from __future__ import annotations

import pytest

from fmqbus.errors import PeerError
from fmqbus.model import Message
from fmqbus.protocols.emqp.commands import Request
from fmqbus.protocols.emqp.headers import Headers
from fmqbus.protocols.emqp.job_message import JobMessage, job_message, read_job_message
from tests.protocols.emqp.memory_place import JOB

HEADERS = Headers(reply_requested=True, timeout=5)


@pytest.mark.parametrize("queue", [b"default", b"mail"])
@pytest.mark.parametrize("client", [None, ("frontend", b"\0binary\xff")])
def test_a_job_says_the_same_when_it_comes_back_from_a_store(queue: bytes, client: tuple[str, bytes] | None) -> None:
    """A store knows its payload and its properties, and nothing else."""
    made = job_message(queue, Request(b"1", b"mail", b"", JOB), HEADERS, client)
    kept = Message(made.topic, made.payload, properties=dict(made.properties))
    expected = JobMessage(b"1", HEADERS, b"mail" if queue == b"default" else b"", client)
    assert read_job_message(made) == read_job_message(kept) == expected


@pytest.mark.parametrize("payload", [b"", b"no JSON", b"[]", b'["run", {}]'])
def test_what_others_put_into_a_queue_is_looked_at(payload: bytes) -> None:
    """Also with the very properties of a job."""
    properties = job_message(b"mail", Request(b"1", b"mail", b"", JOB), HEADERS, None).properties
    with pytest.raises(PeerError):
        read_job_message(Message(b"mail", payload, properties=dict(properties)))
