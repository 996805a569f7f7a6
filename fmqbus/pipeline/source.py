"""``spark.read.format("fmqbus")``, ``spark.readStream``, and the same for writing: where Spark meets us."""

from __future__ import annotations

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from fmqbus.pipeline import FORMAT
from fmqbus.pipeline.access import journal_of
from fmqbus.pipeline.batch import FilteringReader, FMQBusReader
from fmqbus.pipeline.choice import Choice
from fmqbus.pipeline.columns import Selection, schema_for
from fmqbus.pipeline.options import Options, WrongOption, read_options
from fmqbus.pipeline.reading import Reading
from fmqbus.pipeline.sink import FMQBusStreamWriter, FMQBusWriter, read_sink_options
from fmqbus.pipeline.stream import FMQBusStreamReader


class FMQBusSource(DataSource):
    """The format ``fmqbus``. Options are those of `fmqbus.pipeline.options`, columns of `fmqbus.pipeline.columns`; a
    schema of the user's own names those that are wanted, and no others are read."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return schema_for(read_options(self.options))

    def reader(self, schema: StructType) -> FMQBusReader:
        options = read_options(self.options)
        kind = FilteringReader if options.pushes_filters else FMQBusReader
        return kind(options, _reading(options, schema))

    def streamReader(self, schema: StructType) -> FMQBusStreamReader:
        options = read_options(self.options)
        return FMQBusStreamReader(options, _reading(options, schema))

    def writer(self, schema: StructType, overwrite: bool) -> FMQBusWriter:
        if overwrite:
            raise WrongOption('a bus can only be added to: use mode("append")')
        return FMQBusWriter(read_sink_options(self.options, schema.fieldNames()))

    def streamWriter(self, schema: StructType, overwrite: bool) -> FMQBusStreamWriter:
        return FMQBusStreamWriter(read_sink_options(self.options, schema.fieldNames()))


def _reading(options: Options, schema: StructType) -> Reading:
    return Reading(
        journal_of(options),
        Selection.of(schema),
        Choice.of(options),
        options.fails_on_data_loss,
        options.min_partitions,
    )
