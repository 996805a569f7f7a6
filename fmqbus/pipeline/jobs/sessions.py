"""Who was connected when, in which protocol, and who had to come again?"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fmqbus.pipeline.jobs.kinds import ARRIVED, HANDED, count_of, is_of, microseconds_between

#: Somebody who comes again within this was cut off, rather than done.
RECONNECT_SECONDS = 60


def sessions(rows: DataFrame) -> DataFrame:
    """A row for each session of a client: since, until (null where it has not ended), how it ended, what it sent and
    got, and whether it was a reconnection: the same who, in the same protocol, had left less than `RECONNECT_SECONDS`
    before.

    ``who`` is the name that the client has proved, else its address without the port. What a version of a client is,
    the protocols do not say; the protocol itself is all that is known.
    """
    found = (
        rows.where(F.col("session").isNotNull())
        .groupBy("partition", "boot", "session")
        .agg(
            F.first("protocol").alias("protocol"),
            F.first("client").alias("client"),
            F.max("principal").alias("principal"),
            F.min(F.when(is_of("connect"), F.col("timestamp"))).alias("since"),
            F.max(F.when(is_of("disconnect"), F.col("timestamp"))).alias("until"),
            F.max(F.when(is_of("disconnect"), F.col("outcome"))).alias("reason"),
            F.max(F.when(is_of("disconnect"), F.col("latency_us"))).alias("lasted_us"),
            F.min("timestamp").alias("first_seen"),
            count_of(*ARRIVED).alias("sent"),
            F.coalesce(F.sum(F.when(is_of(*ARRIVED), F.col("size"))), F.lit(0)).alias("sent_bytes"),
            count_of(*HANDED).alias("taken"),
            count_of("drop").alias("drops"),
        )
        .withColumn("who", F.coalesce("principal", _without_port(F.col("client"))))
    )
    # of those that were before, the latest end: sessions overlap
    before = (
        Window.partitionBy("protocol", "who")
        .orderBy("first_seen", "session")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    away = microseconds_between(F.max("until").over(before), F.col("since"))
    seconds = F.coalesce(F.col("lasted_us"), microseconds_between(F.col("since"), F.col("until"))) / 1_000_000
    return found.select(
        "who",
        "protocol",
        "client",
        "principal",
        "partition",
        "session",
        "since",
        "until",
        F.round(seconds, 3).alias("seconds"),
        "reason",
        F.coalesce(away.between(0, RECONNECT_SECONDS * 1_000_000), F.lit(False)).alias("is_reconnection"),
        "sent",
        "sent_bytes",
        "taken",
        "drops",
    )


def _without_port(address: Column) -> Column:
    """Of ``10.0.0.1:4000`` and ``[::1]:4000`` the host; what has no port stays."""
    return F.regexp_replace(address, r"^(\[[^\]]*\]|[^:]*):\d+$", "$1")
