"""What must hold for eMQP's codec, and for all that reads fields, whatever parts they are given?

They raise nothing but `PeerError`. What is read is read as the same again from what is written, and what would be
handed on to somebody is text and JSON, for the programs in the field do not survive any other.
"""

from __future__ import annotations

import json

from fmqbus.errors import PeerError
from fmqbus.limits import Limits
from fmqbus.protocols.emqp.codec import decode, encode
from fmqbus.protocols.emqp.commands import Command, Inform, Progress, Reply, Request, Role, Schedule, Unschedule
from fmqbus.protocols.emqp.headers import parse_headers, write_headers
from fmqbus.protocols.emqp.jobs import parse_job, write_job
from fmqbus.protocols.emqp.queue_lists import parse_queue, parse_queues, write_queues
from fmqbus.protocols.emqp.results import parse_how_far, parse_result, write_how_far, write_result
from fmqbus.protocols.emqp.schedulers import forwarded, parse_plan
from tests import vectors
from tests.vectors.zmtp import messages

LIMITS = Limits(body_octets=2048, control_octets=1024)

#: What the search begins with: each vector, and all of them in one stream.
SEEDS = [vector.octets for vector in vectors.load("emqp")]
SEEDS.append(b"".join(SEEDS))


def check(octets: bytes) -> None:
    """Raise `AssertionError`, or whatever was raised, if the messages in these ZMTP frames are not borne."""
    for parts in messages(octets):
        try:
            command = decode(parts, LIMITS)
        except PeerError:
            continue
        assert decode(encode(command), LIMITS) == command
        assert all(text.decode() is not None for text in encode(command)[:4])
        try:
            check_fields(command)
        except PeerError:
            continue


def check_fields(command: Command) -> None:
    """Read whatever the session would read. Raises `PeerError` where it would refuse."""
    match command:
        case Inform(role=Role.WORKER):
            queues = parse_queues(command.queues)
            assert parse_queues(write_queues(queues)) == queues
        case Request():
            parse_queue(command.queue)
            headers = parse_headers(command.headers)
            assert parse_headers(write_headers(headers)) == headers
            check_body(command.body)
        case Reply():
            result = parse_result(command.body)
            assert parse_result(write_result(result)) == result or result != result
        case Progress():
            how_far = parse_how_far(command.body)
            assert parse_how_far(write_how_far(how_far)) == how_far
        case Unschedule():
            check_body(command.body)
        case Schedule():
            plan = parse_plan(command, "Europe/Stockholm")
            handed_on = forwarded(command, plan)
            assert parse_plan(handed_on, "Europe/Stockholm").timing == plan.timing
            assert all(part.decode() is not None for part in encode(handed_on))


def check_body(body: bytes) -> None:
    """A job is written as it was read."""
    job = parse_job(body)
    assert json.loads(write_job(job))
    assert parse_job(write_job(job)).key == job.key
