"""The vitals of a bus in a registry of prometheus-client, without any listener."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from fmqbus.metrics.collector import MOST_SERIES, BusCollector
from fmqbus.metrics.exposition import OPEN_METRICS, PLAIN, form_of
from fmqbus.testing.bus import MemoryClient, make_router
from fmqbus.vitals import Distribution, Kind, Metric, Reading, Vitals

LOADS = Metric("acme_loads_total", Kind.COUNTER, "Loads", ("truck",))
WAIT = Metric("acme_wait_seconds", Kind.HISTOGRAM, "Waits")


def test_an_application_has_the_numbers_of_its_bus_beside_its_own() -> None:
    """As they are when it asks."""
    registry, router = CollectorRegistry(), make_router()
    Gauge("acme_temperature_celsius", "Its own", registry=registry).set(21)
    registry.register(BusCollector(router.vitals))
    labels = {"protocol": "memory"}
    assert registry.get_sample_value("fmqbus_sessions", labels) is None
    client = MemoryClient(router)
    assert registry.get_sample_value("fmqbus_sessions", labels) == 1
    client.close()
    assert registry.get_sample_value("fmqbus_sessions", labels) == 0
    assert registry.get_sample_value("acme_temperature_celsius") == 21


def test_two_buses_cannot_be_mixed_up() -> None:
    """Their numbers have the same names: the registry says so rather than to add them."""
    registry = CollectorRegistry()
    registry.register(BusCollector(make_router().vitals))
    with pytest.raises(ValueError, match="fmqbus_"):
        registry.register(BusCollector(make_router().vitals))


def test_to_register_asks_nobody() -> None:
    """What there can be is known before."""
    vitals = Vitals()
    vitals.add_figures([LOADS], lambda: pytest.fail("was asked"))
    CollectorRegistry().register(BusCollector(vitals))


def test_parts_of_a_sum_are_added() -> None:
    """Two parts may tell of the same."""
    vitals, registry = Vitals(), CollectorRegistry()
    for _ in range(2):
        vitals.add_figures([LOADS], lambda: iter([Reading(LOADS, 2, ("1",)), Reading(LOADS, 1, ("2",))]))
    registry.register(BusCollector(vitals))
    assert registry.get_sample_value("acme_loads_total", {"truck": "1"}) == 4
    assert registry.get_sample_value("acme_loads_total", {"truck": "2"}) == 2


def test_labels_have_a_bound() -> None:
    """Beyond it nothing is lost, but it is put together."""
    vitals, registry = Vitals(), CollectorRegistry()
    vitals.add_figures([LOADS], lambda: iter([Reading(LOADS, 1, (str(n),)) for n in range(3 * MOST_SERIES)]))
    registry.register(BusCollector(vitals))
    samples = next(iter(registry.collect())).samples
    assert len(samples) == MOST_SERIES + 1
    assert sum(sample.value for sample in samples) == 3 * MOST_SERIES


def test_a_distribution_is_a_histogram() -> None:
    """With bounds, count and sum."""
    vitals, registry, distribution = Vitals(), CollectorRegistry(), Distribution((0.5, 1.0))
    for seconds in (0.1, 0.7, 5.0):
        distribution.add(seconds)
    vitals.add_figures([WAIT], lambda: iter([Reading(WAIT, distribution)]))
    registry.register(BusCollector(vitals))
    assert registry.get_sample_value("acme_wait_seconds_bucket", {"le": "0.5"}) == 1
    assert registry.get_sample_value("acme_wait_seconds_bucket", {"le": "+Inf"}) == 3
    assert registry.get_sample_value("acme_wait_seconds_count") == 3
    assert registry.get_sample_value("acme_wait_seconds_sum") == pytest.approx(5.8)
    assert b"acme_wait_seconds_bucket" in generate_latest(registry)


def test_distributions_of_several_parts_are_added() -> None:
    """As where a protocol is spoken at two places."""
    vitals, registry = Vitals(), CollectorRegistry()
    for seconds in (0.1, 0.7):
        distribution = Distribution((0.5, 1.0))
        distribution.add(seconds)
        vitals.add_figures([WAIT], lambda distribution=distribution: iter([Reading(WAIT, distribution)]))
    registry.register(BusCollector(vitals))
    for _ in range(2):  # to look changes nothing
        assert registry.get_sample_value("acme_wait_seconds_bucket", {"le": "0.5"}) == 1
        assert registry.get_sample_value("acme_wait_seconds_count") == 2
        assert registry.get_sample_value("acme_wait_seconds_sum") == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", PLAIN),
        ("*/*", PLAIN),
        ("text/plain;version=0.0.4", PLAIN),
        ("application/openmetrics-text", OPEN_METRICS),
        ("text/html, application/openmetrics-text; version=0.0.1;q=0.75,text/plain", OPEN_METRICS),
    ],
)
def test_the_form_goes_by_what_is_accepted(accept: str, form: str) -> None:
    """Prometheus names the one that it likes best first, and takes both."""
    assert form_of(accept) == form
