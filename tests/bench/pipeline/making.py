"""A journal of as many rows as wanted, written by our own log as a broker would, only faster than any clients could.

Six hours of traffic of 5,000 clients, some of whom send much and most little, under 2,000 topics: half of the rows in
runs, a third shuffled, the others a queue's messages with what became of them. The same seed makes the same journal.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fmqbus.journal.entries import PACKET_HEAD, PACKETS, RECORDS, Client, FrameBuilder, Record
from fmqbus.journal.kinds import Kind
from fmqbus.journal.log import Log

TOPICS, CLIENTS, PAYLOAD = 2_000, 5_000, 128
#: 2026-11-27T00:00:00Z, in microseconds, and for how long the traffic goes on.
START, SPAN = 1_795_737_600_000_000, 6 * 3600 * 1_000_000
#: Rows of one commit, which is one frame.
_FRAME_ROWS = 5_000
_SEGMENT_OCTETS = 256 * 1024 * 1024
#: The longest entries: of packets, and of a queue's messages.
_PACKETS, _JOBS = 120, 40
_PROTOCOLS = ("fmqp", "umq", "micromsg2", "emqp", "mtl")
_QUEUES = 20


def write_journal(root: Path, rows: int, seed: int = 1) -> None:
    """Make it below `root`, with all segments closed."""
    maker = _Maker(rows, seed)
    log = Log(root, 0, _SEGMENT_OCTETS, float("inf"), lambda: START / 1_000_000)
    log.open()
    while maker.made < rows:
        log.commit([maker.frame(min(_FRAME_ROWS, rows - maker.made))])
    log.close()


class _Maker:
    """What the clients do, frame by frame."""

    def __init__(self, rows: int, seed: int) -> None:
        self.made = 0
        self._rows = rows
        self._dice = np.random.default_rng(seed)
        self._builder = FrameBuilder(0, START)
        self._clients = [
            Client(n + 1, _PROTOCOLS[n % 5], f"10.0.{n >> 8}.{n & 255}:{20_000 + n}", f"user-{n}" if n % 2 else None)
            for n in range(CLIENTS)
        ]
        weights = 1 / np.arange(1, CLIENTS + 1)
        self._shares = np.cumsum(weights / weights.sum())
        self._heads = [
            np.frombuffer(PACKET_HEAD.pack(0, len(name), PAYLOAD) + name, np.uint8)
            for name in (b"plant/%03d/sensor/%03d" % (n % 100, n // 100) for n in range(TOPICS))
        ]
        reading = b'{"n":@@@@@@@@,"at":@@@@@@@@@@,"t":@@.@@@@,"h":@@.@@@@,"state":"@@@@","unit":"C","from":"@@@@@@@@"}'
        self._form = np.frombuffer(reading.ljust(PAYLOAD), np.uint8)
        self._digits = np.flatnonzero(self._form == ord("@"))
        self._numbers = iter(range(rows))

    def frame(self, rows: int) -> FrameBuilder:
        """The next rows, up to the next commit; a frame has a queue's messages whole, so it may have fewer."""
        builder, dice = self._builder, self._dice
        builder.clear()
        while builder.rows < rows:
            left = rows - builder.rows
            time = START + (self.made + builder.rows) * SPAN // self._rows
            client = self._clients[int(np.searchsorted(self._shares, dice.random()))]
            chance = dice.random()
            # by entries, which have different lengths, so that the rows are in these shares
            if chance < 0.57 or left < 3:
                self._add_packets(client, time, min(left, int(dice.integers(1, _PACKETS))), is_run=True)
            elif chance < 0.86:
                self._add_packets(client, time, min(left, int(dice.integers(1, _PACKETS))), is_run=False)
            else:
                self._add_jobs(client, time, min(left // 3, int(dice.integers(1, _JOBS))))
        self.made += builder.rows
        return builder

    def _add_packets(self, client: Client, time: int, count: int, is_run: bool) -> None:
        payloads = np.tile(self._form, (count, 1))
        payloads[:, self._digits] = self._dice.integers(48, 58, (count, len(self._digits)), dtype=np.uint8)
        if is_run:
            heads = np.tile(self._heads[int(self._dice.integers(TOPICS))], (count, 1))
        else:
            heads = np.stack([self._heads[n] for n in self._dice.integers(0, TOPICS, count)])
        data = np.hstack([heads, payloads]).tobytes()
        self._builder.add(Kind.PUBLISH, PACKETS, client, time, count, data, int(self._dice.integers(4)))

    def _add_jobs(self, client: Client, time: int, count: int) -> None:
        """Put in, handed over, and accepted; or given back, and handed over again later, which never comes."""
        job, queue = b'{"job":"resize","width":640}', b"jobs/%d" % self._dice.integers(_QUEUES)
        numbers = [next(self._numbers) for _ in range(count)]
        last = Kind.SETTLE if self._dice.random() < 0.95 else Kind.RELEASE
        waits = self._dice.integers(1_000, 200_000, count).tolist()
        steps: Any = (
            (Kind.ENQUEUE, [Record(queue, job, len(job), {"n": str(n)}, message_id=n, priority=0) for n in numbers]),
            (Kind.DELIVER, [Record(queue, None, len(job), message_id=n, deliveries=1) for n in numbers]),
            (
                last,
                [
                    Record(queue, None, len(job), message_id=n, deliveries=1, latency_us=wait)
                    for n, wait in zip(numbers, waits, strict=True)
                ],
            ),
        )
        for at, (kind, records) in enumerate(steps):
            data = self._builder.encoded(records)
            self._builder.add(kind, RECORDS, client, time + at * 50_000, len(records), data)
