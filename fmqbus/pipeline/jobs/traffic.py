"""How much went over the bus, per minute, protocol and topic? And how long did consumers and servers take?"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fmqbus.pipeline.jobs.kinds import ARRIVED, SETTLED, count_of, is_of, microseconds_between, protocol, quantiles

#: How late a row may come in a stream. Within one broker's log none is; brokers' clocks and logs differ by less.
LATENESS = "1 minute"


def traffic(rows: DataFrame, every: str = "1 minute") -> DataFrame:
    """A row for each time of this length, protocol and topic in which something was: messages that came and their
    octets, how many a second, sizes, how many copies went out and how many messages nobody wanted, drops, and the
    latency of what consumers and servers ended then (``latency``: from when it was handed over).

    Protocols are those of whom a row is about: a message from FMQP that a UMQ consumer takes counts at ``fmqp`` as a
    message, and at ``umq`` in latency. In a stream, a time is over, and told, when rows have come that are `LATENESS`
    behind its end; what comes later still is counted in the query's progress, and left out.
    """
    size = F.when(is_of(*ARRIVED), F.col("size"))
    ended = F.when(is_of(*SETTLED, "reply"), F.col("latency_us"))
    minutes = (
        rows.where(F.col("topic").isNotNull() & ~is_of("demand"))
        .withWatermark("timestamp", LATENESS)
        .groupBy(F.window("timestamp", every).alias("time"), protocol().alias("protocol"), "topic")
        .agg(
            count_of(*ARRIVED).alias("messages"),
            F.coalesce(F.sum(size), F.lit(0)).alias("bytes"),
            F.round(F.avg(size), 1).alias("size_mean"),
            F.min(size).alias("size_min"),
            F.max(size).alias("size_max"),
            F.coalesce(F.sum(F.when(is_of("publish"), F.col("subscribers"))), F.lit(0)).alias("copies"),
            F.count_if(is_of("publish") & (F.col("subscribers") == 0)).alias("unwanted"),
            count_of("drop").alias("drops"),
            *quantiles(ended, "latency"),
        )
    )
    seconds = microseconds_between(F.col("time.start"), F.col("time.end")) / 1_000_000
    return minutes.select(
        F.col("time.start").alias("time"),
        "protocol",
        "topic",
        "messages",
        "bytes",
        F.round(F.col("messages") / seconds, 3).alias("per_second"),
        *minutes.columns[minutes.columns.index("bytes") + 1 :],
    )
