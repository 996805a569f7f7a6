"""What passed through a bus, as DataFrames of Spark: a data source, a sink, and the jobs that operators ask for.

Nothing here knows the bus, but for the form of its journal: executors import this package without Twisted. Where one
machine is not enough, Spark distributes the work; nothing of that is ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["FORMAT", "register"]

#: What `spark.read.format` is given.
FORMAT = "fmqbus"


def register(spark: SparkSession) -> None:
    """Make ``spark.read.format("fmqbus")`` and its like known to a session; may be repeated.

    Spark finds the source by itself where this package is installed for all its processes (see `pyspark_fmqbus`). Where
    it comes with ``--py-files`` it does not, so a program that is to run everywhere calls this. It also turns pushdown
    of filters on, without which Spark refuses ``pushDownFilters``.
    """
    from fmqbus.pipeline.source import FMQBusSource

    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.dataSource.register(FMQBusSource)
