"""What became of each message of a queue? The rows of one message, put together.

A queue numbers its messages, and goes on numbering when the bus starts again if they are kept on disk; one in memory
begins anew. So a message begins with its row ``enqueue``, and has all rows of its number up to the next such. One that
was put there before the first row that is looked at has no such row, and no `enqueued_at`.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fmqbus.pipeline.jobs.kinds import GONE, HANDED, OF_QUEUES, SETTLED, count_of, is_of, microseconds_between

#: Reasons to let a message go that an operator or a policy asked for; with all others it is a dead letter, if the queue
#: has a place for those.
ON_PURPOSE = ("purged", "make-room", "requeued")


def fates(rows: DataFrame) -> DataFrame:
    """A row for each message: partition, queue, message_id, the times of its first and last events, how often it was
    handed over, and ``fate``, see `fate`."""
    of_one = ["partition", "topic", "message_id"]
    in_order = Window.partitionBy(*of_one).orderBy("offset")
    counted = rows.where(is_of(*OF_QUEUES)).withColumn(
        "life", F.sum(F.when(is_of("enqueue"), 1).otherwise(0)).over(in_order)
    )
    first_handed = F.min(F.when(is_of(*HANDED), F.col("timestamp")))
    enqueued = F.min(F.when(is_of("enqueue"), F.col("timestamp")))
    accepted = is_of("settle")
    found = counted.groupBy(*of_one, "life").agg(
        enqueued.alias("enqueued_at"),
        first_handed.alias("handed_at"),
        F.max(F.when(is_of("settle", "reject", *GONE), F.col("timestamp"))).alias("ended_at"),
        F.max("timestamp").alias("last_at"),
        F.max("offset").alias("last_offset"),
        F.min("offset").alias("first_offset"),
        F.max("boot").alias("last_boot"),
        F.max_by("kind", "offset").alias("last_kind"),
        F.max_by("outcome", F.when(F.col("outcome").isNotNull(), F.col("offset"))).alias("outcome"),
        F.first(F.when(is_of("enqueue"), F.col("value")), ignorenulls=True).alias("value"),
        F.max("size").alias("size"),
        count_of(*HANDED).alias("handed"),
        count_of("redeliver").alias("redelivered"),
        count_of("release").alias("released"),
        count_of("settle").alias("accepted"),
        count_of("reject").alias("rejected"),
        count_of(*GONE).alias("gone"),
        F.max_by("client", F.when(is_of(*HANDED, *SETTLED), F.col("offset"))).alias("consumer"),
        F.sum(F.when(accepted, F.col("latency_us"))).alias("run_us"),
    )
    wait = microseconds_between(F.col("enqueued_at"), F.col("handed_at"))
    return found.withColumnRenamed("topic", "queue").withColumns({"wait_us": wait, "fate": fate()}).drop("life", "gone")


def fate() -> Column:
    """One of: ``duplicated`` (accepted more than once), ``accepted``, ``rejected``, ``expired``, ``removed`` (purged,
    or making room, or sent back from the dead letters), ``given-up`` (any other reason; a dead letter where the queue
    has a place for them), ``held`` (a consumer has it), ``waiting``."""
    return (
        F.when(F.col("accepted") > 1, "duplicated")
        .when(F.col("accepted") == 1, "accepted")
        .when(F.col("rejected") > 0, "rejected")
        .when((F.col("gone") > 0) & (F.col("last_kind") == "expire"), "expired")
        .when((F.col("gone") > 0) & F.col("outcome").isin(*ON_PURPOSE), "removed")
        .when(F.col("gone") > 0, "given-up")
        .when(F.col("last_kind").isin(*HANDED), "held")
        .otherwise("waiting")
    )
