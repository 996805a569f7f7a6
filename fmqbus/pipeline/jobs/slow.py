"""Which clients could not keep up: for whom was something dropped, and who held messages for long?"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from fmqbus.pipeline.jobs.kinds import HANDED, SETTLED, count_of, is_of, microseconds_between, milliseconds, quantiles


def slow(rows: DataFrame) -> DataFrame:
    """A row for each client and topic or queue where something was dropped, or that consumed.

    drops and dropped_bytes, with the reasons; settled, and the latency of that; most_in_hand, the most messages that it
    held unsettled at a time; longest_stall_ms, the longest time in which it held some and settled none.
    """
    of_one = ["partition", "boot", "session", "topic"]
    seen = rows.where(is_of("drop", *HANDED, *SETTLED) & F.col("session").isNotNull())
    in_order = Window.partitionBy(*of_one).orderBy("offset")
    change = F.when(is_of(*HANDED), 1).when(is_of(*SETTLED), -1).otherwise(0)
    followed = (
        seen.withColumn("in_hand", F.greatest(F.sum(change).over(in_order), F.lit(0)))
        .withColumn("held_before", F.lag("in_hand", 1, 0).over(in_order))
        .withColumn(
            "spell", F.sum(F.when(is_of(*SETTLED) | (F.col("held_before") == 0), 1).otherwise(0)).over(in_order)
        )
        # a spell begins with what was settled, or first taken in hand, and ends with the next that is settled
        .withColumn("spell_began", F.min("timestamp").over(Window.partitionBy(*of_one, "spell")))
        .withColumn("began_before", F.lag("spell_began").over(in_order))
    )
    stall = F.when(
        is_of(*SETTLED) & (F.col("held_before") > 0), microseconds_between(F.col("began_before"), F.col("timestamp"))
    )
    return (
        followed.groupBy("partition", "boot", "session", "topic")
        .agg(
            F.first("protocol").alias("protocol"),
            F.first("client").alias("client"),
            F.first("principal").alias("principal"),
            count_of("drop").alias("drops"),
            F.coalesce(F.sum(F.when(is_of("drop"), F.col("size"))), F.lit(0)).alias("dropped_bytes"),
            F.concat_ws(", ", F.array_sort(F.collect_set(F.when(is_of("drop"), F.col("outcome"))))).alias("reasons"),
            count_of(*SETTLED).alias("settled"),
            count_of("redeliver").alias("redelivered"),
            F.max("in_hand").alias("most_in_hand"),
            milliseconds(F.max(stall)).alias("longest_stall_ms"),
            *quantiles(F.when(is_of(*SETTLED), F.col("latency_us")), "latency"),
        )
        .drop("boot")
    )
