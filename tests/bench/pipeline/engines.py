"""Who does the jobs, and what of? Each engine is a program of its own: ``python -m tests.bench.pipeline.engines NAME
JOURNAL OUT JOB...``; it prints ``begin JOB`` and ``end JOB SECONDS RESULT``, once for each.

The results of one job are the same whoever did it: a count and a sum.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fmqbus.journal.folder import JournalFolder

JOBS = ("scan", "traffic", "delivery", "compact")

Job = Callable[[], tuple[int, int]]

_OPTIONS = {"includeMetadata": "true"}


def _tables(journal: Path) -> list[str]:
    return [str(journal / line.file) for line in JournalFolder(journal).tables()]


def _spark(journal: Path, out: Path, rows_with: Callable[[Any, list[str]], Any]) -> Mapping[str, Job]:
    """The jobs on what `rows_with` gives of a session and the names of columns."""
    from pyspark.sql import functions as F

    from fmqbus.pipeline.columns import COLUMNS
    from fmqbus.pipeline.jobs.compact import PARTED_BY, compact
    from fmqbus.pipeline.jobs.delivery import delivery
    from fmqbus.pipeline.jobs.table import JOBS as TABLE
    from fmqbus.pipeline.jobs.traffic import traffic
    from fmqbus.pipeline.session import new_session
    from fmqbus.pipeline.telling import write

    spark = new_session("benchmark")
    # whoever comes first does not pay for the start
    spark.range(1000).selectExpr("sum(id)").collect()
    everything = [name for name in COLUMNS if name not in ("key", "headers", "timestampType")]

    def scan() -> tuple[int, int]:
        rows_with(spark, everything).write.format("noop").mode("overwrite").save()
        return 0, 0

    def count(frame: Any) -> tuple[int, int]:
        found = frame.agg(F.count("*"), F.sum("messages")).collect()[0]
        return int(found[0]), int(found[1])

    def compacted() -> tuple[int, int]:
        write(compact(rows_with(spark, everything)), str(out), "parquet", "overwrite", PARTED_BY)
        return 0, 0

    return {
        "scan": scan,
        "traffic": lambda: count(traffic(rows_with(spark, list(TABLE["traffic"].needs)))),
        "delivery": lambda: count(delivery(rows_with(spark, list(TABLE["delivery"].needs)))),
        "compact": compacted,
    }


def by_source(journal: Path, out: Path) -> Mapping[str, Job]:
    """Spark, by our source."""

    def rows_with(spark: Any, columns: list[str]) -> Any:
        from fmqbus.pipeline.jobs.rows import schema_of

        return spark.read.format("fmqbus").schema(schema_of(columns)).options(**_OPTIONS).load(str(journal))

    return _spark(journal, out, rows_with)


def by_history(journal: Path, out: Path) -> Mapping[str, Job]:
    """Spark, as `fmqbus-pipeline` has it."""

    def rows_with(spark: Any, columns: list[str]) -> Any:
        from fmqbus.pipeline.history import history

        return history(spark, {"path": str(journal), **_OPTIONS}, columns)

    return _spark(journal, out, rows_with)


def by_parquet(journal: Path, out: Path) -> Mapping[str, Job]:
    """Spark, told of nothing but files of Parquet."""

    def rows_with(spark: Any, columns: list[str]) -> Any:
        from pyspark.sql import functions as F

        names = {"partition": "shard", "timestamp": "time", "value": "payload"}
        rows = spark.read.parquet(*_tables(journal))
        return rows.select(*(F.col(names.get(name, name)).alias(name) for name in columns))

    return _spark(journal, out, rows_with)


def by_duckdb(journal: Path, out: Path) -> Mapping[str, Job]:
    """DuckDB on the tables."""
    import duckdb

    db = duckdb.connect()
    db.execute(f"SET threads = 2; SET TimeZone = 'UTC'; SET temp_directory = '{out.parent}'")
    db.execute("SET preserve_insertion_order = false")
    db.execute(f"CREATE VIEW rows AS SELECT * FROM read_parquet({_tables(journal)!r}, hive_partitioning = false)")

    def ask(query: str) -> tuple[int, int]:
        found = db.execute(query).fetchall()[0]
        return int(found[0]), int(found[1])

    def scan() -> tuple[int, int]:
        db.execute("SELECT bit_xor(hash(COLUMNS(*))) FROM rows").fetchall()
        return 0, 0

    def compacted() -> tuple[int, int]:
        db.execute(
            "COPY (SELECT * REPLACE (coalesce(protocol, 'bus') AS protocol), CAST(time AS DATE) AS date FROM rows "
            f"ORDER BY date, protocol, topic, time, \"offset\") TO '{out}' "
            "(FORMAT parquet, COMPRESSION zstd, PARTITION_BY (date, protocol), OVERWRITE)"
        )
        return 0, 0

    return {
        "scan": scan,
        "traffic": lambda: ask(_TRAFFIC),
        "delivery": lambda: ask(_DELIVERY),
        "compact": compacted,
    }


_TRAFFIC = """
WITH minutes AS (
    SELECT time_bucket(INTERVAL 1 MINUTE, time) AS minute, coalesce(protocol, 'bus') AS of_protocol, topic,
        count_if(kind IN ('publish', 'enqueue')) AS messages,
        sum(size) FILTER (kind IN ('publish', 'enqueue')) AS bytes,
        avg(size) FILTER (kind IN ('publish', 'enqueue')) AS size_mean,
        min(size) FILTER (kind IN ('publish', 'enqueue')) AS size_min,
        max(size) FILTER (kind IN ('publish', 'enqueue')) AS size_max,
        sum(subscribers) FILTER (kind = 'publish') AS copies,
        count_if(kind = 'publish' AND subscribers = 0) AS unwanted,
        count_if(kind = 'drop') AS drops,
        quantile_disc(latency_us, [0.5, 0.95, 0.99])
            FILTER (kind IN ('settle', 'release', 'reject', 'reply')) AS latency,
        max(latency_us) FILTER (kind IN ('settle', 'release', 'reject', 'reply')) AS latency_max
    FROM rows WHERE topic IS NOT NULL AND kind <> 'demand' GROUP BY ALL
)
SELECT count(*), sum(messages) FROM (SELECT *, latency[1] + latency[2] + latency[3] + bytes AS used FROM minutes)
"""

_DELIVERY = """
WITH of_queues AS (
    SELECT *, sum(CASE WHEN kind = 'enqueue' THEN 1 ELSE 0 END)
        OVER (PARTITION BY shard, topic, message_id ORDER BY "offset" ROWS UNBOUNDED PRECEDING) AS life
    FROM rows
    WHERE kind IN ('enqueue', 'deliver', 'redeliver', 'settle', 'release', 'reject', 'expire', 'give-up')
), fates AS (
    SELECT shard, topic, message_id, life, min("offset") AS first_offset, max(boot) AS last_boot,
        max(time) AS last_at, count_if(kind IN ('deliver', 'redeliver')) AS handed,
        count_if(kind = 'settle') AS accepted, count_if(kind = 'reject') AS rejected,
        count_if(kind IN ('expire', 'give-up')) AS gone, arg_max(kind, "offset") AS last_kind,
        arg_max(outcome, "offset") AS outcome,
        count_if(kind = 'redeliver') AS redelivered, max(payload) AS payload, max(size) AS size
    FROM of_queues GROUP BY ALL
), told AS (
    SELECT *, CASE WHEN accepted > 1 THEN 'duplicated' WHEN accepted = 1 THEN 'accepted'
        WHEN rejected > 0 THEN 'rejected' WHEN gone > 0 THEN 'given-up'
        WHEN last_kind IN ('deliver', 'redeliver') THEN 'held'
        WHEN epoch((SELECT max(time) FROM rows)) - epoch(last_at) >= 300 THEN 'stuck' ELSE 'waiting' END AS fate
    FROM fates
), counted AS (
    SELECT topic, fate, count(*) AS messages, count_if(redelivered > 0), max(handed), min(message_id), min(last_at)
    FROM told GROUP BY ALL
)
SELECT count(*), sum(messages) FROM counted
"""


def by_polars(journal: Path, out: Path) -> Mapping[str, Job]:
    """polars on the tables, by its streaming engine."""
    import polars as pl

    rows = pl.scan_parquet(_tables(journal), hive_partitioning=False)
    kind = pl.col("kind")
    arrived, handed = kind.is_in(["publish", "enqueue"]), kind.is_in(["deliver", "redeliver"])
    ended = kind.is_in(["settle", "release", "reject", "reply"])
    size, latency = pl.col("size").cast(pl.Int64).filter(arrived), pl.col("latency_us").filter(ended)

    def count(found: Any) -> tuple[int, int]:
        done = found.select(pl.len(), pl.col("messages").sum()).collect(engine="streaming").row(0)
        return int(done[0]), int(done[1])

    def traffic() -> tuple[int, int]:
        published = kind == "publish"
        return count(
            rows.filter(pl.col("topic").is_not_null() & (kind != "demand"))
            .group_by(pl.col("time").dt.truncate("1m"), pl.col("protocol").fill_null("bus"), "topic")
            .agg(
                arrived.sum().cast(pl.Int64).alias("messages"),
                size.sum().alias("bytes"),
                size.mean().alias("size_mean"),
                size.min().alias("size_min"),
                size.max().alias("size_max"),
                pl.col("subscribers").cast(pl.Int64).filter(published).sum().alias("copies"),
                (published & (pl.col("subscribers") == 0)).sum().alias("unwanted"),
                (kind == "drop").sum().alias("drops"),
                *(latency.quantile(at, "higher").alias(f"p{at}") for at in (0.5, 0.95, 0.99)),
                latency.max().alias("latency_max"),
            )
        )

    def delivery() -> tuple[int, int]:
        of_one = ["shard", "topic", "message_id"]
        kinds = ["enqueue", "deliver", "redeliver", "settle", "release", "reject", "expire", "give-up"]
        fates = (
            rows.filter(kind.is_in(kinds))
            .sort("offset")
            .with_columns((kind == "enqueue").cast(pl.Int32).cum_sum().over(of_one).alias("life"))
            .group_by(*of_one, "life")
            .agg(
                pl.col("time").max().alias("last_at"),
                handed.sum().alias("handed"),
                (kind == "redeliver").sum().alias("redelivered"),
                (kind == "settle").sum().alias("accepted"),
                (kind == "reject").sum().alias("rejected"),
                kind.is_in(["expire", "give-up"]).sum().alias("gone"),
                kind.sort_by("offset").last().alias("last_kind"),
                pl.col("payload").first().alias("payload"),
            )
        )
        last = rows.select(pl.col("time").max()).collect(engine="streaming").item()
        fate = (
            pl.when(pl.col("accepted") > 1).then(pl.lit("duplicated"))
            .when(pl.col("accepted") == 1).then(pl.lit("accepted"))
            .when(pl.col("rejected") > 0).then(pl.lit("rejected"))
            .when(pl.col("gone") > 0).then(pl.lit("given-up"))
            .when(pl.col("last_kind").is_in(["deliver", "redeliver"])).then(pl.lit("held"))
            .when(pl.lit(last) - pl.col("last_at") >= pl.duration(seconds=300)).then(pl.lit("stuck"))
            .otherwise(pl.lit("waiting"))
        )  # fmt: skip
        return count(
            fates.with_columns(fate.alias("fate"))
            .group_by("topic", "fate")
            .agg(
                pl.len().alias("messages"), pl.col("handed").max(), pl.col("message_id").min(), pl.col("last_at").min()
            )
        )

    def compacted() -> tuple[int, int]:
        dated = rows.with_columns(pl.col("time").dt.date().alias("date"), pl.col("protocol").fill_null("bus"))
        for date, protocol in dated.select("date", "protocol").unique().collect(engine="streaming").rows():
            part = dated.filter((pl.col("date") == date) & (pl.col("protocol") == protocol))
            file = out / f"date={date}" / f"protocol={protocol}" / "0.parquet"
            file.parent.mkdir(parents=True)
            part.sort("topic", "time", "offset").sink_parquet(file, compression="zstd", engine="streaming")
        return 0, 0

    def scan() -> tuple[int, int]:
        # it has no hash of maps
        hashed = rows.drop("properties").select(pl.all().hash().sum(), pl.lit(0).alias("0"))
        hashed.collect(engine="streaming")
        return 0, 0

    return {"scan": scan, "traffic": traffic, "delivery": delivery, "compact": compacted}


ENGINES: Mapping[str, Callable[[Path, Path], Mapping[str, Job]]] = {
    "source": by_source,
    "history": by_history,
    "parquet": by_parquet,
    "duckdb": by_duckdb,
    "polars": by_polars,
}


def main(name: str, journal: str, out: str, *jobs: str) -> None:
    """Do these jobs, one after the other."""
    engine = ENGINES[name](Path(journal), Path(out))
    for job in jobs:
        print(f"begin {job}", flush=True)
        begun = time.monotonic()
        groups, messages = engine[job]()
        print(f"end {job} {time.monotonic() - begun} {groups} {messages}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
