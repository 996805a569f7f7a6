"""The data source's columns by name, for those who want some of them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import StructField, StructType

from fmqbus.pipeline.columns import COLUMNS


def schema_of(columns: Sequence[str]) -> StructType:
    """The schema with which these columns are read, and no others."""
    return StructType([StructField(name, COLUMNS[name].type) for name in columns])
