"""The commands over UMQ, against a real bus, as a script would use them."""

from __future__ import annotations

import base64
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.commands import Ended, run, start
from tests.live.broker import Broker


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where a bus for all tests of this file speaks UMQ; they use names of their own."""
    with Broker("--listen", "umq:tcp:0:interface=127.0.0.1") as broker:
        yield f"ws://127.0.0.1:{broker.port_of('umq')}/umq"


@contextmanager
def serving(url: str, method: str, program: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program that answers calls; it is interrupted in the end."""
    code = f"import sys, json; arguments = json.load(sys.stdin); {program}"
    process = start("serve", method, "--exec", f'{sys.executable} -c "{code}"', *options, url=url)
    assert process.stderr is not None
    assert process.stderr.readline() == f"Serving {method}.\n".encode()
    yield process
    process.send_signal(signal.SIGINT)
    assert Ended(process).code == 130


def test_a_program_answers_calls(url: str) -> None:
    """Arguments are JSON where they can be, and text elsewhere; so is the result."""
    with serving(url, "echo", "print(json.dumps(arguments))"):
        called = run("call", url, "echo", "1", "two", '{"three": [3]}', '"4"')
        assert (called.lines, called.code) == (['[1, "two", {"three": [3]}, "4"]'], 0)
    with serving(url, "text", "print('not', 'json')"):
        assert run("call", url, "text").lines == ["not json"]
        assert json.loads(run("call", url, "text", "--json").output) == {"result": "not json"}
    with serving(url, "octets", "sys.stdout.buffer.write(bytes([255, 0]))"):
        answer = {"result": None, "attachments": [{"base64": base64.b64encode(b"\xff\0").decode()}]}
        assert json.loads(run("call", url, "octets", "--json").output) == answer


def test_a_program_that_fails_is_a_call_that_fails(url: str) -> None:
    """With its exit code and what it complained of; so is one that is too slow."""
    with serving(url, "fails", "sys.exit('no such thing')"):
        called = run("call", url, "fails")
        assert (called.output, called.errors, called.code) == (b"", b"Error: 1 no such thing\n", 1)
    with serving(url, "slow", "import time; time.sleep(60)", "--timeout", "0.3"):
        assert b"longer than 0.3 s" in run("call", url, "slow").errors


def test_calls_that_do_not_come_to_an_answer(url: str) -> None:
    """Each has its exit code."""
    assert run("call", url, "nobody").code == 1
    assert b"7 " in run("call", url, "nobody").errors
    with serving(url, "sleeps", "import time; time.sleep(60)"):
        assert run("call", url, "sleeps", "--timeout", "0.3").code == 4
    assert run("call", "ws://127.0.0.1:1", "x").code == 3


def test_a_file_can_be_attached(url: str, tmp_path: Path) -> None:
    """As the payload of a message, for example."""
    file = tmp_path / "file"
    file.write_bytes(b"\xff\xfe")
    with_file = run("call", url, "retain", "kept/file", "--attach", str(file))
    assert (with_file.lines, with_file.code) == (["null"], 0)
    assert run("sub", url, "kept/*", "--count", "1", "--hex").lines == ["kept/file fffe"]


def test_topics(url: str) -> None:
    """What is published is printed, and watchers are told."""
    watching = start("watch", url, "topics/a", "--count", "2")
    subscribed = start("sub", url, "topics/*", "--count", "3")
    assert watching.stdout is not None
    assert watching.stdout.readline() == b"topics/* 1\n"
    published = run("pub", url, "topics/a", "--wait-demand", "--count", "3", "message")
    assert (published.code, published.errors) == (0, b"")
    assert Ended(subscribed).lines == ["topics/a message"] * 3
    assert Ended(watching).lines == ["topics/* 0"]


def test_queues(url: str) -> None:
    """Lines of standard input, more than the window; in order, and accepted."""
    lines = [f"line {number}" for number in range(250)]
    sent = run("send", url, "lines", said="\n".join(lines).encode())
    assert (sent.code, sent.errors) == (0, b"")
    consumed = run("consume", url, "lines", "--count", "250", "--window", "10")
    assert (consumed.lines, consumed.code, consumed.errors) == (lines, 0, b"")
    assert run("consume", url, "lines", "--timeout", "0.3").lines == []
