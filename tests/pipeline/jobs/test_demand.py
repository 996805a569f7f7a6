"""Demand: who wanted what when, and what was published in vain."""

from __future__ import annotations

from typing import Any

import pytest

from fmqbus import names
from fmqbus.pipeline.jobs.demand import demand, matches
from fmqbus.pipeline.jobs.wanting import changes, periods
from tests.pipeline.jobs.frames import at, frame, told

pytestmark = pytest.mark.spark


def wants(seconds: float, topic: str, subscribers: int, **more: Any) -> dict[str, Any]:
    """There are now so many subscriptions."""
    return {"kind": "demand", "topic": topic, "subscribers": subscribers, "at": seconds, **more}


def published(seconds: float, topic: str, subscribers: int) -> dict[str, Any]:
    """A publication that went to so many."""
    return {"kind": "publish", "topic": topic, "subscribers": subscribers, "size": 10, "at": seconds}


def test_times_of_demand_are_those_with_a_subscription(spark: Any) -> None:
    """From the first that comes to the last that goes; one that goes on has no end."""
    rows = frame(spark, [wants(0, "a", 1), wants(5, "a", 2), wants(10, "a", 1), wants(20, "a", 0), wants(30, "a", 1)])
    assert told(periods(changes(rows), "pattern"), "pattern", "since", "until", "most") == [
        ("a", at(0), at(20), 2),
        ("a", at(30), None, 1),
    ]


def test_a_broker_that_begins_anew_has_no_subscriptions(spark: Any) -> None:
    """What its forerunner had ended with it."""
    rows = frame(
        spark, [wants(0, "a", 3), {"kind": "connect", "boot": at(50), "at": 51}, wants(60, "a", 1, boot=at(50))]
    )
    assert told(periods(changes(rows), "pattern"), "since", "until", "most") == [
        (at(0), at(50), 3),
        (at(60), None, 1),
    ]


def test_what_nobody_wanted_is_counted_and_what_was_saved_estimated(spark: Any) -> None:
    """Ten a second over ten seconds of a hundred: nine hundred were not sent for nothing, but the two that were."""
    rows = frame(
        spark,
        [
            wants(0, "a", 1),
            *[published(n / 10, "a", 1) for n in range(100)],
            wants(10, "a", 0),
            published(11, "a", 0),
            published(12, "a", 0),
            published(50, "b", 0),
            {"kind": "connect", "at": 100},
        ],
    )
    assert told(demand(rows), "topic", "publications", "unwanted", "unwanted_share", "wanted_seconds", "saved") == [
        ("a", 102, 2, 0.0196, 10.0, 898),
        ("b", 1, 1, 1.0, 0.0, None),
    ]


def test_wildcards_want_topics_too(spark: Any) -> None:
    """Overlapping demand is one time, not two."""
    rows = frame(
        spark,
        [
            wants(0, "plant/*", 1),
            wants(5, "plant/1", 1),
            wants(10, "plant/*", 0),
            published(12, "plant/1", 1),
            wants(20, "plant/1", 0),
            {"kind": "connect", "at": 40},
        ],
    )
    assert told(demand(rows), "topic", "wanted_seconds", "quiet_seconds", "most_subscriptions") == [
        ("plant/1", 20.0, 20.0, 2)
    ]


def test_patterns_fit_topics_as_on_the_bus(spark: Any) -> None:
    """The same answer as `fmqbus.names` has."""
    pairs = [("a/b", "a/*"), ("a/b", "*"), ("a/b", "a/b"), ("a/*", "*/b"), ("a/b/c", "a/*"), ("a*", "ab"), ("*", "x")]
    rows = spark.createDataFrame(pairs, "topic string, pattern string")
    found = rows.select(matches(rows.topic, rows.pattern).alias("fits")).toArrow()["fits"].to_pylist()
    assert found == [names.equivalent(topic.encode(), pattern.encode()) for topic, pattern in pairs]
