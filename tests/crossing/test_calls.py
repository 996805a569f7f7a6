"""Calls go to whoever serves the method, and their answers back to whoever called."""

from __future__ import annotations

import json

import pytest

from tests.crossing.conftest import Join
from tests.crossing.micromsg2 import MicroMsg2
from tests.crossing.speakers import Heard, wait_for
from tests.crossing.umq import UMQ


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
