"""Rows become messages, batches come once, and mistakes are named; without Spark, against a real bus."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fmqbus.model import BatchPart
from fmqbus.pipeline.batch_connection import BatchConnection, BatchNotTaken
from fmqbus.pipeline.options import WrongOption
from fmqbus.pipeline.outgoing import Destination, WrongRow, packed
from fmqbus.pipeline.portions import digest_of, portions
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
        ({"url": "ws://h", "topic": "a", "batchMessages": "0"}, ["value"], "batchMessages is a whole number from 1"),
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


def staged(query: str | None, *payloads: bytes, task: int = 0) -> Staged:
    """What a task of a query has made."""
    return Staged([pack([BatchMessage(True, "q", payload) for payload in payloads])], len(payloads), query, task)


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
        with pytest.raises(BatchNotTaken, match=r"^row 0 of task 0, for queue a/\*: .*9 of query"):
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


def numbered(first: int, end: int) -> list[bytes]:
    """Payloads that tell their place."""
    return [b"%d" % number for number in range(first, end)]


def taken(broker: Broker, count: int) -> list[int]:
    """What waits in the queue: so many messages, or more."""
    with closing(Client(broker.connect())) as consumer:
        consumer.call("consume", "q", consumer.topic("q"), {"window": 10_000})
        found = consumer.updates()
        while len(found) < count:
            found += consumer.updates()
        found += consumer.updates()
        return [int(said["text"]) for _, said, _ in found]


def test_a_batch_that_is_too_large_comes_in_parts_each_once(tmp_path: Path) -> None:
    """Though the bus is killed after some of them, and other tasks make the same messages then."""
    configuration = tmp_path / "fmqbus.toml"
    configuration.write_text(_CONFIGURATION.format(tmp_path / "bus.sqlite") + "[limits]\nbatch_messages = 100\n")

    def writer(broker: Broker, most: int = 100) -> FMQBusStreamWriter:
        options = {"url": f"ws://127.0.0.1:{broker.port}/umq", "queue": "q", "batchMessages": str(most)}
        return FMQBusStreamWriter(read_sink_options(options, ["value"]))

    with Broker("--config", str(configuration)) as broker:
        with pytest.raises(BatchNotTaken, match=r"250 messages, 100 at most.*; give the option batchMessages"):
            writer(broker, 1_000).commit([staged("query", *numbered(0, 250))], 0)
        parts = portions([pack([BatchMessage(True, "q", payload) for payload in numbered(0, 250)])], 100)
        with BatchConnection(f"ws://127.0.0.1:{broker.port}/umq") as connection:
            for place in range(2):
                part = BatchPart(place, 3, digest_of(parts))
                assert connection.put_batch("query", 0, parts[place].attachments, part)
        broker.signal(signal.SIGKILL)
        broker.wait()
    with Broker("--config", str(configuration)) as broker:
        with pytest.raises(BatchNotTaken, match=r"2 of its 3 parts have come.*; Spark has done the batch again with"):
            writer(broker).commit([staged("query", *reversed(numbered(0, 250)))], 0)
        rows = [staged("query", *numbered(0, 17)), staged("query", *numbered(17, 250), task=1)]
        for _ in range(2):
            writer(broker).commit(rows, 0)
        writer(broker).commit([staged("query", *numbered(250, 260))], 1)
        assert taken(broker, 260) == list(range(260))


def test_what_the_bus_refuses_is_named_by_its_row(tmp_path: Path) -> None:
    """Its task and its place there, also in a later part."""
    with Broker("--listen", "umq:tcp:0:interface=127.0.0.1") as broker:
        options = {"url": f"ws://127.0.0.1:{broker.port}/umq", "queue": "q", "batchMessages": "100"}
        writer = FMQBusWriter(read_sink_options(options, ["value"]))
        bad = Staged([pack([BatchMessage(True, "q", b"x"), BatchMessage(True, "a/*", b"x")])], 2, None, 5)
        with pytest.raises(BatchNotTaken, match=r"^row 1 of task 5, for queue a/\*: ws://.* has refused batch 0: .*"):
            writer.commit([staged(None, *numbered(0, 120)), None, bad])
        assert taken(broker, 100) == list(range(100)), "the part before"


def test_batch_writes_without_a_producer_leave_nothing_behind() -> None:
    """However many there are, those who have a name are remembered."""
    url = "ws://127.0.0.1:{}/umq"
    with Broker("--listen", "umq:tcp:0:interface=127.0.0.1") as broker:
        named = {"url": url.format(broker.port), "queue": "q", "producer": "nightly", "batch": "7"}
        nameless = {"url": url.format(broker.port), "queue": "q"}
        for options in (named, nameless, nameless, named):
            FMQBusWriter(read_sink_options(options, ["value"])).commit([staged(None, b"1")])
        assert taken(broker, 3) == [1, 1, 1]


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
