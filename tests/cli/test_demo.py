"""``fmqbus demo``: the first command that a newcomer runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from fmqbus.cli import demo_data
from fmqbus.cli.demo_data import Series, load_series
from fmqbus.cli.demo_play import SCENES, Sensor
from fmqbus.cli.demo_view import Trace
from fmqbus.cli.exits import CommandFailed
from tests.cli.commands import run


def test_the_demo_runs_by_itself_and_tells_what_was_saved(tmp_path: Path) -> None:
    """Plain lines in a pipe, and a summary in which the figures add up. Something crosses between all protocols."""
    ended = run("demo", "--seconds", "6", "--no-report", "--journal", str(tmp_path))
    assert (ended.code, ended.errors) == (0, b"")
    scenes = [line for line in ended.lines if line.endswith(".") and not line.startswith("The worker")]
    assert len(scenes) == SCENES
    crossed = {tuple(line.split()[:2]) for line in ended.lines if line.startswith(("FMQP ", "UMQ ", "MTL "))}
    assert crossed == {("FMQP", "UMQ"), ("FMQP", "MTL"), ("UMQ", "eMQP"), ("MTL", "MicroMsg2")}
    assert f"The journal: {tmp_path / 'journal'}" in ended.lines
    rows = [line.split("  ", 1)[1] for line in ended.lines if line.startswith(("weather/", "all"))]
    figures = [[int(figure.replace(",", "")) for figure in re.findall(r"[\d,]+", row)] for row in rows]
    assert len(figures) == 7
    for measured, published, delivered, not_sent, saved in figures:
        assert measured == published + not_sent
        assert delivered > 0
        assert 0 < saved < 100
    *each, total = figures
    assert [sum(column) for column in zip(*each, strict=True)][:4] == total[:4]


def test_the_data_is_real_and_complete() -> None:
    """Six series, no hole in any."""
    series = load_series()
    assert [len(each.payloads) for each in series] == [1461] * 4 + [8759] + [8759]
    first = json.loads(series[1].payloads[0])
    assert first == {"date": "2012/01/01", "value": 12.8}


def test_without_the_data_the_demo_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.setattr(demo_data, "find_spec", lambda name: None)
    with pytest.raises(CommandFailed, match=r"fmqbus\[demo\]"):
        load_series()


def test_a_sensor_measures_whether_it_is_awake_or_not() -> None:
    """What it measures while nobody listens is never sent, not even later."""
    clock = Clock()
    sensor = Sensor(Series("a", [b"%d" % number for number in range(7)]), clock, 10.0)
    sent: list[bytes] = []

    async def publish() -> None:
        async for payload in sensor.measurements():
            sent.append(payload)

    clock.advance(1.0)
    assert (sensor.measured, sensor.spared, sensor.is_awake) == (10, 10, False)
    Deferred.fromCoroutine(publish())
    assert sensor.is_awake
    clock.pump([0.1] * 10)
    assert len(sent) == sensor.published
    assert sent[0] == b"3"
    assert sensor.spared in (10, 11)  # floating point


def test_a_trace_draws_the_latest_rates() -> None:
    """The highest is a whole bar."""
    trace = Trace()
    for total in (0, 10, 30, 30):
        trace.sample(total, 1.0)
    assert trace.drawn().strip() == "▄█"
    assert trace.rates[-1] == 0
