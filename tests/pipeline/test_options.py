"""Options are read as Kafka's users know them, and mistakes are named."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from fmqbus.pipeline.options import EARLIEST, LATEST, Place, WrongOption, read_options


def test_options_have_any_case() -> None:
    """Spark makes no difference."""
    options = read_options({"PATH": "/j", "startingoffsets": "latest", "maxOffsetsPerTrigger": "5"})
    assert options.path == "/j"
    assert options.starting == Place(LATEST)
    assert options.max_offsets == 5


def test_what_is_not_said_is_as_in_kafka() -> None:
    """Data loss is an error, headers and metadata are not read."""
    options = read_options({"path": "/j"})
    assert options.fails_on_data_loss
    assert not options.has_headers
    assert not options.has_metadata
    assert options.starting is None
    assert options.min_partitions == 1


def test_offsets_are_said_by_shard() -> None:
    """Shards that are not named are read from their first row on."""
    place = read_options({"path": "/j", "startingOffsets": '{"0": 17, "3": -1}'}).starting
    assert place == Place(EARLIEST, {0: 17, 3: LATEST})


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("1767225600000", 1_767_225_600_000_000),
        ("2026-01-01", 1_767_225_600_000_000),
        ("2026-01-01T00:00:00.000001Z", 1_767_225_600_000_001),
        ("2026-01-01T02:00+02:00", 1_767_225_600_000_000),
    ],
)
def test_times_are_milliseconds_or_written_out(text: str, microseconds: int) -> None:
    """Without a time zone they are UTC."""
    assert read_options({"path": "/j", "startingTimestamp": text}).starting_time == microseconds


def test_topics_are_as_the_bus_has_them() -> None:
    """Without slashes around them."""
    options = read_options({"path": "/j", "subscribe": "/plant/1/, b"})
    assert options.topics == {"plant/1", "b"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "give either path"),
        ({"path": "/j", "url": "fmqj://h"}, "give either path"),
        ({"path": "/j", "subscribes": "a"}, "there is no option subscribes; there are .*subscribePattern"),
        ({"path": "/j", "subscribe": "a,,b"}, "subscribe is a list of topics"),
        ({"path": "/j", "subscribe": "a", "subscribePattern": "a"}, "exclude each other"),
        ({"path": "/j", "startingOffsets": "latest", "startingTimestamp": "0"}, "exclude each other"),
        ({"path": "/j", "subscribePattern": "("}, "subscribePattern is a regular expression"),
        ({"path": "/j", "startingOffsets": "[1]"}, 'startingOffsets is "earliest", "latest" or'),
        ({"path": "/j", "startingOffsets": '{"0": "7"}'}, "'7' is no offset"),
        ({"path": "/j", "startingOffsets": '{"0": -3}'}, "-3 is no offset"),
        ({"path": "/j", "startingOffsets": '{"x": 3}'}, "startingOffsets is"),
        ({"path": "/j", "endingTimestamp": "yesterday"}, "endingTimestamp is milliseconds since 1970"),
        ({"path": "/j", "maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger is a whole number from 1"),
        ({"path": "/j", "minPartitions": "many"}, "minPartitions is a whole number from 1"),
        ({"path": "/j", "failOnDataLoss": "yes"}, "failOnDataLoss is true or false"),
        ({"path": "/j", "readerName": "../etc/passwd"}, "readerName is up to 64 letters"),
    ],
)
def test_mistakes_are_named(given: Mapping[str, str], words: str) -> None:
    """With the option, and what was expected instead."""
    with pytest.raises(WrongOption, match=words):
        read_options(given)
