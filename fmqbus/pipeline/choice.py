"""Which rows are wanted? By topic, kind, time and offset; what Spark asks for is decided here where it can be.

Rows are chosen while they are Arrow, before Spark has made rows of its own of them, which costs the most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)

from fmqbus import names
from fmqbus.pipeline.options import Options

#: The kinds of rows that are messages as they came to the bus; all there is unless metadata are asked for.
MESSAGES = frozenset({"publish", "enqueue"})

#: Beyond all offsets and times.
_EVER = 1 << 62

_TopicTest = Callable[[str], bool]


@attrs.frozen
class Span:
    """Whole numbers from `low` up to, and without, `high`."""

    low: int = -_EVER
    high: int = _EVER

    def cut(self, low: int = -_EVER, high: int = _EVER) -> Span:
        """What is in both."""
        return Span(max(self.low, low), min(self.high, high))

    @property
    def is_all(self) -> bool:
        """Whether it excludes nothing."""
        return self == Span()


@attrs.define
class Choice:
    """What a row must be. Narrowed by Spark's filters, then only asked."""

    #: None is any.
    kinds: frozenset[str] | None
    topics: frozenset[str] | None = None
    pattern: str | None = None
    #: What Spark wants of topics besides: one of these, if any are named; and each of these beginnings.
    exact_topics: frozenset[str] | None = None
    prefixes: tuple[str, ...] = ()
    times: Span = Span()
    offsets: Span = Span()
    shards: frozenset[int] | None = None

    @classmethod
    def of(cls, options: Options) -> Choice:
        """What the options of a read ask for."""
        kinds = None if options.has_metadata else MESSAGES
        return cls(kinds, options.topics, options.pattern)

    @property
    def needs(self) -> frozenset[str]:
        """The columns of the journal that it looks at."""
        needs = set()
        if self.kinds is not None:
            needs.add("kind")
        if self._has_topics:
            needs.add("topic")
        if not self.times.is_all:
            needs.add("time")
        return frozenset(needs)

    @property
    def hides_gaps(self) -> bool:
        """Whether rows that say that others are missing are not wanted."""
        return self.kinds is not None and "gap" not in self.kinds

    def narrow(self, filters: Iterable[Filter]) -> Sequence[Filter]:
        """Take over what can be decided here; returns the other filters."""
        return [each for each in filters if not self._take(each)]

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Those rows of a batch that are wanted. `offsets` and `shards` are for whoever chooses what to read."""
        masks = []
        if self.kinds is not None:
            masks.append(pc.is_in(batch.column("kind"), pa.array(sorted(self.kinds), pa.string())))
        if self._has_topics:
            masks.append(_by_text(batch.column("topic"), self._fits))
        if not self.times.is_all:
            times = batch.column("time").view(pa.int64())
            masks.append(pc.and_(pc.greater_equal(times, self.times.low), pc.less(times, self.times.high)))
        for mask in masks[1:]:
            masks[0] = pc.and_(masks[0], mask)
        return batch.filter(masks[0]) if masks and not pc.all(masks[0]).as_py() else batch

    @property
    def _has_topics(self) -> bool:
        return bool(
            self.topics is not None or self.pattern is not None or self.exact_topics is not None or self.prefixes
        )

    def _fits(self, topic: str) -> bool:
        if self.exact_topics is not None and topic not in self.exact_topics:
            return False
        if not all(topic.startswith(prefix) for prefix in self.prefixes):
            return False
        if self.pattern is not None:
            return re.fullmatch(self.pattern, topic) is not None
        if self.topics is None or topic in self.topics:
            return True
        octets = topic.encode()
        return any(
            names.equivalent(wanted.encode(), octets) for wanted in self.topics if names.is_wild(wanted.encode())
        )

    def _take(self, each: Filter) -> bool:
        """Decide a filter here from now on, if it is one that can be; False if it is not."""
        attribute: Any = getattr(each, "attribute", ())
        if len(attribute) != 1:
            return False
        name, value = attribute[0], getattr(each, "value", None)
        if isinstance(each, IsNotNull):
            # these have a value in each row
            return name in ("offset", "partition", "timestamp", "kind")
        if name in ("offset", "timestamp"):
            return self._take_span(each, name, value)
        if name == "topic" and isinstance(each, StringStartsWith):
            self.prefixes += (each.value,)
            return True
        if not isinstance(each, EqualTo | In):
            return False
        wanted: frozenset[Any] = frozenset(each.value if isinstance(each, In) else [each.value])
        if name == "topic":
            self.exact_topics = wanted if self.exact_topics is None else self.exact_topics & wanted
        elif name == "kind":
            self.kinds = wanted if self.kinds is None else self.kinds & wanted
        elif name == "partition":
            self.shards = wanted if self.shards is None else self.shards & wanted
        else:
            return False
        return True

    def _take_span(self, each: Filter, name: str, value: Any) -> bool:
        number = _microseconds(value) if name == "timestamp" else value
        if type(number) is not int:
            return False
        if isinstance(each, EqualTo):
            low, high = number, number + 1
        elif isinstance(each, GreaterThanOrEqual | GreaterThan):
            low, high = number + isinstance(each, GreaterThan), _EVER
        elif isinstance(each, LessThanOrEqual | LessThan):
            low, high = -_EVER, number + isinstance(each, LessThanOrEqual)
        else:
            return False
        if name == "offset":
            self.offsets = self.offsets.cut(low, high)
        else:
            self.times = self.times.cut(low, high)
        return True


def _microseconds(value: Any) -> int | None:
    if not isinstance(value, datetime):
        return None
    # a number of seconds as a float would not be exact
    since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _by_text(texts: pa.Array, test: _TopicTest) -> pa.Array:
    """Which of these texts pass: each different one is tested once. None does not."""
    coded = texts.dictionary_encode()
    verdicts = pa.array([test(text) for text in coded.dictionary.to_pylist()], pa.bool_())
    return pc.fill_null(verdicts.take(coded.indices), False)
