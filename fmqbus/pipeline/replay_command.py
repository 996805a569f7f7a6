"""``fmqbus-pipeline replay``: say again on a bus what was said before, as fast as it was or at another pace.

Messages that are due together go in one batch, numbered, so that one which is said twice because the bus did not answer
comes once.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import Progress

from fmqbus.pipeline.asked import Asked, asking
from fmqbus.pipeline.failing import told
from fmqbus.protocols.umq.batch import BatchMessage, pack

if TYPE_CHECKING:
    from pyspark.sql import Row

#: What is due within this goes together; and no more than so many at once, or of so many octets.
_TOGETHER_SECONDS = 0.05
_MOST_MESSAGES = 1_000
_MOST_OCTETS = 4 * 1024 * 1024

#: What is read of the journal.
_COLUMNS = ("timestamp", "partition", "offset", "kind", "topic", "value", "properties", "retain", "priority")


@click.command("replay")
@asking()
@click.option("--url", required=True, metavar="URL", help="The bus's UMQ listener: ws://HOST:7702/umq")
@click.option(
    "--pace",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="2 is twice as fast as it was.",
)
@click.option("--at-once", is_flag=True, help="As fast as the bus takes it.")
@click.option("--prefix", default="", metavar="TEXT", help="Goes before each topic and queue, such as again/")
def command(asked: Asked, url: str, pace: float, at_once: bool, prefix: str) -> None:
    """Put the messages that JOURNAL has onto a bus again, in the order in which they came.

    Choose them by --since, --until, --topic and --pattern. Messages whose payloads are not in the journal are left out.
    """  # fmt: skip
    from fmqbus.errors import BusError
    from fmqbus.pipeline.batch_connection import BatchConnection
    from fmqbus.pipeline.jobs.replay import replay

    producer = f"replay-{uuid.uuid4()}"
    with told():
        spark = asked.session("replay", for_few_rows=True)
        messages = replay(asked.rows(spark, _COLUMNS), None if at_once else pace, prefix).persist()
        count = messages.count()
        try:
            with BatchConnection(url) as connection, Progress(console=Console(stderr=True)) as progress:
                task = progress.add_task("messages", total=count)

                def put(number: int, batch: list[BatchMessage]) -> None:
                    connection.put_batch(producer, number, [pack(batch)])
                    progress.advance(task, len(batch))

                play(messages.toLocalIterator(), put, time.monotonic, time.sleep)
        except BusError as error:
            raise click.ClickException(str(error)) from None
    click.echo(f"{count:,} messages are on the bus", err=True)


def play(
    rows: Iterable[Row] | Iterable[Mapping[str, Any]],
    put: Callable[[int, list[BatchMessage]], None],
    now: Callable[[], float],
    wait: Callable[[float], None],
) -> None:
    """Put rows that have ``due``, in seconds from now, when they are due; `now` is a clock that never goes back."""
    begin = now()
    for number, (due, batch) in enumerate(together(rows)):
        if due > now() - begin:
            wait(due - (now() - begin))
        put(number, batch)


def together(rows: Iterable[Any]) -> Iterator[tuple[float, list[BatchMessage]]]:
    """Rows that are due at about the same time, as batches with the time at which the last of it is due."""
    batch: list[BatchMessage] = []
    first = last = 0.0
    octets = 0
    for row in rows:
        is_full = len(batch) >= _MOST_MESSAGES or octets >= _MOST_OCTETS
        if batch and (is_full or row["due"] > first + _TOGETHER_SECONDS):
            yield last, batch
            batch, octets = [], 0
        if not batch:
            first = row["due"]
        last = row["due"]
        batch.append(_message(row))
        octets += len(row["value"])
    if batch:
        yield last, batch


def _message(row: Any) -> BatchMessage:
    to_queue = row["kind"] == "enqueue"
    return BatchMessage(
        to_queue,
        row["topic"],
        bytes(row["value"]),
        dict(row["properties"] or {}),
        bool(row["retain"]) and not to_queue,
        row["priority"] or 0,
    )
