"""When was a topic wanted? From the rows of demand, each of which says how many visible subscriptions a pattern now
has."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def changes(rows: DataFrame, boots: DataFrame | None = None) -> DataFrame:
    """How the number of subscriptions to a pattern changed: partition, pattern, time, offset, change.

    `boots` are the partitions and boots of the rows, where they are known already. A broker that was started anew has
    none at first, so what its forerunner had ends when it begins.
    """
    # few, beside all others, and looked at several times
    told = (
        rows.where(F.col("kind") == "demand")
        .select("partition", "boot", F.col("topic").alias("pattern"), "timestamp", "offset", "subscribers")
        .persist()
    )
    in_order = Window.partitionBy("partition", "boot", "pattern").orderBy("offset")
    steps = told.select(
        "partition",
        "pattern",
        "timestamp",
        "offset",
        (F.col("subscribers") - F.lag("subscribers", 1, 0).over(in_order)).alias("change"),
    )
    boots = rows if boots is None else boots
    following = (
        boots.select("partition", "boot")
        .distinct()
        .select(
            "partition", "boot", F.lead("boot").over(Window.partitionBy("partition").orderBy("boot")).alias("next_boot")
        )
        .where(F.col("next_boot").isNotNull())
    )
    ends = (
        told.groupBy("partition", "boot", "pattern")
        .agg(F.max_by("subscribers", "offset").alias("last"), F.max("offset").alias("offset"))
        .where(F.col("last") > 0)
        .join(following, ["partition", "boot"])
        .select(
            "partition", "pattern", F.col("next_boot").alias("timestamp"), "offset", (-F.col("last")).alias("change")
        )
    )
    return steps.unionByName(ends)


def periods(moments: DataFrame, *keys: str) -> DataFrame:
    """The times in which there was at least one subscription: the keys, since, until, most; `until` is null where it
    has not ended. `moments` has, beside the keys, timestamp, offset and change."""
    in_order = Window.partitionBy(*keys).orderBy("timestamp", "offset")
    counted = moments.select(*keys, "timestamp", "offset", F.sum("change").over(in_order).alias("count"))
    before = F.lag("count", 1, 0).over(in_order)
    begun = F.sum(F.when((before <= 0) & (F.col("count") > 0), 1).otherwise(0)).over(in_order)
    numbered = counted.select(*keys, "timestamp", "count", begun.alias("number")).where(F.col("number") > 0)
    return (
        numbered.groupBy(*keys, "number")
        .agg(
            F.min("timestamp").alias("since"),
            F.min(F.when(F.col("count") <= 0, F.col("timestamp"))).alias("until"),
            F.max("count").alias("most"),
        )
        .drop("number")
    )
