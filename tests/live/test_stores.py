"""What a broker keeps from one life to the next."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fmqbus.protocols.fmqp.codec import CACHE, SUBSCRIPTION, encode
from tests.live.broker import PATIENCE_SECONDS, Broker
from tests.live.test_process import receive, settle


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Where the broker keeps what it keeps."""
    return tmp_path / "lib" / "bus.db"


@pytest.fixture
def broker(tmp_path: Path, database: Path) -> Callable[[str], Broker]:
    """Make brokers over the same database, one after the other."""
    config = tmp_path / "bus.toml"

    def make(options: str = "") -> Broker:
        config.write_text(
            'listen = ["fmqp:tcp:0", "fmqp:tcp:0:interface=127.0.0.1"]\nretained_store = "sqlite"\n'
            f'message_store = "sqlite"\n[stores.sqlite]\npath = "{database}"\n{options}'
        )
        return Broker("--config", str(config))

    return make


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_retained_message_outlives_the_broker(
    broker: Callable[[], Broker], database: Path, end: signal.Signals
) -> None:
    """Subscribers of the next one get it at once; also where the process was not asked to end."""
    with broker() as first:
        with first.connect() as client:
            client.sendall(encode(CACHE, b"kept/a", b"old") + encode(CACHE, b"kept/b", b"x"))
            client.sendall(encode(CACHE, b"kept/a", b"1"))
            settle(client)
        if end is signal.SIGKILL:
            _wait_until_written(database, b"kept/a" + b"1")
        first.signal(end)
        first.wait()
    with broker() as second:
        with second.connect() as client:
            client.sendall(encode(SUBSCRIPTION, b"kept/*"))
            receive(client, encode(CACHE, b"kept/b", b"x") + encode(CACHE, b"kept/a", b"1"))
            client.sendall(encode(CACHE, b"kept/a"))
            settle(client)
        assert second.stop() == 0
    with broker() as third:
        with third.connect() as client:
            client.sendall(encode(SUBSCRIPTION, b"kept/*"))
            receive(client, encode(CACHE, b"kept/b", b"x"))
        assert third.stop() == 0


def _wait_until_written(database: Path, octets: bytes) -> None:
    """Nobody is told when a retained message is on the disk."""
    log = Path(f"{database}-wal")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while octets not in log.read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_a_damaged_database_is_one_line_and_exit_code_1(broker: Callable[..., Broker], database: Path) -> None:
    """Nobody is let in; with the option, the broker puts the file aside and goes on."""
    database.parent.mkdir()
    database.write_bytes(b"this is no database, but long enough to be one" * 100)
    refusing = broker().launch()
    assert refusing.wait() == 1
    complaints = [line for line in refusing.log if line.startswith("fmqbus: ")]
    assert complaints == [
        f'fmqbus: {database}: damaged: file is not a database (damaged = "set-aside" goes on without that)'
    ]
    assert "listens at" not in refusing.text
    assert "Traceback" not in refusing.text
    with broker('damaged = "set-aside"') as going_on:
        going_on.wait_for("damaged, and put aside as .*: file is not a database. 0 rows are saved")
        assert going_on.stop() == 0
    (aside,) = database.parent.glob("bus.db.damaged-*")
    assert aside.read_bytes().startswith(b"this is no database")


def test_a_database_that_another_broker_has_open_is_refused(broker: Callable[[], Broker], database: Path) -> None:
    """The first one is not disturbed."""
    with broker() as first:
        second = broker().launch()
        assert second.wait() == 1
        assert f"fmqbus: {database}: another broker has it open" in second.log
        with first.connect() as client:
            settle(client)
        assert first.stop() == 0
