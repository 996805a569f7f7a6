"""Measure what a message takes in the journal: ``python -m tests.bench.journal_size``; ``--smoke`` writes nothing."""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from fmqbus.journal.folder import JournalFolder
from fmqbus.journal.sealing import SealSettings, seal
from fmqbus.protocols.fmqp.codec import encode
from tests import measured
from tests.live.broker import Broker
from tests.live.test_process import settle

PAGE = Path(__file__).parents[2] / "docs" / "pipeline" / "journal.md"

#: What is sent → its payloads' sizes, how many topics there are, what is kept.
CASES = {
    "1 topic, 16 B": (16, 16, 1, "full"),
    "1 topic, 128 B": (128, 128, 1, "full"),
    "1 topic, 1 KiB": (1024, 1024, 1, "full"),
    "1,000 topics shuffled, 16 B to 2 KiB": (16, 2048, 1000, "full"),
    "1 topic, 128 B, payload not kept": (128, 128, 1, "heads"),
    "1,000 topics shuffled, payloads not kept": (16, 2048, 1000, "heads"),
}


def main() -> None:
    arguments = argparse.ArgumentParser("python -m tests.bench.journal_size", description=__doc__)
    arguments.add_argument("--smoke", action="store_true", help="a few messages; the page stays as it is")
    arguments.add_argument("--messages", type=int, default=200_000)
    chosen = arguments.parse_args()
    rows = []
    for name, case in CASES.items():
        payload, log, table = _measure(1_000 if chosen.smoke else chosen.messages, *case)
        rows.append((name, f"{payload:,.1f}", f"{log:,.1f}", f"{table:,.1f}"))
        print(*rows[-1], sep="\t", flush=True)
    if not chosen.smoke:
        text = measured.table(("messages", "payload", "in the log", "in a table"), ("---", "--:", "--:", "--:"), rows)
        measured.write(PAGE, "journal-size", text, "python -m tests.bench.journal_size")


def _measure(count: int, least: int, most: int, topics: int, keep: str) -> tuple[float, float, float]:
    """Octets of the payload, in the log and in a table, for one message."""
    with tempfile.TemporaryDirectory() as name:
        root, config = Path(name, "journal"), Path(name, "bus.toml")
        config.write_text(f'listen = ["fmqp:tcp:0"]\n[journal]\npath = "{root}"\nkeep = "{keep}"\n')
        with Broker("--config", str(config)) as broker:
            with broker.connect() as client:
                payload = 0
                for chunk, octets in _publications(count, least, most, topics):
                    client.sendall(chunk)
                    payload += octets
                settle(client)
            assert broker.stop() == 0
        (segment,) = JournalFolder(root).pieces(0)
        (table,) = seal(root, SealSettings(wait_seconds=0.0), time.time()).tables
        return payload / count, segment.octets / count, table.octets / count


def _publications(count: int, least: int, most: int, topics: int) -> Iterator[tuple[bytes, int]]:
    """A thousand at a time, with the octets of their payloads."""
    dice = random.Random(1)
    for begin in range(0, count, 1_000):
        packets, octets = [], 0
        for _ in range(min(1_000, count - begin)):
            size = dice.randint(least, most)
            warmth, damp = dice.gauss(20, 5), dice.random() * 100
            reading = f'{{"id":{dice.randrange(10_000)},"t":{warmth:.3f},"h":{damp:.1f},"state":"ok"}}'
            body = (reading * (1 + size // len(reading)))[:size].encode()
            packets.append(encode(0, b"plant/%d/sensor" % dice.randrange(topics), body))
            octets += size
        yield b"".join(packets), octets


if __name__ == "__main__":
    main()
