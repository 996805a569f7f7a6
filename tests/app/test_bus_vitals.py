"""What a whole bus tells operators, and how long it does."""

from __future__ import annotations

from pathlib import Path

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.testing import MemoryReactorClock

from fmqbus.app.assembly import Bus
from fmqbus.app.config import parse_config
from fmqbus.app.plugs import Plugs, find_plugs

HTTP_TOO = 'listen = ["fmqp:tcp:1", "http:"]'


@pytest.fixture(scope="module")
def plugs() -> Plugs:
    """The parts that come with fmqbus."""
    return find_plugs()


def bus(plugs: Plugs, text: str, reactor: MemoryReactorClock | None = None) -> Bus:
    """The bus that a configuration file with this text asks for."""
    return Bus(reactor or MemoryReactorClock(), parse_config(text, "bus.toml"), plugs)


def figures(bus: Bus) -> dict[str, object]:
    """Each reading, as NAME or NAME{LABELS}."""
    return {
        f"{reading.metric.name}{{{','.join(reading.labels)}}}" if reading.labels else reading.metric.name: reading.value
        for reading in bus.router.vitals.readings()
        if reading is not None
    }


def test_operators_are_listened_for_only_where_the_configuration_says_so(plugs: Plugs) -> None:
    """Not beside all protocols at their default places."""
    reactor = MemoryReactorClock()
    bus(plugs, 'listen = ["http:"]', reactor).privilegedStartService()
    assert [(port, interface) for port, _, _, interface in reactor.tcpServers] == [(7780, "127.0.0.1")]
    assert not any(listener.protocol.name == "http" for listener in bus(plugs, "").listeners)


def test_operators_are_let_in_before_the_stores_are_back(plugs: Plugs) -> None:
    """Clients are not; the checks tell why."""
    one = bus(plugs, HTTP_TOO)
    one.privilegedStartService()
    for_clients, for_operators = one.listeners
    assert (for_clients.port is None, for_operators.port is None) == (True, False)
    assert one.router.vitals.ready.results()["listeners"] == "fmqp:tcp:1 does not listen"
    one.startService()
    assert one.router.vitals.ready.results()["listeners"] is None


def test_operators_look_on_until_the_bus_has_drained(plugs: Plugs, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it does at its end they want to see most of all."""
    one = bus(plugs, HTTP_TOO)
    one.privilegedStartService()
    one.startService()
    drained: Deferred[None] = Deferred()
    monkeypatch.setattr(one.router, "stopService", lambda: drained)
    for_clients, for_operators = one.listeners
    stopped = one.stopService()
    assert (for_clients.port is None, for_operators.port is None) == (True, False)
    assert not stopped.called
    drained.callback(None)
    assert for_operators.port is None
    assert stopped.called


def test_where_a_stop_is_in_a_hurry_operators_are_sent_away_too(plugs: Plugs) -> None:
    """Whatever the router would wait for."""
    one = bus(plugs, HTTP_TOO)
    one.privilegedStartService()
    one.startService()
    one.stop_at_once()
    assert one.stopService().called
    assert one.listeners[1].port is None


def test_each_listener_has_a_label_of_its_own_that_names_no_file(plugs: Plugs) -> None:
    """Even if two are at the same place but for their options."""
    one = bus(plugs, 'listen = ["fmqp:tcp:1", "fmqp:tcp:1:interface=127.0.0.2", "fmqp:unix:/run/a"]')
    labels = [key for key in figures(one) if key.startswith("fmqbus_connections{")]
    assert labels == [f"fmqbus_connections{{fmqp:{place}}}" for place in ("tcp:1", "tcp:1#2", "unix:/run/a")]


def test_no_part_of_a_bus_tells_what_it_has_not_announced(plugs: Plugs) -> None:
    """With all that can be told."""
    one = bus(plugs, HTTP_TOO + '\n[sasl]\nmechanisms = ["ANONYMOUS"]')
    metrics = one.router.vitals.metrics
    assert len({metric.name for metric in metrics}) == len(metrics)
    for reading in one.router.vitals.readings():
        assert reading is None or (reading.metric in metrics and len(reading.labels) == len(reading.metric.labels))


def test_the_lag_of_the_reactor_is_measured_while_the_bus_runs(plugs: Plugs) -> None:
    """And is what the bus is asked whether it lives."""
    reactor = MemoryReactorClock()
    one = bus(plugs, HTTP_TOO, reactor)
    assert one.router.vitals.alive.results() == {"reactor": None}
    one.privilegedStartService()
    one.startService()
    reactor.advance(1.0)
    assert "fmqbus_reactor_lag_worst_seconds" in figures(one)


def test_a_journal_that_cannot_be_written_makes_the_bus_unready(plugs: Plugs, tmp_path: Path) -> None:
    """Nor is it before it is open; without one, there is nothing amiss."""
    assert bus(plugs, HTTP_TOO).router.vitals.ready.results()["journal"] is None
    one = bus(plugs, HTTP_TOO + f'\n[journal]\npath = "{tmp_path}/journal"')
    assert one.router.vitals.ready.results()["journal"] == "it is not yet open"
    assert figures(one)["fmqbus_journal_failed"] == 0
    assert one.journal is not None
    one.journal.writer.failure = "the disk is full"
    one.journal.writer.lost = 7
    assert one.router.vitals.ready.results()["journal"] == "the disk is full"
    assert (figures(one)["fmqbus_journal_failed"], figures(one)["fmqbus_journal_lost_rows_total"]) == (1, 7)
