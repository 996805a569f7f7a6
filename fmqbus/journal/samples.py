"""Journals for tests and benchmarks, of as many rows as wanted, without a broker.

The traffic is made up but lifelike: runs of publications of a few clients to many topics, some of one size and some
not, a queue's messages with their fates, calls, demand, connections. The same seed makes the same journal.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fmqbus.journal.entries import FRAME_OCTETS, HEADS, PACKET_HEAD, PACKETS, RECORDS, Client, FrameBuilder, Record
from fmqbus.journal.frames import Header, parse_header
from fmqbus.journal.kinds import Kind
from fmqbus.journal.places import Head, SegmentLine, head_path, index_path, line_from, log_folder
from fmqbus.journal.segments import CLOSED, OPEN, segment_name

#: 2026-01-01T00:00:00Z.
START = 1_767_225_600_000_000
_PROTOCOLS = ("fmqp", "umq", "micromsg2", "emqp", "mtl")
_CLIENTS = [
    Client(
        number + 1, _PROTOCOLS[number % 5], f"10.0.0.{number}:{4000 + number}", f"user-{number}" if number % 2 else None
    )
    for number in range(20)
]


def frames(
    rows: int,
    *,
    first: int = 0,
    shard: int = 0,
    seed: int = 1,
    topics: int = 200,
    run: int = 100,
    payload: int = 128,
    frame_rows: int = 10_000,
    start: int = START,
    rate: float = 20_000.0,
) -> Iterator[tuple[int, bytes]]:
    """Yield first offset and octets of frames that together have exactly so many rows, as a broker would have written
    them at so many rows a second: runs of `run` publications on average, with payloads of so many octets. Some 15 rows
    in a hundred are of a queue's messages."""
    dice = random.Random(seed)
    builder = FrameBuilder(shard, start)
    made, message_id, frame_first = 0, 0, first
    while made < rows:
        now = start + int(made / rate * 1_000_000)
        client = dice.choice(_CLIENTS)
        left = rows - made
        if left >= 3 and dice.random() < 0.15:
            messages = min(dice.randint(1, run), left // 3)
            _add_jobs(builder, dice, client, now, range(message_id, message_id + messages))
            message_id += messages
            made += 3 * messages
        else:
            count = min(left, dice.randint(1, 2 * run))
            topic = b"plant/%d/sensor/%d" % (dice.randrange(20), dice.randrange(topics))
            _add_run(builder, dice, client, now, topic, count, payload)
            made += count
        if builder.rows >= frame_rows or made >= rows or builder.octets >= FRAME_OCTETS // 2:
            yield frame_first, b"".join(builder.finish(frame_first))
            frame_first += builder.rows
            builder.clear()


def _add_run(
    builder: FrameBuilder, dice: random.Random, client: Client, now: int, topic: bytes, count: int, payload: int
) -> None:
    """Publications, most of them of one size; of a few only the heads."""
    sizes = [payload] * count if dice.random() < 0.8 else [dice.randint(1, 2 * payload) for _ in range(count)]
    heads = [PACKET_HEAD.pack(0, len(topic), size) + topic for size in sizes]
    if dice.random() < 0.05:
        data, layout = b"".join(heads), HEADS
    else:
        numbered = enumerate(zip(heads, sizes, strict=True))
        data, layout = b"".join(head + _reading(size, number) for number, (head, size) in numbered), PACKETS
    builder.add(Kind.PUBLISH, layout, client, now, count, data, dice.randrange(4))


def _add_jobs(builder: FrameBuilder, dice: random.Random, client: Client, now: int, numbers: range) -> None:
    """Messages of a queue: put in, handed over, and settled in one way or the other."""
    job = b'{"job":"resize","width":640}'
    last = dice.choices((Kind.SETTLE, Kind.RELEASE, Kind.REJECT), (90, 7, 3))[0]
    records = {
        Kind.ENQUEUE: [Record(b"jobs", job, len(job), {"n": str(n)}, message_id=n, priority=0) for n in numbers],
        Kind.DELIVER: [Record(b"jobs", None, len(job), message_id=n, deliveries=1) for n in numbers],
        last: [Record(b"jobs", None, len(job), message_id=n, deliveries=1, latency_us=50_000) for n in numbers],
    }
    for step, (kind, rows) in enumerate(records.items()):
        builder.add(kind, RECORDS, client, now + 50_000 * step, len(rows), builder.encoded(rows))


def _reading(octets: int, number: int) -> bytes:
    """A payload of this length, as a sensor might send it."""
    return (b'{"n":%d,"v":%d.%04d}' % (number, number % 97, number % 9973))[:octets].ljust(octets, b".")


def write_sample(
    root: Path, rows: int, *, shard: int = 0, segment_rows: int = 100_000, is_open: bool = True, **options: Any
) -> None:
    """Make a journal below `root`, as a broker leaves it: closed segments, and the last one open if it `is_open`.

    `options` are those of `frames`.
    """
    folder = log_folder(root, shard)
    folder.mkdir(parents=True)
    first = options.get("first", 0)
    headers: list[Header] = []
    end = first
    file = folder.joinpath(segment_name(first, OPEN)).open("wb")

    def close() -> None:
        line = SegmentLine(
            headers[0].first,
            headers[-1].end,
            min(header.earliest for header in headers),
            max(header.latest for header in headers),
            file.tell(),
        )
        file.close()
        with index_path(root, shard).open("ab") as index:
            index.write(line_from(line))
        os.rename(folder / segment_name(line.first, OPEN), folder / segment_name(line.first, CLOSED))
        headers.clear()

    for at, octets in frames(rows, shard=shard, **options):
        if headers and at - headers[0].first >= segment_rows:
            close()
            file = folder.joinpath(segment_name(at, OPEN)).open("wb")
        file.write(octets)
        headers.append(parse_header(octets))
        end = headers[-1].end
    if not is_open:
        close()
        file = folder.joinpath(segment_name(end, OPEN)).open("wb")
    head = Head(end, headers[0].first if headers else end, file.tell())
    file.close()
    head_path(root, shard).write_bytes(head.encode())
