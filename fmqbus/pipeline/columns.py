"""Which columns does the data source have, and how is each made of the journal's?

The first ones are named and typed as those of Spark's Kafka source, so that what was written for that reads a bus too.
The others are the journal's own (`fmqbus.journal.journal_schema`), under its names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from fmqbus.pipeline.options import Options, WrongOption

#: Kafka's number for "when the broker got it"; ours always is.
LOG_APPEND_TIME = 1

#: The property of a message that is its key.
KEY_PROPERTY = "key"

_HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))

#: Columns of the journal as rows → the column, which has this type of Arrow.
Make = Callable[[pa.RecordBatch, pa.DataType], pa.Array]


@attrs.frozen
class Column:
    """One column of the data source."""

    name: str
    type: DataType
    #: The columns of the journal that it is made of.
    needs: tuple[str, ...]
    make: Make


def _key(batch: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
    return pc.map_lookup(batch.column("properties"), KEY_PROPERTY, "first").cast(kind)


def _log_append_time(batch: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
    return pa.array([LOG_APPEND_TIME], kind).take(pa.repeat(0, batch.num_rows))


def _headers(batch: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
    properties = batch.column("properties")
    # the pairs as a whole, nulls with them: offsets of a slice do not begin at 0
    pair = kind.value_type
    keys, values = properties.keys.cast(pair.field("key").type), properties.items.cast(pair.field("value").type)
    pairs = pa.StructArray.from_arrays([keys, values], fields=[pair.field("key"), pair.field("value")])
    return pa.ListArray.from_arrays(_offsets(properties), pairs, type=kind)


def _properties(batch: pa.RecordBatch, kind: pa.DataType) -> pa.Array:
    properties = batch.column("properties")
    return pa.MapArray.from_arrays(_offsets(properties), properties.keys, properties.items, type=kind)


def _offsets(properties: pa.MapArray) -> pa.Array:
    """Where each row's pairs begin, null for a row without, as the makers of arrays want it."""
    offsets = properties.offsets
    if not properties.null_count:
        return offsets
    is_null = pa.concat_arrays([properties.is_null(), pa.array([False])])
    return pc.if_else(is_null, pa.scalar(None, pa.int32()), offsets)


def _own(name: str, kind: DataType, source: str = "") -> Column:
    source = source or name
    return Column(name, kind, (source,), lambda batch, wanted: batch.column(source).cast(wanted))


KAFKA_COLUMNS: Sequence[Column] = (
    Column("key", BinaryType(), ("properties",), _key),
    _own("value", BinaryType(), "payload"),
    _own("topic", StringType()),
    _own("partition", IntegerType(), "shard"),
    _own("offset", LongType()),
    _own("timestamp", TimestampType(), "time"),
    Column("timestampType", IntegerType(), (), _log_append_time),
)

HEADERS = Column("headers", _HEADERS, ("properties",), _headers)

METADATA_COLUMNS: Sequence[Column] = (
    _own("kind", StringType()),
    _own("protocol", StringType()),
    _own("session", LongType()),
    _own("client", StringType()),
    _own("principal", StringType()),
    _own("size", IntegerType()),
    Column("properties", MapType(StringType(), StringType()), ("properties",), _properties),
    _own("retain", BooleanType()),
    _own("will", BooleanType()),
    _own("subscribers", IntegerType()),
    _own("message_id", LongType()),
    _own("priority", IntegerType()),
    _own("deliveries", IntegerType()),
    _own("expires_at", TimestampType()),
    _own("not_before", TimestampType()),
    _own("outcome", StringType()),
    _own("latency_us", LongType()),
    _own("lost", LongType()),
    _own("boot", TimestampType()),
)

COLUMNS: Mapping[str, Column] = {each.name: each for each in (*KAFKA_COLUMNS, HEADERS, *METADATA_COLUMNS)}


def schema_for(options: Options) -> StructType:
    """The columns that a read has, unless the user names others."""
    columns = [
        *KAFKA_COLUMNS,
        *([HEADERS] if options.has_headers else []),
        *(METADATA_COLUMNS if options.has_metadata else []),
    ]
    return StructType([StructField(column.name, column.type) for column in columns])


@attrs.frozen
class Selection:
    """Some of the columns, in an order, each of them as Spark wants it."""

    columns: Sequence[Column]
    schema: pa.Schema

    @classmethod
    def of(cls, schema: StructType) -> Selection:
        """What a schema names. Raises `WrongOption` for a column that there is none of, or not with this type."""
        columns = []
        for field in schema.fields:
            column = COLUMNS.get(field.name)
            if column is None:
                raise WrongOption(f"there is no column {field.name}; there are {', '.join(COLUMNS)}")
            if field.dataType != column.type:
                raise WrongOption(
                    f"column {field.name} is {column.type.simpleString()}, not {field.dataType.simpleString()}: "
                    "read it so, and cast it then"
                )
            columns.append(column)
        return cls(columns, to_arrow_schema(schema, timezone="UTC"))

    @property
    def needs(self) -> frozenset[str]:
        """The columns of the journal that have to be read."""
        return frozenset(name for column in self.columns for name in column.needs)

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Rows of the journal as rows of the source."""
        arrays: list[Any] = [
            column.make(batch, field.type) for column, field in zip(self.columns, self.schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
