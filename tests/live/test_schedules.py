"""What a broker does at set times, from one life to the next."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import run
from tests.live.broker import Broker


@pytest.fixture
def broker(tmp_path: Path) -> Callable[[], Broker]:
    """Make brokers over the same database, one after the other."""
    config = tmp_path / "bus.toml"
    config.write_text(
        'listen = ["micromsg2:tcp:0:interface=127.0.0.1"]\nmessage_store = "sqlite"\nschedule_store = "sqlite"\n'
        f'[schedules]\nzone = "Europe/Stockholm"\n[stores.sqlite]\npath = "{tmp_path / "bus.db"}"\n'
    )
    return lambda: Broker("--config", str(config))


def listed(broker: Broker) -> dict[str, Any]:
    """The schedules by key."""
    lines = run("schedule", "list", "--json", url=url_of(broker)).lines
    return {schedule["key"]: schedule for schedule in map(json.loads, lines)}


def url_of(broker: Broker) -> str:
    """Where it speaks MicroMsg2."""
    return f"micromsg2://127.0.0.1:{broker.port}"


def kill(broker: Broker) -> None:
    """End it without a word."""
    broker.signal(signal.SIGKILL)
    broker.wait()


def test_schedules_outlive_a_broker_that_is_killed(broker: Callable[[], Broker]) -> None:
    """At once after they were acknowledged: as they were edited last, and without those that were removed."""
    with broker() as first:
        url = url_of(first)
        for key in ("kept", "edited", "removed"):
            assert run("schedule", "add", "q", key, "--cron", "0 3 * * *", "--nohaste", "--key", key, url=url).code == 0
        assert run("schedule", "edit", "edited", "--every", "3600", "--runs", "7", "--pause", url=url).code == 0
        before = listed(first)
        assert run("schedule", "remove", "removed", url=url).code == 0
        kill(first)
    with broker() as second:
        del before["removed"]
        assert listed(second) == before
        assert before["kept"]["zone"] == "Europe/Stockholm"
        assert (before["edited"]["every"], before["edited"]["runs_left"], before["edited"]["paused"]) == (3600, 7, True)
        assert second.stop() == 0


def test_each_run_puts_just_one_message_into_its_queue_however_often_the_broker_is_killed(
    broker: Callable[[], Broker],
) -> None:
    """Both are in one file, and are committed together. There are as many runs as were asked for, and not one more."""
    runs = 6
    with broker() as first:
        words = ("--every", "1", "--runs", str(runs), "--key", "ticks")
        assert run("schedule", "add", "q", "tick", *words, url=url_of(first)).code == 0
        kill(first)
    for _ in range(2):
        with broker() as another:
            assert run("consume", "q", "--count", "1", "--ack", "never", url=url_of(another)).lines == ["tick"]
            kill(another)
    with broker() as last:
        assert run("consume", "q", "--count", str(runs), url=url_of(last)).lines == ["tick"] * runs
        assert listed(last) == {}
        assert b"no such queue" in run("queue", "show", "q", url=url_of(last)).errors
        assert last.stop() == 0
