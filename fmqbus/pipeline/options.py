"""What can be said to the data source? Its options, read once and checked, each mistake named with what was expected.

The names are those that users of Spark's Kafka source know, where the thing is the same. A shard of the journal stands
for what a partition of a topic is there: offsets count up within one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

import attrs

from fmqbus.errors import LocalError

T = TypeVar("T")

#: Where a shard begins to be read, besides at an offset: JSON can say these too.
LATEST, EARLIEST = -1, -2

#: More tasks than this do not make a read faster, and all of them are planned by one process.
MOST_PARTITIONS = 10_000

_READER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


class WrongOption(LocalError):
    """An option of the data source cannot be used. The text names it, and says what it may be."""

    reason = "option"


@attrs.frozen
class Place:
    """Where to begin or to end: an offset for each shard, and for those that are not named `otherwise`."""

    otherwise: int
    #: Shard → an offset, `EARLIEST` or `LATEST`.
    shards: Mapping[int, int] = attrs.field(factory=dict)

    def at(self, shard: int, earliest: int, latest: int) -> int:
        """The offset in a shard whose rows are now those from `earliest` up to, and without, `latest`."""
        place = self.shards.get(shard, self.otherwise)
        return {LATEST: latest, EARLIEST: earliest}.get(place, place)


@attrs.frozen
class Options:
    """All options of a read. What is None was not said."""

    path: str | None
    url: str | None
    topics: frozenset[str] | None
    pattern: str | None
    starting: Place | None
    ending: Place | None
    #: Microseconds since 1970. Rows from the first offset on, in each shard, that was written then or later; and those
    #: that were written before.
    starting_time: int | None
    ending_time: int | None
    max_offsets: int | None
    max_octets: int | None
    min_partitions: int
    fails_on_data_loss: bool
    has_headers: bool
    has_metadata: bool
    #: Whether this one load is for one query, whose filters may decide what is read.
    pushes_filters: bool
    #: Whose position is kept in the journal, so that nothing is trimmed before it was read.
    reader: str | None
    #: For how many seconds a broker that does not answer is asked again; PEM files for TLS.
    url_patience: float | None = None
    url_ca: str | None = None
    url_certificate: str | None = None


def read_options(given: Mapping[str, str]) -> Options:
    """Read the options as Spark hands them over. Raises `WrongOption`."""
    said = {key.lower(): value for key, value in given.items()}
    unknown = [key for key in given if key.lower() not in _KNOWN]
    if unknown:
        raise WrongOption(f"there is no option {', '.join(sorted(unknown))}; there are {', '.join(sorted(NAMES))}")

    def option(name: str, read: Callable[[str, str], T]) -> T | None:
        value = said.get(name.lower())
        return None if value is None else read(name, value)

    options = Options(
        path=said.get("path"),
        url=said.get("url"),
        topics=option("subscribe", _topics),
        pattern=option("subscribePattern", _pattern),
        starting=option("startingOffsets", _place),
        ending=option("endingOffsets", _place),
        starting_time=option("startingTimestamp", _time),
        ending_time=option("endingTimestamp", _time),
        max_offsets=option("maxOffsetsPerTrigger", _count),
        max_octets=option("maxBytesPerTrigger", _count),
        min_partitions=min(option("minPartitions", _count) or 1, MOST_PARTITIONS),
        fails_on_data_loss=_or(option("failOnDataLoss", _bool), True),
        has_headers=_or(option("includeHeaders", _bool), False),
        has_metadata=_or(option("includeMetadata", _bool), False),
        pushes_filters=_or(option("pushDownFilters", _bool), False),
        reader=option("readerName", _reader),
        url_patience=option("urlTimeout", _count),
        url_ca=said.get("urlcafile"),
        url_certificate=said.get("urlcertificatefile"),
    )
    _check(options)
    return options


def _check(options: Options) -> None:
    if (options.path is None) is (options.url is None):
        both = "" if options.path is None else ", and not both"
        raise WrongOption(f"give either path, a journal's folder, or url, a broker's journal endpoint{both}")
    if options.url is None and (options.url_patience or options.url_ca or options.url_certificate):
        raise WrongOption("urlTimeout, urlCaFile and urlCertificateFile go with url")
    for one, other, name in (
        (options.topics, options.pattern, "subscribe and subscribePattern"),
        (options.starting, options.starting_time, "startingOffsets and startingTimestamp"),
        (options.ending, options.ending_time, "endingOffsets and endingTimestamp"),
    ):
        if one is not None and other is not None:
            raise WrongOption(f"{name} exclude each other")


#: Every option, for the message on one that does not exist.
NAMES = (
    "path",
    "url",
    "subscribe",
    "subscribePattern",
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "maxOffsetsPerTrigger",
    "maxBytesPerTrigger",
    "minPartitions",
    "failOnDataLoss",
    "includeHeaders",
    "includeMetadata",
    "pushDownFilters",
    "readerName",
    "urlTimeout",
    "urlCaFile",
    "urlCertificateFile",
)
_KNOWN = frozenset(name.lower() for name in NAMES)


def _or(value: T | None, otherwise: T) -> T:
    return otherwise if value is None else value


def _bool(name: str, value: str) -> bool:
    try:
        return {"true": True, "false": False}[value.strip().lower()]
    except KeyError:
        raise WrongOption(f"{name} is true or false, not {value!r}") from None


def _count(name: str, value: str) -> int:
    try:
        count = int(value)
    except ValueError:
        count = 0
    if count < 1:
        raise WrongOption(f"{name} is a whole number from 1, not {value!r}")
    return count


def _topics(name: str, value: str) -> frozenset[str]:
    topics = frozenset(topic.strip().strip("/") for topic in value.split(","))
    if "" in topics:
        raise WrongOption(f"{name} is a list of topics, separated by commas, not {value!r}")
    return topics


def _pattern(name: str, value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise WrongOption(f"{name} is a regular expression, and {value!r} is none: {error}") from None
    return value


def _reader(name: str, value: str) -> str:
    if _READER.fullmatch(value) is None:
        raise WrongOption(
            f"{name} is up to 64 letters, digits, and behind the first hyphens, dots and underscores, not {value!r}"
        )
    return value


def _time(name: str, value: str) -> int:
    text = value.strip()
    if re.fullmatch(r"\d{1,16}", text):
        return int(text) * 1000
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise WrongOption(
            f"{name} is milliseconds since 1970, or a time like 2026-11-28T09:30, not {value!r}"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1_000_000)


def _place(name: str, value: str) -> Place:
    expected = f'{name} is "earliest", "latest" or {{"SHARD": OFFSET, ...}}, where -2 is the earliest and -1 the latest'
    word = value.strip().lower()
    if word in ("earliest", "latest"):
        return Place(EARLIEST if word == "earliest" else LATEST)
    try:
        shards: Any = json.loads(value)
        if not isinstance(shards, dict):
            raise ValueError("no object")
        return Place(EARLIEST, {int(shard): _offset(offset) for shard, offset in shards.items()})
    except ValueError as error:
        raise WrongOption(f"{expected}, not {value!r} ({error})") from None


def _offset(value: Any) -> int:
    if type(value) is not int or value < EARLIEST:
        raise ValueError(f"{value!r} is no offset")
    return value
