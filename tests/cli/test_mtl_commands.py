"""The commands over MTL, against a real bus, as a script would use them."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.auth.users import write
from tests.cli.commands import Ended, run, start
from tests.live.broker import Broker

LISTEN = "mtl:zmq:0:interface=127.0.0.1"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where a bus for all tests of this file speaks MTL; they use names of their own."""
    with Broker("--listen", LISTEN) as broker:
        yield f"mtl://127.0.0.1:{broker.port_of('mtl')}"


def test_topics(url: str) -> None:
    """What is published is printed; what is retained comes at once."""
    published = run("pub", url, "topics/a", "--retain", "--property", "city=Bern", "first")
    assert (published.code, published.errors) == (0, b"")
    with start("sub", url, "topics/*", "--count", "3", "--json") as subscribed:
        assert subscribed.stdout is not None
        kept = json.loads(subscribed.stdout.readline())
        assert (kept["payload"], kept["retained"], kept["properties"]["city"]) == ("first", True, "Bern")
        assert run("pub", url, "topics/b", said=b"second\nthird\n").code == 0
        lines = Ended(subscribed).lines
    assert [(each["topic"], each["payload"]) for each in map(json.loads, lines)] == [
        ("topics/b", "second"),
        ("topics/b", "third"),
    ]


def test_queues(url: str) -> None:
    """Lines of standard input, more than the window; in order, and accepted."""
    lines = [f"line {number}" for number in range(250)]
    sent = run("send", url, "lines", said="\n".join(lines).encode())
    assert (sent.code, sent.errors) == (0, b"")
    consumed = run("consume", url, "lines", "--count", "250", "--window", "10")
    assert (consumed.lines, consumed.code, consumed.errors) == (lines, 0, b"")
    assert run("consume", url, "lines", "--timeout", "0.3").lines == []


def test_what_is_not_accepted_comes_back_at_once(url: str) -> None:
    """Marked as redelivered; no more than the window is taken away from others meanwhile."""
    assert run("send", url, "kept", "--priority", "5", "--count", "3", "x").code == 0
    with start("consume", url, "kept", "--ack", "never", "--window", "2") as holding:
        assert holding.stdout is not None
        assert [holding.stdout.readline() for _ in range(2)] == [b"x\n"] * 2
        others = run("consume", url, "kept", "--timeout", "0.5", "--ack", "never", "--json")
        assert len(others.lines) == 1
        holding.send_signal(signal.SIGINT)
        assert Ended(holding).code == 130
    again = run("consume", url, "kept", "--count", "3", "--json")
    assert [json.loads(line)["redelivered"] for line in again.lines] == [True] * 3


def test_the_profile_of_the_specification(url: str) -> None:
    """It confirms nothing (MTL, The Test Profile), and has one resource."""
    there = f"{url}?profile=test&confirm=none"
    with start("sub", there, "resource", "--count", "1") as subscribed:
        assert subscribed.stdout is not None
        while subscribed.poll() is None:
            # nothing is kept for those who come later, and nobody tells when they have come
            assert run("pub", there, "resource", "x").code == 0
        assert Ended(subscribed).lines == ["resource x"]
    failed = run("pub", f"{url}?profile=test", "resource", "x")
    assert (failed.code, b"501" in failed.errors) == (1, True)


def test_what_cannot_be_had(url: str) -> None:
    """Each has its exit code."""
    missing = run("pub", f"{url}?profile=vendor", "a", "x")
    assert (missing.code, b"the bus has no profile vendor" in missing.errors) == (1, True)
    wrong = run("pub", f"{url}?confirm=some", "a", "x")
    assert (wrong.code, b"confirm is none or full" in wrong.errors) == (2, True)


def test_who_logs_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the URL says, or else the environment, here over MicroMsg2 too; without a login nobody is let in."""
    secret = tmp_path / "secret"
    secret.write_text("open sesame\n")
    config = tmp_path / "bus.toml"
    other = "micromsg2:tcp:0:interface=127.0.0.1"
    config.write_text(f'listen = ["{LISTEN}", "{other}"]\n[users]\nfile = "{write(tmp_path / "users.json")}"\n')
    with Broker("--config", str(config)) as broker:
        where = f"127.0.0.1:{broker.port_of('mtl')}"
        assert run("pub", f"mtl://anna@{where}?password-file={secret}", "a", "x").code == 0
        refused = run("pub", f"mtl://bo@{where}?password-file={secret}", "a", "x")
        assert (refused.code, b"the login has failed" in refused.errors) == (3, True)
        assert run("pub", f"mtl://{where}", "a", "x").code == 3
        monkeypatch.setenv("FMQBUS_USER", "anna")
        monkeypatch.setenv("FMQBUS_PASSWORD_FILE", str(secret))
        for url in (f"mtl://{where}", f"micromsg2://127.0.0.1:{broker.port_of('micromsg2')}"):
            assert run("pub", url, "a", "x").code == 0
            monkeypatch.setenv("FMQBUS_USER", "bo")
            assert run("pub", url, "a", "x").code == 3
            monkeypatch.setenv("FMQBUS_USER", "anna")
