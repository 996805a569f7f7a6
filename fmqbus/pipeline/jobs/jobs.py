"""How long did jobs wait and run, how often were they tried again, and which failed? Per queue and callable."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from fmqbus.pipeline.jobs.fates import fates
from fmqbus.pipeline.jobs.kinds import quantiles


def jobs(rows: DataFrame) -> DataFrame:
    """A row for each queue and callable, of the messages whose payload is a job of EventMQ's.

    ``wait`` is from when a job was put into its queue to when a worker first got it, ``run`` from when it was last
    handed over to when it was accepted. retries: how often a job was handed over again. failed: rejected, expired, or
    given up. Where payloads are not journaled there are no callables, and all jobs of a queue are of the callable null.
    """
    text = F.col("value").cast("string")
    path, called = (F.get_json_object(text, f"$[1].{name}") for name in ("path", "callable"))
    # as fmqbus.job_functions.Name has it
    name = F.concat(path, F.when(path.contains(":"), ".").otherwise(":"), called)
    is_job = F.col("value").isNull() | ((F.get_json_object(text, "$[0]") == "run") & called.isNotNull())
    failed = F.col("fate").isin("rejected", "expired", "given-up")
    return (
        fates(rows)
        .where(is_job)
        .groupBy("queue", name.alias("callable"))
        .agg(
            F.count("*").alias("jobs"),
            F.count_if(F.col("fate").isin("accepted", "duplicated")).alias("done"),
            F.count_if(failed).alias("failed"),
            F.count_if(F.col("fate").isin("waiting", "held")).alias("open"),
            F.sum(F.greatest(F.col("handed") - 1, F.lit(0))).alias("retries"),
            *quantiles(F.col("wait_us"), "wait"),
            *quantiles(F.col("run_us"), "run"),
        )
    )
