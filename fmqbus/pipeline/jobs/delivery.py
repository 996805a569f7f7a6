"""What became of what was put into queues: is anything lost, handled twice, or stuck?"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from fmqbus.pipeline.jobs.fates import fates
from fmqbus.pipeline.jobs.kinds import microseconds_between

#: A message that nothing has happened to for so long, and that has not ended, is stuck.
STUCK_SECONDS = 300


def audit(rows: DataFrame, stuck_seconds: int = STUCK_SECONDS) -> DataFrame:
    """A row for each message that was in a queue; ``fate`` is that of `fmqbus.pipeline.jobs.fates.fate`, or

    - ``lost``: neither ended nor still there as far as can be told. Its broker was started again since its last row,
      and
      a message that was put into the same queue later has been handed out since: a queue that still had this one would
      have handed it out first, unless it had a lower priority or a delay;
    - ``stuck``: it waits, or is held, and nothing has happened to it for `stuck_seconds` before the last row.
    """
    found = fates(rows)
    per_queue = Window.partitionBy("partition", "queue")
    # the highest first row of those that were handed out under each of the broker's lives
    overtaking = F.max(F.when(F.col("handed") > 0, F.struct("last_boot", "first_offset"))).over(per_queue)
    last = rows.agg(F.max("timestamp").alias("last_row"))
    is_open = F.col("fate").isin("waiting", "held")
    overtaken = (F.col("overtaking.last_boot") > F.col("last_boot")) & (
        F.col("overtaking.first_offset") > F.col("first_offset")
    )
    still = microseconds_between(F.col("last_at"), F.col("last_row")) >= stuck_seconds * 1_000_000
    return (
        found.withColumn("overtaking", overtaking)
        .crossJoin(F.broadcast(last))
        .withColumn(
            "fate",
            F.when(is_open & overtaken, "lost").when(is_open & still, "stuck").otherwise(F.col("fate")),
        )
        .select(
            "partition",
            "queue",
            "message_id",
            "fate",
            "outcome",
            "enqueued_at",
            "handed_at",
            "ended_at",
            "last_at",
            "handed",
            "redelivered",
            "released",
            "accepted",
            "consumer",
            "first_offset",
            "last_offset",
        )
    )


def delivery(rows: DataFrame, stuck_seconds: int = STUCK_SECONDS) -> DataFrame:
    """How many messages of each queue had which fate, how many of those were handed out more than once, and the lowest
    number of one, to look it up by (`audit`)."""
    return (
        audit(rows, stuck_seconds)
        .groupBy("queue", "fate")
        .agg(
            F.count("*").alias("messages"),
            F.count_if(F.col("redelivered") > 0).alias("redelivered"),
            F.max("handed").alias("most_deliveries"),
            F.min("message_id").alias("for_instance"),
            F.min("last_at").alias("oldest"),
        )
    )
