"""``df.write.format("fmqbus")`` and ``writeStream``: results go onto the bus as messages, each batch once.

Tasks make messages of their rows, and hand them to the driver; when all of them are done, it puts them onto the bus in
one call, under the query's name and the batch's number. A batch that Spark does again, because it did not learn that it
was done, is one that the bus has had: it is ignored. So a batch must fit into the driver's memory and into the bus's
limit for batches: ``maxOffsetsPerTrigger`` keeps it small.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from fmqbus.pipeline.options import WrongOption
from fmqbus.pipeline.outgoing import Destination, packed

log = logging.getLogger("fmqbus.pipeline")

#: What can be said to the sink.
OPTIONS = ("url", "topic", "queue", "producer", "batch", "user", "passwordFile")
#: Spark's own, which it hands on.
_SPARKS = frozenset(("path", "checkpointlocation"))

#: Where tasks learn which query they are of.
_QUERY_ID = "sql.streaming.queryId"


@attrs.frozen
class SinkOptions:
    """The options of a write."""

    url: str
    destination: Destination
    #: Whose batches these are; None is the query's id, or a new name for each batch write.
    producer: str | None
    #: Of a batch write: its number.
    batch: int
    user: str | None
    password_file: str | None

    @property
    def password(self) -> str | None:
        """Its first line. Raises `WrongOption`."""
        if self.password_file is None:
            return None
        try:
            return Path(self.password_file).read_text(encoding="utf-8").split("\n", 1)[0].removesuffix("\r")
        except (OSError, UnicodeDecodeError) as error:
            raise WrongOption(f"passwordFile cannot be read: {error}") from None


def read_sink_options(given: Mapping[str, str], columns: Sequence[str]) -> SinkOptions:
    """Read the options as Spark hands them over, for rows with these columns. Raises `WrongOption`."""
    said = {key.lower(): value for key, value in given.items() if key.lower() not in _SPARKS}
    unknown = sorted(set(said) - {name.lower() for name in OPTIONS})
    if unknown:
        raise WrongOption(f"there is no option {', '.join(unknown)}; there are {', '.join(OPTIONS)}")
    if "url" not in said:
        raise WrongOption("give url, that of a bus's UMQ listener: ws://HOST:7702/umq")
    if "batch" in said and not (said["batch"].isdecimal() and "producer" in said):
        raise WrongOption("batch is a whole number, and goes with producer")
    producer = said.get("producer")
    if producer is not None and not 0 < len(producer) <= 255:
        raise WrongOption("producer is a name of up to 255 characters")
    destination = Destination(said.get("topic"), said.get("queue"))
    destination.check(columns)
    return SinkOptions(
        said["url"], destination, producer, int(said.get("batch", "0")), said.get("user"), said.get("passwordfile")
    )


@attrs.define
class Staged(WriterCommitMessage):
    """What one task has made."""

    attachments: list[bytes]
    rows: int
    query: str | None


class _Staging:
    """The part of both writers that tasks run."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        query = None if context is None else context.getLocalProperty(_QUERY_ID)
        attachments, rows = packed(iterator, self._options.destination, task)
        return Staged(attachments, rows, query)

    def put(self, producer: str, number: int, messages: Sequence[WriterCommitMessage | None]) -> bool:
        """Put what tasks have made onto the bus; True unless it had come before. Without rows, nothing is done."""
        from fmqbus.pipeline.batch_connection import BatchConnection

        attachments = [one for staged in messages if isinstance(staged, Staged) for one in staged.attachments]
        if not attachments:
            return True
        with BatchConnection(self._options.url, self._options.user, self._options.password) as connection:
            has_come_now = connection.put_batch(producer, number, attachments)
        if not has_come_now:
            log.warning("batch %d of %s had come onto the bus before, and is not put there again", number, producer)
        return has_come_now


class FMQBusStreamWriter(_Staging, DataSourceStreamArrowWriter):
    """Exactly once: the producer is the query, by its checkpoint, and batches have its numbers."""

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        queries = {staged.query for staged in messages if isinstance(staged, Staged) and staged.query}
        producer = self._options.producer or next(iter(queries), None)
        if producer is None:
            # no task has run, so there are no rows
            return
        self.put(producer, batchId, messages)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Nothing has left the driver."""


class FMQBusWriter(_Staging, DataSourceArrowWriter):
    """All of a DataFrame, or nothing; once, for whoever says again what `producer` and `batch` it is."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self.put(self._options.producer or f"batch-{uuid.uuid4()}-{os.getpid()}", self._options.batch, messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Nothing has left the driver."""
