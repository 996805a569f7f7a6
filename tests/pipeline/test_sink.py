"""Rows become messages, batches come once, and mistakes are named; without Spark, against a real bus."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fmqbus.pipeline.batch_connection import BatchConnection, BatchNotTaken
from fmqbus.pipeline.options import WrongOption
from fmqbus.pipeline.outgoing import Destination, WrongRow, packed
from fmqbus.pipeline.sink import FMQBusStreamWriter, FMQBusWriter, Staged, read_sink_options
from fmqbus.protocols.umq.batch import BatchMessage, pack, unpack
from tests.live.broker import Broker
from tests.live.umq_client import Client

_PROPERTIES = pa.map_(pa.string(), pa.string())

#: A listener for UMQ as browsers have it, and queues that are kept.
_CONFIGURATION = """
listen = ["umq:tcp:0:interface=127.0.0.1"]
message_store = "sqlite"

[stores.sqlite]
path = "{}"
"""


def made(columns: Mapping[str, Any], **destination: str) -> list[BatchMessage]:
    """The messages of a few rows."""
    batch = pa.record_batch(dict(columns))
    attachments, count = packed(iter([batch]), Destination(**destination), 3)
    assert count == batch.num_rows
    return [message for attachment in attachments for message in unpack(attachment)]


def test_rows_are_messages_for_topics() -> None:
    """Their own, or that of the option; text and octets alike."""
    columns = {"value": ["é", "b"], "topic": ["t", None], "retain": [True, None]}
    assert made(columns, topic="u") == [
        BatchMessage(False, "t", "é".encode(), retain=True),
        BatchMessage(False, "u", b"b"),
    ]


def test_rows_are_messages_for_queues() -> None:
    """With all that can be asked of a queue."""
    columns = {
        "value": pa.array([b"\xff"]),
        "queue": ["q"],
        "key": ["k"],
        "properties": pa.array([[("a", "b")]], _PROPERTIES),
        "priority": [9],
        "time_to_live": [1.5],
        "delay": [2.0],
    }
    assert made(columns) == [BatchMessage(True, "q", b"\xff", {"a": "b", "key": "k"}, False, 9, 1.5, 2.0)]


def test_headers_are_properties() -> None:
    """As Kafka's source has them."""
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    assert made({"value": ["x"], "headers": pa.array([[{"key": "a", "value": b"b"}]], kind)}, topic="t") == [
        BatchMessage(False, "t", b"x", {"a": "b"})
    ]


def test_many_rows_are_several_attachments() -> None:
    """However long they are: an attachment has a bound."""
    batch = pa.record_batch({"value": [b"x" * 1_000_000] * 10})
    attachments, count = packed(iter([batch]), Destination(topic="t"), 0)
    assert count == 10
    assert len(attachments) > 1
    assert all(len(attachment) < 6_000_000 for attachment in attachments)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"value": ["a", None]}, "row 1 of task 3: value is null"),
        ({"value": ["a"], "priority": [12]}, "row 0 of task 3: .*<= 9"),
        ({"value": ["a"], "delay": [-1.0]}, "row 0 of task 3: .*>= 0"),
        ({"value": ["a"], "key": pa.array([b"\xff"])}, "row 0 of task 3: key is not UTF-8"),
        ({"value": ["a"], "properties": pa.array([[("k", None)]], _PROPERTIES)}, "property k is null"),
    ],
)
def test_a_row_that_is_no_message_is_named(columns: dict[str, Any], words: str) -> None:
    """By its task, its place there, and what is wrong."""
    with pytest.raises(WrongRow, match=words):
        made(columns, topic="t")
    with pytest.raises(WrongRow, match="row 0 of task 3: topic is missing"):
        made({"value": ["a"], "topic": [None]})


@pytest.mark.parametrize(
    ("options", "columns", "words"),
    [
        ({}, ["value"], "give url"),
        ({"url": "ws://h", "topics": "a"}, ["value"], "there is no option topics"),
        ({"url": "ws://h"}, ["value"], "say where messages go"),
        ({"url": "ws://h", "topic": "a"}, ["value", "queue"], "say where messages go"),
        ({"url": "ws://h", "topic": "a"}, ["topic"], "a message needs a column value"),
        ({"url": "ws://h", "topic": "a"}, ["value", "colour"], "the bus has no column colour"),
        ({"url": "ws://h", "topic": "a", "batch": "1"}, ["value"], "batch is a whole number, and goes with producer"),
    ],
)
def test_wrong_options_are_named(options: dict[str, str], columns: list[str], words: str) -> None:
    """Before anything is read."""
    with pytest.raises(WrongOption, match=words):
        read_sink_options(options, columns)


def test_what_is_no_url_or_no_bus_is_told() -> None:
    """With the URL that was meant."""
    with pytest.raises(BatchNotTaken, match="'http://h' is no URL of a bus's UMQ listener"):
        BatchConnection("http://h")
    with pytest.raises(BatchNotTaken, match="cannot connect to ws://"):
        BatchConnection("ws://127.0.0.1:1/umq")


def staged(query: str, *payloads: bytes) -> Staged:
    """What a task of a query has made."""
    return Staged([pack([BatchMessage(True, "q", payload) for payload in payloads])], len(payloads), query)


def test_a_batch_comes_once_though_the_bus_is_killed(tmp_path: Path) -> None:
    """Spark did not learn that it was done, and does it again: of two tasks, after a crash, and with another number."""
    configuration = tmp_path / "fmqbus.toml"
    configuration.write_text(_CONFIGURATION.format(tmp_path / "bus.sqlite"))
    rows = [staged("query", b"1", b"2"), None, staged("query", b"3")]
    with Broker("--config", str(configuration)) as broker:
        url = f"ws://127.0.0.1:{broker.port}/umq"
        writer = FMQBusStreamWriter(read_sink_options({"url": url, "queue": "q"}, ["value"]))
        writer.commit(rows, 0)
        writer.commit(rows, 0)
    with Broker("--config", str(configuration)) as broker:
        url = f"ws://127.0.0.1:{broker.port}/umq"
        writer = FMQBusStreamWriter(read_sink_options({"url": url, "queue": "q"}, ["value"]))
        writer.commit(rows, 0)
        writer.commit([staged("query", b"4")], 1)
        writer.commit([], 2)
        with closing(Client(broker.connect())) as consumer:
            consumer.call("consume", "q", consumer.topic("q"))
            assert [said["text"] for _, said, _ in consumer.updates()] == ["1", "2", "3", "4"]
        with pytest.raises(BatchNotTaken, match=r"has refused batch 9 of query: .*message 0"):
            writer.commit([Staged([pack([BatchMessage(True, "a/*", b"")])], 1, "query")], 9)


def test_a_batch_write_is_all_or_nothing(tmp_path: Path) -> None:
    """And once, for whoever names it."""
    with Broker("--listen", "umq:tcp:0:interface=127.0.0.1") as broker:
        options = {"url": f"ws://127.0.0.1:{broker.port}/umq", "topic": "t", "producer": "nightly", "batch": "7"}
        with closing(Client(broker.connect())) as listener:
            listener.call("subscribe", "t", listener.topic("t"))
            writer = FMQBusWriter(read_sink_options(options, ["value"]))
            for _ in range(2):
                writer.commit([Staged([pack([BatchMessage(False, "t", b"x")])], 1, None)])
            assert [said["text"] for _, said, _ in listener.updates()] == ["x"]


@pytest.mark.spark
def test_spark_writes_a_stream_onto_the_bus(spark: Any, sample: Path, tmp_path: Path) -> None:
    """A query that goes on after it was stopped, and one batch of it that is done again, put each row there once."""
    with (
        Broker("--listen", "umq:tcp:0:interface=127.0.0.1") as broker,
        closing(Client(broker.connect())) as listener,
    ):
        listener.call("consume", "copies", listener.topic("q"), {"window": 10_000})
        rows = (
            spark.readStream.format("fmqbus")
            .options(startingOffsets="earliest", maxOffsetsPerTrigger="600", subscribe="jobs")
            .load(str(sample))
            .selectExpr("value", "CAST(offset AS string) AS key")
        )

        def run() -> None:
            writer = rows.writeStream.format("fmqbus").option("url", f"ws://127.0.0.1:{broker.port}/umq")
            writer = writer.option("queue", "copies").option("checkpointLocation", str(tmp_path / "checkpoint"))
            writer.trigger(availableNow=True).start().awaitTermination()

        run()
        # as if the driver had died before it noted that the last batch was done
        commits = sorted((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
        commits[-1].unlink()
        (commits[-1].parent / f".{commits[-1].name}.crc").unlink(missing_ok=True)
        run()
        expected = spark.read.format("fmqbus").option("subscribe", "jobs").load(str(sample)).select("offset").collect()
        keys = [int(said["properties"]["key"]) for _, said, _ in listener.updates()]
        assert sorted(keys) == sorted(row.offset for row in expected)
