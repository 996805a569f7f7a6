"""Which topics had subscribers when, how much was published that nobody wanted, and what has feedback saved?"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from fmqbus.pipeline.jobs.kinds import microseconds_between, seconds_of
from fmqbus.pipeline.jobs.wanting import changes, periods


def demand(rows: DataFrame) -> DataFrame:
    """A row for each topic that was published to, or wanted by its own name.

    publications and unwanted: those that went to nobody, and their share. wanted_seconds and quiet_seconds: how much of
    the time that the rows span had subscribers, wildcards included. saved is an estimate, of what a publisher who goes
    on regardless would have sent in vain: the rate of what was wanted, over the time in which nothing was, less what
    was published then all the same.
    """
    # one look at all rows; what follows is asked of this
    found = (
        rows.groupBy("partition", "boot", F.when(F.col("kind") == "publish", F.col("topic")).alias("topic"))
        .agg(
            F.count("*").alias("publications"),
            F.sum("size").alias("bytes"),
            F.count_if(F.col("subscribers") == 0).alias("unwanted"),
            F.min("timestamp").alias("begin"),
            F.max("timestamp").alias("end"),
        )
        .persist()
    )
    span = found.agg(F.min("begin").alias("begin"), F.max("end").alias("end"))
    published = (
        found.where(F.col("topic").isNotNull())
        .groupBy("topic")
        .agg(*(F.sum(name).alias(name) for name in ("publications", "bytes", "unwanted")))
    )
    steps = changes(rows, found)
    topics = (
        published.select("topic")
        .union(steps.where(~_is_wild(F.col("pattern"))).select(F.col("pattern").alias("topic")))
        .distinct()
    )
    # topics are many, and so are changes; but many topics are wanted by the same few patterns, and at the same times
    wanting = (
        topics.join(F.broadcast(steps.select("pattern").distinct()), matches(F.col("topic"), F.col("pattern")))
        .groupBy("topic")
        .agg(F.array_sort(F.collect_list("pattern")).alias("patterns"))
    )
    moments = wanting.select("patterns").distinct().withColumn("pattern", F.explode("patterns")).join(steps, "pattern")
    seconds = (
        periods(moments, "patterns")
        .crossJoin(F.broadcast(span))
        .groupBy("patterns")
        .agg(
            F.sum(microseconds_between(F.col("since"), F.coalesce("until", "end")) / 1_000_000).alias("wanted_seconds"),
            F.max("most").alias("most_subscriptions"),
        )
        .join(wanting, "patterns")
    )
    length = seconds_of(F.col("end")) - seconds_of(F.col("begin"))
    joined = (
        topics.join(published, "topic", "left")
        .join(seconds, "topic", "left")
        .crossJoin(F.broadcast(span))
        .na.fill(0, ["publications", "bytes", "unwanted", "wanted_seconds", "most_subscriptions"])
        .withColumn("quiet_seconds", F.greatest(length - F.col("wanted_seconds"), F.lit(0.0)))
    )
    rate = F.try_divide(F.col("publications") - F.col("unwanted"), F.col("wanted_seconds"))
    saved = rate * F.col("quiet_seconds") - F.col("unwanted")
    return joined.select(
        "topic",
        "publications",
        "bytes",
        "unwanted",
        F.when(F.col("publications") > 0, F.round(F.col("unwanted") / F.col("publications"), 4)).alias(
            "unwanted_share"
        ),
        F.round("wanted_seconds", 3).alias("wanted_seconds"),
        F.round("quiet_seconds", 3).alias("quiet_seconds"),
        "most_subscriptions",
        F.when(saved.isNotNull(), F.greatest(F.round(saved).cast("bigint"), F.lit(0))).alias("saved"),
    )


def matches(topic: Column, pattern: Column) -> Column:
    """Whether a topic is equivalent to a pattern (`fmqbus.names`), of which either may have wildcards."""
    one, other = F.split(topic, "/"), F.split(pattern, "/")
    fits = F.zip_with(one, other, lambda a, b: (a == b) | (a == "*") | (b == "*"))
    return (topic == pattern) | (
        (_is_wild(topic) | _is_wild(pattern)) & (F.size(one) == F.size(other)) & F.forall(fits, lambda fit: fit)
    )


def _is_wild(name: Column) -> Column:
    return F.array_contains(F.split(name, "/"), "*")
