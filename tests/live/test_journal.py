"""The journal of a real broker: what readers have seen is there for ever, however the broker ends."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from fmqbus.journal.folder import JournalFolder
from fmqbus.protocols.fmqp.codec import encode
from tests.live.broker import PATIENCE_SECONDS, Broker
from tests.live.test_process import settle

RANDOM = Random(5)


@pytest.fixture
def journal(tmp_path: Path) -> JournalFolder:
    """Where the broker keeps it."""
    return JournalFolder(tmp_path / "lib" / "journal")


def make_broker(journal: JournalFolder) -> Broker:
    """A broker that journals all."""
    return Broker("--listen", "fmqp:tcp:0:interface=127.0.0.1", "--journal", str(journal.path))


def wait_until(is_so: Callable[[], bool]) -> None:
    """Look again and again."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not is_so():
        assert time.monotonic() < end, "it has not come"
        time.sleep(0.005)


def publications(life: int) -> Iterator[bytes]:
    """Without end: numbered by payload, in runs and shuffled, of all sizes."""
    number = 0
    while True:
        chunk = b""
        is_run = RANDOM.random() < 0.5
        for _ in range(RANDOM.randint(1, 300)):
            topic = b"run" if is_run else b"shuffled/%d" % RANDOM.randrange(20)
            payload = b"%d:%09d:" % (life, number)
            chunk += encode(0, topic, payload if is_run else payload.ljust(RANDOM.randint(12, 500), b"."))
            number += 1
        yield chunk


def flood(connection: socket.socket, life: int) -> None:
    """Publish until the broker is no more; not as fast as can be, for all of it is read again."""
    pace = threading.Event()
    try:
        for chunk in publications(life):
            connection.sendall(chunk)
            pace.wait(0.005)
    except OSError:
        pass


def test_killed_at_random_moments_it_gives_each_offset_once_and_takes_nothing_back(journal: JournalFolder) -> None:
    """A reader that has followed all the time has seen just what is there in the end."""
    seen: list[pa.Table] = []
    at = 0

    def follow() -> None:
        nonlocal at
        end = journal.end(0)
        if end > at:
            seen.append(pa.Table.from_batches(journal.read(0, at, end)))
            at = end

    lives = 4
    for life in range(lives):
        with make_broker(journal) as broker:
            before = journal.end(0)
            with broker.connect() as connection:
                sender = threading.Thread(target=flood, args=(connection, life))
                sender.start()
                for _ in range(RANDOM.randint(1, 4)):
                    former = journal.end(0)
                    wait_until(lambda former=former: journal.end(0) > former)  # type: ignore[misc]
                    follow()
                broker.signal(signal.SIGKILL)
                broker.wait()
                sender.join()
            assert journal.end(0) > before
    with make_broker(journal) as broker:
        assert broker.stop() == 0
    follow()
    everything = pa.concat_tables(seen)
    assert pa.Table.from_batches(journal.read(0, 0, journal.end(0))).equals(everything.combine_chunks())
    assert everything["offset"].to_pylist() == list(range(journal.end(0)))
    numbers: dict[int, list[int]] = {life: [] for life in range(lives)}
    for kind, payload in zip(everything["kind"].to_pylist(), everything["payload"].to_pylist(), strict=True):
        if kind == "publish":
            life, number, _ = payload.split(b":", 2)
            numbers[int(life)].append(int(number))
    # what is gathered for one receiver may pass what is not, but of all that is there, nothing is missing before it
    assert all(sorted(each) == list(range(len(each))) for each in numbers.values())
    assert all(numbers.values())


def test_a_clean_end_leaves_nothing_out(journal: JournalFolder) -> None:
    """All that the broker had read is there, in a segment that can be sealed."""
    with make_broker(journal) as broker:
        with broker.connect() as client:
            client.sendall(b"".join(encode(0, b"t", b"%d" % number) for number in range(5_000)))
            settle(client)
        assert broker.stop() == 0
    rows = pa.Table.from_batches(journal.read(0, 0, journal.end(0), ["kind", "payload"])).to_pylist()
    payloads = [row["payload"] for row in rows if row["kind"] == "publish" and row["payload"].isdigit()]
    assert payloads == [b"%d" % number for number in range(5_000)]
    assert [piece.is_closed() for piece in journal.pieces(0)] == [True]


def test_a_second_broker_needs_a_shard_of_its_own(journal: JournalFolder, tmp_path: Path) -> None:
    """Else it does not start, and says why; with one, both write into the same journal."""
    config = tmp_path / "second.toml"
    config.write_text(f'listen = ["fmqp:tcp:0"]\n[journal]\npath = "{journal.path}"\nshard = 1\n')
    with make_broker(journal) as broker:
        second = make_broker(journal).launch()
        second.wait_for("another broker writes it; give each a shard of its own")
        assert second.wait() == 1
        with Broker("--config", str(config)) as third:
            for one in (broker, third):
                with one.connect() as client:
                    settle(client)
                assert one.stop() == 0
    assert journal.shards() == [0, 1]
    assert all(journal.end(shard) > 0 for shard in (0, 1))
