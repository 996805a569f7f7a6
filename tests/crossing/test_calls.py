"""Calls go to whoever serves the method, and their answers back to whoever called."""

from __future__ import annotations

import json

import pytest

from tests.crossing.conftest import Join
from tests.crossing.emqp import EMQP
from tests.crossing.micromsg2 import MicroMsg2
from tests.crossing.speakers import Heard, wait_for
from tests.crossing.umq import UMQ
from tests.live.emqp_peers import args_of


@pytest.mark.parametrize("kind", [MicroMsg2, UMQ], ids=lambda kind: kind.protocol)
def test_a_call_is_answered_whoever_makes_it(join: Join, kind: type[MicroMsg2] | type[UMQ], topic: bytes) -> None:
    """FMQP has no word for it."""
    server, caller = join(UMQ), join(kind)
    server.serve(topic.decode())
    caller.ask(topic, b"tea")
    called = server.next_call()
    assert json.loads(called.payload) == [topic.decode(), "tea"]
    server.answer(called, "a pot of tea")
    (answer,) = wait_for(caller.heard)
    assert answer.payload == b'"a pot of tea"'
    assert isinstance(answer, Heard)


@pytest.mark.parametrize("kind", [MicroMsg2, UMQ], ids=lambda kind: kind.protocol)
def test_a_call_of_a_queues_method_is_a_job(join: Join, kind: type[MicroMsg2] | type[UMQ], topic: bytes) -> None:
    """`job/QUEUE` is there while workers serve the queue; the result is the answer, and a failure a failure."""
    caller, worker = join(kind), join(EMQP).worker(topic)
    caller.ask_job(topic, "jobs:add", [1, 2])
    job = worker.job()
    assert (job[2], args_of(job)) == (topic, [1, 2])
    assert b"reply-requested" in job[3]
    worker.reply(job, 3)
    (answer,) = wait_for(caller.heard)
    assert answer.payload == b"3"
