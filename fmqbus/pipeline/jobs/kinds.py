"""Which kinds of rows mean what to the jobs (`fmqbus.journal.journal_schema.KINDS`)."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

#: A message has come to the bus.
ARRIVED = ("publish", "enqueue")
#: It was handed to a consumer.
HANDED = ("deliver", "redeliver")
#: A consumer has said what became of it; `latency_us` is the time that it took.
SETTLED = ("settle", "release", "reject")
#: The queue has let it go though nobody accepted it.
GONE = ("expire", "give-up")
#: What happens to messages of queues.
OF_QUEUES = ("enqueue", *HANDED, *SETTLED, *GONE)

#: How many different values apart quantiles may be: one in a thousand.
ACCURACY = 1000


def is_of(*kinds: str) -> Column:
    """Whether a row is of one of these kinds."""
    return F.col("kind").isin(*kinds)


def count_of(*kinds: str) -> Column:
    """How many rows of these kinds a group has."""
    return F.count_if(is_of(*kinds))


def protocol() -> Column:
    """The protocol of a row; what the bus did by itself is of none."""
    return F.coalesce(F.col("protocol"), F.lit("bus"))


def milliseconds(microseconds: Column) -> Column:
    """For people; whole microseconds are kept."""
    return F.round(microseconds / 1000, 3)


def quantiles(microseconds: Column, name: str) -> list[Column]:
    """The median, the 95th and 99th percentile and the largest of a group, in milliseconds; null where there is
    none."""
    found = F.percentile_approx(microseconds, [0.5, 0.95, 0.99], ACCURACY)
    return [
        milliseconds(found[0]).alias(f"{name}_p50_ms"),
        milliseconds(found[1]).alias(f"{name}_p95_ms"),
        milliseconds(found[2]).alias(f"{name}_p99_ms"),
        milliseconds(F.max(microseconds)).alias(f"{name}_max_ms"),
    ]


def seconds_of(moment: Column) -> Column:
    """A time as seconds since 1970, to the microsecond."""
    return F.unix_micros(moment) / 1_000_000


def microseconds_between(since: Column, until: Column) -> Column:
    """From one time to another; null where one is missing."""
    return F.unix_micros(until) - F.unix_micros(since)
