"""`fmqbus.cli.traffic`: rates from messages."""

from __future__ import annotations

import pytest

from fmqbus.cli import traffic as module
from fmqbus.cli.traffic import OTHERS, Rate, Traffic
from fmqbus.client.events import Message


def test_rates_are_since_the_sample_before() -> None:
    """The busiest first, totals since the beginning."""
    traffic = Traffic()
    for _ in range(4):
        traffic.add(Message("a", b"12345"))
    traffic.add(Message("b", b"1"))
    assert traffic.sample(2.0, 10).topics == [Rate("a", 2.0, 10.0, 4, 20), Rate("b", 0.5, 0.5, 1, 1)]
    traffic.add(Message("b", b"1"))
    assert traffic.sample(1.0, 10).topics == [Rate("b", 1.0, 1.0, 2, 2), Rate("a", 0.0, 0.0, 4, 20)]
    assert len(traffic.sample(1.0, 1).topics) == 1


def test_service_topics_are_numbers_of_the_bus() -> None:
    """Not traffic; and what is no number is left out."""
    traffic = Traffic()
    traffic.add(Message("$/info/clients", (7).to_bytes(8, "big"), retained=True))
    traffic.add(Message("$/info/messages/second", (300).to_bytes(8, "big")))
    traffic.add(Message("$/info/name", b"bus"))
    sample = traffic.sample(1.0, 10)
    assert sample.bus == {"clients": 7, "messages/second": 300}
    assert sample.topics == []


def test_topics_beyond_the_limit_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Topics are the peers' to invent."""
    monkeypatch.setattr(module, "MAX_TOPICS", 2)
    traffic = Traffic()
    for topic in ("a", "b", "c", "d", "a"):
        traffic.add(Message(topic, b"x"))
    assert {rate.topic: rate.messages for rate in traffic.sample(1.0, 10).topics} == {"a": 2, "b": 1, OTHERS: 2}
