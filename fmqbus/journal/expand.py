"""How do the entries of a frame become rows? By numpy where a run can be cut at once, packet by packet where it cannot.

Needs pyarrow and numpy. Yields Arrow batches in the schema, without dictionaries, for that is what Spark takes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from fmqbus.journal.entries import (
    ENTRY_FIELDS,
    ENTRY_OCTETS,
    HEADS,
    PACKET_HEAD,
    PACKETS,
    RETAIN,
    WILL,
    Lists,
    Record,
)
from fmqbus.journal.errors import DamagedFrame
from fmqbus.journal.frames import Header, Octets
from fmqbus.journal.journal_schema import narrowed
from fmqbus.journal.kinds import NAMES, Kind

#: Entries gather in a batch up to so many rows, or so much payload; an entry is never parted.
BATCH_ROWS = 65_536
BATCH_OCTETS = 64 * 1024 * 1024

_ENTRY = np.dtype(ENTRY_FIELDS)
# as they are, for a class would take thrice the time; columns that make no sense are found out by Arrow
_RECORDS = msgspec.msgpack.Decoder(list[list[Any]])
_FIELDS = Record.__struct_fields__
_COMMON = ("topic", "payload", "size", "flags")
_LISTS = msgspec.msgpack.Decoder(Lists)
_HEAD_OCTETS = PACKET_HEAD.size
#: Below so many packets, cutting them one by one is faster.
_FEW = 8
_CLIENT_COLUMNS = ("session", "protocol", "client", "principal")
_FLAGS = {"retain": RETAIN, "will": WILL}
_HAS_FLAGS, _HAS_SUBSCRIBERS = (
    np.array([number in kinds for number in range(256)])
    for kinds in ((Kind.PUBLISH, Kind.ENQUEUE), (Kind.PUBLISH, Kind.DEMAND))
)


@cache
def _kind_names() -> pa.Array:
    """Made where rows are read: Arrow imports pandas for its first array, which costs whoever only plans a second."""
    return pa.array([NAMES.get(number, f"kind-{number}") for number in range(256)])


def expand(header: Header, body: Octets, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a frame, whose body has been checked: these columns, or all. Raises `DamagedFrame` for a body
    that was never one."""
    schema = narrowed(columns)
    view = memoryview(body)
    table_octets = header.entries * ENTRY_OCTETS
    blob_at = table_octets + header.lists_octets
    try:
        entries = np.frombuffer(view[:table_octets], _ENTRY)
        lists = _Lists(_LISTS.decode(view[table_octets:blob_at]))
        if int(entries["rows"].sum()) != header.rows:
            raise DamagedFrame("the entries are for more or fewer rows than the header says")
        first = header.first
        for at, end in _portions(entries):
            portion = entries[at:end]
            rows = _Rows(schema.names)
            for _, layout, _, _, _, _, count, start, length in portion.tolist():
                rows.add(layout, count, view[blob_at + start : blob_at + start + length])
            yield _batch(schema, header, first, portion, lists, rows)
            first += int(portion["rows"].sum())
    except (msgspec.DecodeError, pa.ArrowException, struct.error, ValueError, TypeError, IndexError) as error:
        raise DamagedFrame(f"the body makes no sense: {error}") from error


def _portions(entries: Any) -> Iterator[tuple[int, int]]:
    """Ranges of entries, each for one batch."""
    begin = rows = octets = 0
    for number, (count, length) in enumerate(zip(entries["rows"].tolist(), entries["length"].tolist(), strict=True)):
        if begin < number and (rows + count > BATCH_ROWS or octets + length > BATCH_OCTETS):
            yield begin, number
            begin, rows, octets = number, 0, 0
        rows += count
        octets += length
    if rows:
        yield begin, len(entries)


class _Lists:
    """What entries name by number, as columns to be taken from."""

    def __init__(self, lists: Lists) -> None:
        clients = lists.clients
        self.session = pa.array([None, *(client.session for client in clients)], pa.int64())
        self.protocol = pa.array([None, *(client.protocol for client in clients)], pa.string())
        self.client = pa.array([None, *(client.address or None for client in clients)], pa.string())
        self.principal = pa.array([None, *(client.principal for client in clients)], pa.string())
        self.outcome = pa.array([None, *lists.outcomes], pa.string())


class _Rows:
    """What differs from row to row, as it gathers for one batch."""

    def __init__(self, wanted: Sequence[str]) -> None:
        self.count = 0
        self.wants_payload = "payload" in wanted
        #: Topics by their octets, and of each row or run its number and how many rows have it.
        self.topics: dict[bytes | None, int] = {}
        self.topic_numbers: list[int] = []
        self.topic_counts: list[int] = []
        #: Likewise sizes of payloads and flags; -1 for none.
        self.sizes: list[int] = []
        self.flags: list[int] = []
        #: The payloads, and how many of the rows have one.
        self.payloads: list[Octets] = []
        self.has_payload: list[bool] = []
        #: What records say in columns that nothing else fills, and the numbers of their rows.
        self.records: dict[str, list[Any]] = {name: [] for name in _FIELDS if name in wanted and name not in _COMMON}
        self.record_rows: list[Any] = []

    def add(self, layout: int, count: int, data: memoryview) -> None:
        """Add the rows of one entry."""
        if layout == PACKETS:
            self._add_packets(count, data)
        elif layout == HEADS:
            self._add_heads(count, data)
        else:
            self._add_records(count, data)
        self.count += count

    def _append(self, topic: bytes | None, count: int, size: int, flags: int, payload: Octets | None) -> None:
        number = self.topics.setdefault(topic, len(self.topics))
        self.topic_numbers.append(number)
        self.topic_counts.append(count)
        self.sizes.append(size)
        self.flags.append(flags)
        self.has_payload.append(payload is not None)
        if payload is not None:
            self.payloads.append(payload)

    def _add_packets(self, count: int, data: memoryview) -> None:
        flags, topic_octets, size = PACKET_HEAD.unpack_from(data)
        head_octets = _HEAD_OCTETS + topic_octets
        stride = head_octets + size
        if count >= _FEW and count * stride == len(data):
            packets = np.frombuffer(data, np.uint8).reshape(count, stride)
            if (packets[:, :head_octets] == packets[0, :head_octets]).all():
                payload = packets[:, head_octets:].tobytes() if self.wants_payload else b""
                self._append(bytes(data[_HEAD_OCTETS:head_octets]), count, size, flags, payload)
                return
        octets = bytes(data)
        at, end, unpack, number_of = 0, len(octets), PACKET_HEAD.unpack_from, self.topics.setdefault
        topics, sizes, flags_of, payloads = self.topic_numbers, self.sizes, self.flags, self.payloads
        already = len(sizes)
        while at < end:
            flags, topic_octets, size = unpack(octets, at)
            payload_at = at + _HEAD_OCTETS + topic_octets
            topics.append(number_of(octets[at + _HEAD_OCTETS : payload_at], len(self.topics)))
            sizes.append(size)
            flags_of.append(flags)
            at = payload_at + size
            payloads.append(octets[payload_at:at])
        found = len(sizes) - already
        if at != end or found != count:
            raise DamagedFrame(f"an entry of {count} packets has {found}")
        self.topic_counts += [1] * count
        self.has_payload += [True] * count

    def _add_heads(self, count: int, data: memoryview) -> None:
        octets = bytes(data)
        heads: list[tuple[bytes, int, int]] = []
        at = 0
        while at < len(octets):
            flags, topic_octets, size = PACKET_HEAD.unpack_from(octets, at)
            topic_at = at + _HEAD_OCTETS
            at = topic_at + topic_octets
            heads.append((octets[topic_at:at], size, flags))
        if len(heads) not in (1, count):
            raise DamagedFrame(f"an entry of {count} heads has {len(heads)}")
        for topic, size, flags in heads:
            self._append(topic, count if len(heads) == 1 else 1, size, flags, None)

    def _add_records(self, count: int, data: memoryview) -> None:
        rows = _RECORDS.decode(data)
        if len(rows) != count:
            raise DamagedFrame(f"an entry of {count} records has {len(rows)}")
        columns = dict(zip(_FIELDS, zip_longest(*rows), strict=False))
        nothing = (None,) * count
        topics, payloads, sizes, flags = (columns.get(name, nothing) for name in ("topic", "payload", "size", "flags"))
        number_of = self.topics.setdefault
        self.topic_numbers += [number_of(topic, len(self.topics)) for topic in topics]
        self.topic_counts += [1] * count
        self.sizes += [-1 if size is None else size for size in sizes]
        self.flags += [each or 0 for each in flags]
        self.has_payload += [payload is not None for payload in payloads]
        self.payloads += [payload for payload in payloads if payload is not None]
        for name, values in self.records.items():
            values += columns.get(name, nothing)
        self.record_rows.append(np.arange(self.count, self.count + count))


def _batch(schema: pa.Schema, header: Header, first: int, entries: Any, lists: _Lists, rows: _Rows) -> pa.RecordBatch:
    counts = entries["rows"].astype(np.int64)
    total = int(counts.sum())
    runs = np.array(rows.topic_counts, np.int64)

    def per_entry(field: str) -> Any:
        return np.repeat(entries[field], counts)

    def per_run(values: Sequence[Any], kind: Any) -> Any:
        return np.repeat(np.array(values, kind), runs)

    def column(name: str, kind: pa.DataType) -> pa.Array:
        if name == "offset":
            return pa.array(np.arange(first, first + total, dtype=np.int64))
        if name == "shard":
            return pa.array(np.full(total, header.shard, np.int32))
        if name == "boot":
            return pa.array(np.full(total, header.boot, np.int64)).view(kind)
        if name == "time":
            return pa.array(per_entry("time")).view(kind)
        if name == "kind":
            return _kind_names().take(pa.array(per_entry("kind")))
        if name in _CLIENT_COLUMNS:
            return getattr(lists, name).take(pa.array(per_entry("client")))
        if name == "topic":
            texts = [None if topic is None else topic.decode(errors="backslashreplace") for topic in rows.topics]
            return pa.array(texts, kind).take(pa.array(per_run(rows.topic_numbers, np.int32)))
        if name == "payload":
            return _payloads(rows, runs, total)
        if name == "size":
            sizes = per_run(rows.sizes, np.int32)
            return pa.array(sizes, mask=sizes < 0)
        if name in _FLAGS:
            flags = per_run(rows.flags, np.uint8) & _FLAGS[name]
            return pa.array(flags != 0, mask=~_HAS_FLAGS[per_entry("kind")])
        if name == "subscribers":
            return pa.array(per_entry("subscribers").astype(np.int32), mask=~_HAS_SUBSCRIBERS[per_entry("kind")])
        if name == "outcome":
            return lists.outcome.take(pa.array(per_entry("outcome")))
        return _from_records(name, kind, rows, total)

    return pa.RecordBatch.from_arrays([column(field.name, field.type) for field in schema], schema=schema)


def _payloads(rows: _Rows, runs: Any, total: int) -> pa.Array:
    is_there = np.array(rows.has_payload, bool)
    lengths = np.repeat(np.where(is_there, np.array(rows.sizes, np.int64), 0), runs)
    offsets = np.zeros(total + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    validity = None if is_there.all() else pa.array(np.repeat(is_there, runs)).buffers()[1]
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(b"".join(rows.payloads))]
    return pa.Array.from_buffers(pa.binary(), total, buffers)


def _from_records(name: str, kind: pa.DataType, rows: _Rows, total: int) -> pa.Array:
    """A column that only records fill."""
    values = rows.records[name]
    if values.count(None) == len(values):
        return pa.nulls(total, kind)
    if name == "properties":
        values = [list(value.items()) if value else None for value in values]
    if len(values) == total:
        return pa.array(values, kind)
    numbers = np.full(total, -1, np.int64)
    numbers[np.concatenate(rows.record_rows)] = np.arange(len(values))
    return pa.array(values, kind).take(pa.array(numbers, mask=numbers < 0))
