"""The journal for programs that know neither us nor Spark: flat columns, and payloads as text where they are."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def export(rows: DataFrame) -> DataFrame:
    """The same rows: ``payload`` as text where it is UTF-8, else ``payload_base64``; properties as one JSON object."""
    columns = set(rows.columns)
    shown = rows
    if "value" in columns:
        text = F.try_to_binary(F.col("value").cast("string"), F.lit("utf-8"))
        is_text = F.is_valid_utf8(F.col("value").cast("string")) & (text == F.col("value"))
        shown = shown.withColumns(
            {
                "payload": F.when(is_text, F.col("value").cast("string")),
                "payload_base64": F.when(~is_text, F.base64("value")),
            }
        ).drop("value")
    if "key" in columns:
        shown = shown.withColumn("key", F.col("key").cast("string"))
    if "properties" in columns:
        shown = shown.withColumn("properties", F.to_json("properties"))
    return shown.drop("headers", "timestampType")
