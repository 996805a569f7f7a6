"""Does a frame give back the rows that were put in, whatever they are, and none where an octet has changed?"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import attrs
import msgspec
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fmqbus.journal.entries import HEADS, PACKET_HEAD, PACKETS, RECORDS, Client, FrameBuilder, Record
from fmqbus.journal.errors import DamagedFrame, NewerFormat
from fmqbus.journal.expand import expand
from fmqbus.journal.frames import HEADER_OCTETS, check_body, encode_header, parse_header, scan
from fmqbus.journal.journal_schema import SCHEMA
from fmqbus.journal.kinds import Kind

NAMES = st.one_of(st.just(b"a"), st.binary(min_size=1, max_size=255))
PAYLOADS = st.binary(max_size=40)
INTS = st.one_of(st.none(), st.integers(0, 2**40))
RECORDS_ = st.builds(
    Record,
    topic=st.one_of(st.none(), NAMES),
    payload=st.one_of(st.none(), PAYLOADS),
    properties=st.one_of(st.none(), st.dictionaries(st.text(max_size=5), st.text(max_size=5), min_size=1, max_size=3)),
    flags=st.sampled_from((0, 4, 8, 12)),
    message_id=INTS,
    priority=st.one_of(st.none(), st.integers(0, 9)),
    expires_at=INTS,
    latency_us=INTS,
    lost=INTS,
).map(lambda record: _sized(record))
CLIENTS = st.one_of(
    st.none(), st.builds(Client, st.integers(1, 3), st.sampled_from(("fmqp", "umq")), st.text(min_size=1, max_size=4))
)


def _sized(record: Record) -> Record:
    record.size = None if record.payload is None else len(record.payload)
    return record


@attrs.frozen
class Entry:
    """What is put in by one call, and the rows that have to come out: topic, payload, size."""

    layout: int
    client: Client | None
    data: bytes
    rows: Sequence[tuple[bytes | None, bytes | None, int | None]]
    records: Sequence[Record] = ()


@st.composite
def _entries(draw: Any) -> Entry:
    client = draw(CLIENTS)
    layout = draw(st.sampled_from((PACKETS, HEADS, RECORDS)))
    if layout == RECORDS:
        records = draw(st.lists(RECORDS_, min_size=1, max_size=5))
        rows = [(record.topic, record.payload, record.size) for record in records]
        return Entry(layout, client, FrameBuilder(0, 0, 1).encoded(records), rows, records)
    if draw(st.booleans()):  # a run
        topic, payload, count = draw(NAMES), draw(PAYLOADS), draw(st.integers(1, 30))
        messages = [(topic, bytes([number]) * len(payload)) for number in range(count)]
    else:
        messages = draw(st.lists(st.tuples(NAMES, PAYLOADS), min_size=1, max_size=20))
    heads = [PACKET_HEAD.pack(0, len(topic), len(payload)) + topic for topic, payload in messages]
    if layout == HEADS:
        data = heads[0] if len(set(heads)) == 1 else b"".join(heads)
        return Entry(layout, client, data, [(topic, None, len(payload)) for topic, payload in messages])
    data = b"".join(head + payload for head, (_, payload) in zip(heads, messages, strict=True))
    return Entry(layout, client, data, [(topic, payload, len(payload)) for topic, payload in messages])


def _frame(entries: Sequence[Entry], first: int = 0, shard: int = 3) -> bytes:
    builder = FrameBuilder(shard, 1_000, octets=64)
    for time, entry in enumerate(entries):
        builder.add(Kind.PUBLISH, entry.layout, entry.client, time, len(entry.rows), entry.data, 7, "why" * (time % 2))
    return b"".join(builder.finish(first))


def _table(frame: bytes) -> pa.Table:
    batches = [batch for _, header, body in scan(frame) for batch in expand(header, body)]
    return pa.Table.from_batches(batches, SCHEMA)


@settings(deadline=None)
@given(st.lists(_entries(), min_size=1, max_size=6), st.integers(0, 2**40))
def test_what_was_put_in_comes_out(entries: list[Entry], first: int) -> None:
    """Topics of any octets, payloads that are no text, runs and single messages, in their order."""
    table = _table(_frame(entries, first))
    table.validate(full=True)
    rows = [row for entry in entries for row in entry.rows]
    expected = [None if topic is None else topic.decode(errors="backslashreplace") for topic, _, _ in rows]
    assert table["topic"].to_pylist() == expected
    assert table["payload"].to_pylist() == [payload for _, payload, _ in rows]
    assert table["size"].to_pylist() == [size for _, _, size in rows]
    assert table["offset"].to_pylist() == list(range(first, first + len(rows)))
    assert table["time"].cast(pa.int64()).to_pylist() == [at for at, entry in enumerate(entries) for _ in entry.rows]
    clients = [entry.client for entry in entries for _ in entry.rows]
    assert table["session"].to_pylist() == [client and client.session for client in clients]
    assert table["outcome"].to_pylist() == [
        "why" if at % 2 else None for at, entry in enumerate(entries) for _ in entry.rows
    ]
    records = [record for entry in entries for record in (entry.records or [Record()] * len(entry.rows))]
    for name in ("message_id", "priority", "latency_us", "lost"):
        assert table[name].to_pylist() == [getattr(record, name) for record in records]
    properties = [None if each is None else dict(each) for each in table["properties"].to_pylist()]
    assert properties == [record.properties for record in records]


@settings(deadline=None)
@given(st.lists(_entries(), min_size=1, max_size=3), st.data())
def test_a_changed_octet_is_always_noticed(entries: list[Entry], data: st.DataObject) -> None:
    """Each single bit of a frame is covered by one of its two sums."""
    frame = bytearray(_frame(entries))
    position = data.draw(st.integers(0, len(frame) * 8 - 1))
    frame[position // 8] ^= 1 << position % 8
    with pytest.raises(DamagedFrame):
        list(scan(frame))


def test_a_frame_that_is_cut_off_anywhere_ends_the_scan_there() -> None:
    """After all that were whole."""
    frames = [_frame([_run(b"t", 5)], first) for first in (0, 5)]
    both = b"".join(frames)
    for cut in range(1, len(both)):
        found: list[int] = []
        if cut in (len(frames[0]), len(both)):
            continue
        with pytest.raises(DamagedFrame) as caught:
            for _, header, _ in scan(both[:cut]):
                found.append(header.first)
        assert found == [0] * (cut > len(frames[0]))
        assert caught.value.position == len(frames[0]) * len(found)


def _run(topic: bytes, count: int) -> Entry:
    messages = [(topic, b"%04d" % number) for number in range(count)]
    data = b"".join(PACKET_HEAD.pack(0, len(topic), 4) + topic + payload for topic, payload in messages)
    return Entry(PACKETS, None, data, [(topic, payload, 4) for topic, payload in messages])


def test_a_later_format_is_refused_and_a_later_schema_is_read() -> None:
    """The one cannot be understood; the other has only more to say."""
    frame = _frame([_run(b"t", 5)])
    header = parse_header(frame)
    newer = encode_header(attrs.evolve(header, schema=99)) + frame[HEADER_OCTETS:]
    assert _table(newer).num_rows == 5
    octets = bytearray(frame)
    octets[4] = 2
    with pytest.raises(NewerFormat, match="format 2"):
        parse_header(summed(octets))


def summed(octets: bytes) -> bytes:
    """The frame with the sum that its header should have."""
    at = HEADER_OCTETS - 4
    return octets[:at] + zlib.crc32(octets[:at]).to_bytes(4, "little") + octets[HEADER_OCTETS:]


def test_a_kind_of_a_later_version_has_a_name_too() -> None:
    """Rows are never left out because they are not understood."""
    builder = FrameBuilder(0, 0)
    builder.add(200, RECORDS, None, 0, 1, builder.encoded([Record(b"t")]))
    assert _table(b"".join(builder.finish(0)))["kind"].to_pylist() == ["kind-200"]


def test_fields_of_a_later_version_are_passed_over() -> None:
    """A record may have more at its end than this reader knows."""
    builder = FrameBuilder(0, 0)
    row = [b"t", b"p", 1, None, 0, 5, None, None, None, None, None, None, "new", ["newer"]]
    builder.add(Kind.ENQUEUE, RECORDS, None, 0, 1, msgspec.msgpack.encode([row]))
    table = _table(b"".join(builder.finish(0)))
    assert (table["topic"].to_pylist(), table["message_id"].to_pylist()) == (["t"], [5])


@pytest.mark.parametrize(
    ("layout", "rows", "data"),
    [
        (PACKETS, 2, PACKET_HEAD.pack(0, 1, 1) + b"tp"),
        (PACKETS, 1, PACKET_HEAD.pack(0, 1, 9) + b"tp"),
        (PACKETS, 1, b"\0"),
        (HEADS, 2, b"\0"),
        (HEADS, 3, (PACKET_HEAD.pack(0, 1, 1) + b"t") * 2),
        (RECORDS, 2, b"\x91\x90"),
        (RECORDS, 1, b"\xff"),
    ],
)
def test_a_body_that_makes_no_sense_is_damage(layout: int, rows: int, data: bytes) -> None:
    """Though its sum is right: whoever wrote it was wrong."""
    builder = FrameBuilder(0, 0)
    builder.add(Kind.PUBLISH, layout, None, 0, rows, data)
    frame = b"".join(builder.finish(0))
    header = parse_header(frame)
    check_body(header, frame[HEADER_OCTETS:])
    with pytest.raises(DamagedFrame):
        list(expand(header, frame[HEADER_OCTETS:]))


def test_memory_is_used_again_after_a_message_larger_than_it() -> None:
    """The large one does not stay."""
    builder = FrameBuilder(0, 0, octets=64)
    large = _run(b"t", 100)
    for first in (0, 100):
        builder.add(Kind.PUBLISH, PACKETS, None, 0, 100, large.data)
        assert not builder.has_room(1)
        assert _table(b"".join(builder.finish(first))).num_rows == 100
        builder.clear()
        assert builder.has_room(64)
