"""A query and the bus that it writes to are killed at work: in the end each row is there once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from tests.live.broker import Broker, path_of_fmqbus
from tests.live.umq_client import Client
from tests.pipeline.reading import offsets, read

#: Batches after which query and bus are killed.
_KILLS = (2, 5)
_PATIENCE_SECONDS = 240.0

_CONFIGURATION = """
listen = ["umq:tcp:0:interface=127.0.0.1"]
message_store = "sqlite"

[stores.sqlite]
path = "{}"
"""


def start(journal: Path, broker: Broker, checkpoint: Path) -> subprocess.Popen[bytes]:
    """Start the query, in a group of processes of its own."""
    program = [sys.executable, str(Path(__file__).with_name("copying.py"))]
    return subprocess.Popen(
        [*program, str(journal), f"ws://127.0.0.1:{broker.port}/umq", str(checkpoint)],
        env={**os.environ, "PYTHONPATH": path_of_fmqbus()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def wait_for_batches(checkpoint: Path, count: int, child: subprocess.Popen[bytes]) -> None:
    """Until so many batches have been begun, or the query has ended."""
    begun = checkpoint / "offsets" / str(count - 1)
    while not begun.exists():
        try:
            child.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        return


@pytest.mark.spark
def test_each_row_comes_once_whatever_is_killed(sample: Path, tmp_path: Path) -> None:
    """The query with all its processes, and the bus, each time within a batch; both go on from their files."""
    configuration, checkpoint = tmp_path / "fmqbus.toml", tmp_path / "checkpoint"
    configuration.write_text(_CONFIGURATION.format(tmp_path / "bus.sqlite"))
    for batches in _KILLS:
        # left, the broker is killed too
        with Broker("--config", str(configuration)) as broker:
            child = start(sample, broker, checkpoint)
            wait_for_batches(checkpoint, batches, child)
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    with Broker("--config", str(configuration)) as broker:
        assert start(sample, broker, checkpoint).wait(_PATIENCE_SECONDS) == 0
        with closing(Client(broker.connect())) as consumer:
            consumer.call("consume", "copies", consumer.topic("q"), {"window": 10_000})
            came: Counter[int] = Counter()
            # they are handed over in portions
            while updates := consumer.updates():
                came.update(int(said["properties"]["key"]) for _, said, _ in updates)
    assert [offset for offset, times in came.items() if times > 1] == []
    assert sorted(came) == offsets(read(sample))
