"""Which messages go back onto a bus, and when is each due?"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from fmqbus.pipeline.jobs.kinds import ARRIVED, is_of


def replay(rows: DataFrame, pace: float | None = 1.0, prefix: str = "") -> DataFrame:
    """The messages of the rows in the order in which they came, with ``due``, in seconds since the first of them.

    `pace` 2 is twice as fast as it was, None as fast as can be. `prefix` goes before each topic and queue, so that what
    is said again is not taken for new. Messages whose payload was not journaled cannot be said again: they are left out
    here, and counted by whoever replays.
    """
    from_first = Window.orderBy("timestamp", "partition", "offset")
    since = F.unix_micros("timestamp") - F.min(F.unix_micros("timestamp")).over(Window.partitionBy())
    return (
        rows.where(is_of(*ARRIVED) & F.col("value").isNotNull())
        .withColumn("due", since / 1_000_000 / F.lit(pace) if pace else F.lit(0.0))
        .withColumn("position", F.row_number().over(from_first))
        .orderBy("position")
        .select(
            "due",
            "kind",
            F.concat(F.lit(prefix), F.col("topic")).alias("topic"),
            "value",
            "properties",
            "retain",
            "priority",
            "partition",
            "offset",
        )
    )
