"""Does docs/observability.md tell of each metric what it is, and run as it stands?"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import prometheus_client
import pytest
from twisted.internet.testing import MemoryReactorClock

from fmqbus.app.assembly import Bus
from fmqbus.app.config import Config, parse_config
from fmqbus.app.plugs import find_plugs
from fmqbus.doctor.certificates import SOON
from fmqbus.doctor.examine import EXAMINATIONS
from fmqbus.limits import DEFAULT_LIMITS, KIB
from fmqbus.pipeline.java import LEAST_VERSION
from fmqbus.protocols.emqp import figures as emqp
from fmqbus.protocols.http.connection import REQUEST_OCTETS
from fmqbus.protocols.http.plug import HTTP
from fmqbus.protocols.mtl import figures as mtl
from fmqbus.transports.preamble import PREAMBLE_PLACES
from fmqbus.vitals import Metric

#: Those of protocols whose sockets are opened only when the bus starts.
SPOKEN = (*emqp.METRICS, *mtl.METRICS)
PAGE = (Path(__file__).parents[2] / "docs/observability.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The code blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def row(metric: Metric) -> str:
    """As it stands in the table."""
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.name}` | {metric.kind.value} | {labels} | {metric.summary} |"


@pytest.fixture(scope="module")
def bus() -> Bus:
    """One with all that comes with fmqbus."""
    return Bus(MemoryReactorClock(), Config(listen=("fmqp:", "http:")), find_plugs())


def test_the_table_has_just_the_metrics_that_there_are(bus: Bus) -> None:
    """In their order; those of eMQP and MTL are there as soon as these are spoken."""
    there_are = [row(metric) for metric in (*bus.router.vitals.metrics, *SPOKEN)]
    assert re.findall(r"^\| `fmqbus_\w+` \| (?:counter|gauge|histogram) .*$", PAGE, re.MULTILINE) == there_are


def test_metrics_are_named_by_convention(bus: Bus) -> None:
    """Counters, and they alone, end in _total; units are base units; nothing is abbreviated."""
    for metric in (*bus.router.vitals.metrics, *SPOKEN):
        assert re.fullmatch(r"fmqbus_[a-z]+(_[a-z]+)*", metric.name)
        assert metric.name.endswith("_total") == (metric.kind.value == "counter")
        assert not re.search(r"(octets|millis|_ms|_kb)", metric.name)
        assert not metric.summary.endswith(".")


def test_all_that_is_named_elsewhere_on_the_page_is_in_the_table(bus: Bus) -> None:
    """Signs are of metrics that there are."""
    names = {metric.name for metric in (*bus.router.vitals.metrics, *SPOKEN)}
    assert set(re.findall(r"fmqbus_[a-z_]+", PAGE)) <= names


def test_the_checks_are_those_that_there_are(bus: Bus) -> None:
    """Of both pages."""
    table = PAGE.partition("| check |")[2].partition("\n\n")[0]
    assert re.findall(r"`(\w+)`", table) == [
        "router",
        "listeners",
        "journal",
        "message_store",
        "retained_store",
        "schedule_store",
    ]
    assert set(re.findall(r"`(\w+)`", table)) == bus.router.vitals.ready.results().keys()
    assert list(bus.router.vitals.alive.results()) == ["reactor"]


def test_the_examinations_are_those_that_there_are() -> None:
    """In their order, behind the configuration."""
    table = PAGE.partition("| examination |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == ["configuration", *EXAMINATIONS]
    assert f"{SOON.days} days before" in table
    assert f"Java {LEAST_VERSION} " in table


def test_the_configurations_can_be_used() -> None:
    """And the first listens where it says that `http:` does."""
    for text in blocks("toml"):
        Bus(MemoryReactorClock(), parse_config(text, "page"), find_plugs())
    assert f"http:{HTTP.default_listen[0]}" in blocks("toml")[0]
    assert [json.loads(text)["ok"] for text in blocks("json")] == [False]


def test_the_programs_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, as one program; its registry is not that of the tests."""
    registry = prometheus_client.CollectorRegistry()
    monkeypatch.setattr(prometheus_client, "REGISTRY", registry)
    names: dict[str, Any] = {}
    for text in blocks("python"):
        exec(text, names)
    bus: Bus = names["bus"]
    assert registry.get_sample_value("fmqbus_subscriptions") == 0
    assert registry.get_sample_value("acme_loads_total", {"truck": "blue"}) == 4
    assert bus.router.vitals.ready.results()["trucks"] is None
    names["left"].clear()
    assert bus.router.vitals.ready.results()["trucks"] == "there are no trucks"


def test_the_bounds_are_those_of_the_code() -> None:
    """What is said in numbers."""
    assert "16 KiB" in PAGE
    assert REQUEST_OCTETS == 16 * KIB
    assert f"{DEFAULT_LIMITS.handshake_seconds:g} seconds (`handshake_seconds`)" in PAGE
    assert f"{PREAMBLE_PLACES:,} at once" in PAGE
