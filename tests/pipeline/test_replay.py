"""What is said again is said when it is due, in order, and in few batches; without Spark."""

from __future__ import annotations

from typing import Any

from fmqbus.pipeline.replay_command import play, together
from fmqbus.protocols.umq.batch import BatchMessage


def row(due: float, payload: bytes = b"x", kind: str = "publish", **more: Any) -> dict[str, Any]:
    """A message that is due then."""
    said = {"due": due, "kind": kind, "topic": "t", "value": payload, "properties": None, "retain": False}
    return {**said, "priority": None, **more}


def test_what_is_due_together_goes_together() -> None:
    """And what is not, does not."""
    batches = list(together([row(0.0), row(0.04), row(0.1), row(5.0)]))
    assert [(due, len(batch)) for due, batch in batches] == [(0.04, 2), (0.1, 1), (5.0, 1)]


def test_batches_have_bounds() -> None:
    """However much is due at once."""
    assert [len(batch) for _, batch in together([row(0.0)] * 2_500)] == [1_000, 1_000, 500]
    assert [len(batch) for _, batch in together([row(0.0, bytes(3_000_000))] * 3)] == [2, 1]


def test_messages_are_as_they_were() -> None:
    """With all that the journal knows of them."""
    rows = [row(0.0, retain=True, properties={"k": "v"}), row(0.0, b"job", "enqueue", topic="q", priority=4)]
    ((_, batch),) = together(rows)
    assert batch == [
        BatchMessage(False, "t", b"x", {"k": "v"}, retain=True),
        BatchMessage(True, "q", b"job", priority=4),
    ]


def test_each_batch_waits_until_it_is_due() -> None:
    """Not longer where the bus took its time; they are numbered."""
    time = 100.0
    told: list[tuple[int, float]] = []

    def wait(seconds: float) -> None:
        nonlocal time
        time += seconds

    def put(number: int, batch: list[BatchMessage]) -> None:
        nonlocal time
        told.append((number, time - 100.0))
        time += 2.0

    play([row(0.0), row(1.0), row(5.0)], put, lambda: time, wait)
    assert told == [(0, 0.0), (1, 2.0), (2, 5.0)]
