"""``df.write.format("fmqbus")`` and ``writeStream``: results go onto the bus as messages, each batch once.

Tasks make messages of their rows, and hand them to the driver; when all of them are done, it puts them onto the bus in
one call, under the query's name and the batch's number. A batch that Spark does again, because it did not learn that it
was done, is one that the bus has had: it is ignored. So a batch must fit into the driver's memory.

One that has more messages than the bus takes at once goes in several parts, one after the other, of which the bus
takes each once. If Spark does it again with other rows, or in another order, the bus has parts of one and is asked for
parts of another: that is an error, for nobody could say which rows are there.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from fmqbus.model import BatchPart
from fmqbus.pipeline.options import WrongOption
from fmqbus.pipeline.outgoing import Destination, packed
from fmqbus.pipeline.portions import MOST_MESSAGES, Portion, digest_of, message_at, portions

if TYPE_CHECKING:
    from fmqbus.pipeline.batch_connection import BatchNotTaken

log = logging.getLogger("fmqbus.pipeline")

#: What can be said to the sink.
OPTIONS = ("url", "topic", "queue", "producer", "batch", "batchMessages", "user", "passwordFile")
#: Spark's own, which it hands on.
_SPARKS = frozenset(("path", "checkpointlocation"))

#: Where tasks learn which query they are of.
_QUERY_ID = "sql.streaming.queryId"


@attrs.frozen
class SinkOptions:
    """The options of a write."""

    url: str
    destination: Destination
    #: Whose batches these are; None is the query's id, or nobody's, of whom the bus notes nothing.
    producer: str | None
    #: Of a batch write: its number.
    batch: int
    user: str | None
    password_file: str | None
    #: How many messages the bus takes at once.
    most: int = MOST_MESSAGES

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
    most = said.get("batchmessages", str(MOST_MESSAGES))
    if not (most.isdecimal() and int(most) > 0):
        raise WrongOption(f"batchMessages is a whole number from 1, not {most!r}")
    destination = Destination(said.get("topic"), said.get("queue"))
    destination.check(columns)
    return SinkOptions(
        said["url"],
        destination,
        producer,
        int(said.get("batch", "0")),
        said.get("user"),
        said.get("passwordfile"),
        int(most),
    )


@attrs.define
class Staged(WriterCommitMessage):
    """What one task has made."""

    attachments: list[bytes]
    rows: int
    query: str | None
    task: int = 0


class _Staging:
    """The part of both writers that tasks run."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        query = None if context is None else context.getLocalProperty(_QUERY_ID)
        attachments, rows = packed(iterator, self._options.destination, task)
        return Staged(attachments, rows, query, task)

    def put(self, producer: str, number: int, messages: Sequence[WriterCommitMessage | None]) -> bool:
        """Put what tasks have made onto the bus; True unless it had come before. Without rows, nothing is done."""
        from fmqbus.pipeline.batch_connection import BatchConnection, BatchNotTaken

        made = [staged for staged in messages if isinstance(staged, Staged)]
        parts = portions((one for staged in made for one in staged.attachments), self._options.most)
        if not parts:
            return True
        digest = digest_of(parts) if len(parts) > 1 else ""
        has_come_now = False
        with BatchConnection(self._options.url, self._options.user, self._options.password) as connection:
            for place, portion in enumerate(parts):
                part = BatchPart(place, len(parts), digest)
                try:
                    has_come_now |= connection.put_batch(producer, number, portion.attachments, part)
                except BatchNotTaken as error:
                    raise BatchNotTaken(f"{_row_of(error.place, portion, made)}{error}{_advice(error)}") from None
        if not has_come_now:
            log.warning("batch %d of %s had come onto the bus before, and is not put there again", number, producer)
        return has_come_now


def _row_of(place: int | None, portion: Portion, made: Sequence[Staged]) -> str:
    """Which row the message at this place of a portion was made of, in words."""
    message = None if place is None else message_at(portion.attachments, place)
    if message is None or place is None:
        return ""
    row = portion.first + place
    for staged in made:
        if row < staged.rows:
            return f"row {row} of task {staged.task}, for {'queue' if message.to_queue else 'topic'} {message.name}: "
        row -= staged.rows
    return ""


def _advice(error: BatchNotTaken) -> str:
    """What mends it, where options do."""
    if re.search(r"a batch of \d+ messages, \d+ at most", str(error)):
        return "; give the option batchMessages what the bus takes, or raise its limit batch_messages"
    if "was begun with other messages" in str(error):
        return "; Spark has done the batch again with other rows, or in another order: sort them, or keep batches small"
    return ""


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
    """All of a DataFrame, or nothing, if it goes in one part; once, for who gives it `producer` and `batch`."""

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self.put(self._options.producer or "", self._options.batch, messages)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Nothing has left the driver."""
