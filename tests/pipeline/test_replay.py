"""What is said again is said when it is due, in order, and in few batches."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fmqbus.pipeline.main import main
from fmqbus.pipeline.replay_command import play, together
from fmqbus.protocols.umq.batch import BatchMessage
from tests.live.broker import Broker
from tests.live.umq_client import Client
from tests.pipeline.reading import read


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


@pytest.mark.spark
def test_a_journal_that_a_broker_gives_goes_onto_a_bus_again(spark: Any, sample: Path, tmp_path: Path) -> None:
    """All of its messages, in their order, as the command does it: read by url, said by UMQ."""
    config = tmp_path / "bus.toml"
    config.write_text(
        'listen = ["umq:tcp:0:interface=127.0.0.1", "http:tcp:0:interface=127.0.0.1"]\n'
        f'[protocols.http]\njournal = "{sample}"\n'
    )
    rows = read(sample, includeMetadata=True).sort_by([("timestamp", "ascending"), ("offset", "ascending")]).to_pylist()
    arrived = [row for row in rows if row["kind"] in ("publish", "enqueue") and row["value"] is not None]
    expected = {
        kind: [("again/" + row["topic"], row["value"].decode()) for row in arrived if row["kind"] == kind]
        for kind in ("publish", "enqueue")
    }
    with Broker("--config", str(config)) as broker, closing(Client(broker.connect("umq"))) as listener:
        listener.call("consume", "again/jobs", listener.topic("enqueue"), {"window": 10_000})
        listener.call("subscribe", "again/plant/*/sensor/*", listener.topic("publish"))
        journal, bus = (
            f"http://127.0.0.1:{broker.port_of('http')}/journal",
            f"ws://127.0.0.1:{broker.port_of('umq')}/umq",
        )
        result = CliRunner().invoke(main, ["replay", journal, "--at-once", "--prefix", "again/", "--url", bus])
        assert result.exit_code == 0, result.output
        assert f"{len(arrived):,} messages are on the bus" in result.output
        updates = listener.updates()
        while len(updates) < len(arrived):
            updates += listener.updates()
        for kind, messages in expected.items():
            assert [(said["topic"], said["text"]) for tag, said, _ in updates if tag == kind] == messages
        assert broker.stop() == 0
