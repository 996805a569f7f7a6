"""The journal as tables for those who ask often: what came before is sorted by day and protocol, so that little is
read."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fmqbus.pipeline.jobs.kinds import protocol

#: By what the tables are parted. Not by topic or client: there are too many.
PARTED_BY = ("date", "protocol")


def compact(rows: DataFrame) -> DataFrame:
    """The same rows, each once, with a column ``date``, in the order of topic and time within each part of the
    table."""
    dated = rows.withColumn("date", F.to_date("timestamp")).withColumn("protocol", protocol())
    if dated.isStreaming:
        return dated
    # a row that was read twice, over two runs, is the same row
    once = dated.dropDuplicates(["partition", "offset"])
    return once.repartition(*PARTED_BY).sortWithinPartitions(*PARTED_BY, "topic", "timestamp", "offset")
