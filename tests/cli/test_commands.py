"""The commands against a real bus, as a script would use them."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import Ended, run, start
from tests.live.broker import PATIENCE_SECONDS, Broker


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A bus for all tests of this file, which use topics of their own."""
    with Broker("--listen", "fmqp:tcp:0:interface=127.0.0.1") as broker:
        yield f"fmqp://127.0.0.1:{broker.port}"


def test_what_pub_has_sent_sub_prints(url: str) -> None:
    """pub waits for the listener, and ends when the bus has everything."""
    sub = start("sub", "lines/*", "--count", "3", url=url)
    pub = run("pub", url, "lines/a", "--wait-demand", said=b"one\n\x1b[2Jtwo\nthree")
    assert (pub.code, pub.output, pub.errors) == (0, b"", b"")
    ended = Ended(sub)
    assert ended.lines == ["lines/a one", r"lines/a \x1b[2Jtwo", "lines/a three"]
    assert ended.code == 0


def test_a_retained_message_is_there_for_later_subscribers(url: str) -> None:
    """In every form."""
    assert run("pub", "kept/a", "ü", "--retain", url=url).code == 0
    assert run("sub", "kept/a", "--count", "1", url=url).lines == ["kept/a ü"]
    assert run("sub", "kept/a", "--count", "1", "--hex", "--no-topic", url=url).lines == ["c3bc"]
    assert run("sub", "kept/a", "--count", "1", "--raw", url=url).output == "ü".encode()
    (line,) = run("sub", "kept/a", "--count", "1", "--json", url=url).lines
    assert json.loads(line) == {"topic": "kept/a", "payload": "ü", "retained": True, "will": False}


def test_watch_tells_who_comes_and_goes(url: str) -> None:
    """Debug subscriptions do not show; a pattern that two of ours are equivalent to is told once."""
    watch = start("watch", "watched/a", "watched/*", "--count", "2", url=url)
    sub = start("sub", "watched/a", "--count", "1", url=url)
    assert watch.stdout is not None
    assert watch.stdout.readline() == b"watched/a 1\n"
    assert run("sub", "*/a", "--debug", "--timeout", "0.1", url=url).code == 0
    assert run("pub", "watched/a", "x", url=url).code == 0
    assert Ended(sub).code == 0
    ended = Ended(watch)
    assert (ended.lines, ended.code) == (["watched/a 0"], 0)


def test_a_will_is_published_when_the_command_ends(url: str) -> None:
    """By a signal, here."""
    sub = start("sub", "wills/*", "--count", "1", "--json", url=url)
    assert run("watch", "wills/a", "--count", "1", url=url).lines == ["wills/* 1"]
    pub = start("pub", "wills/a", "gone", "--will", url=url)
    assert pub.stderr is not None
    assert pub.stderr.readline() == b"The will is set.\n"
    pub.send_signal(signal.SIGINT)
    assert Ended(pub).code == 130
    (line,) = Ended(sub).lines
    assert json.loads(line) == {"topic": "wills/a", "payload": "gone", "retained": False, "will": True}


def test_top_tells_what_goes_by(url: str) -> None:
    """As JSON for scripts, with the numbers of the bus."""
    top = start("top", "topped/*", "--json", "--interval", "0.2", url=url)
    assert top.stdout is not None
    samples = map(json.loads, top.stdout)
    assert next(samples)["topics"] == []
    assert run("pub", "topped/a", "x", "--count", "50", url=url).code == 0
    topped = next(sample for sample in samples if sample["topics"] and sample["topics"][0]["messages"] == 50)
    assert topped["topics"][0]["octets"] == 50
    assert topped["bus"]["clients"] >= 1
    top.send_signal(signal.SIGINT)
    assert Ended(top).code == 130


def test_top_tells_once_where_nobody_watches(url: str) -> None:
    """Protocols, peers, queues and topics, in lines that programs can read."""
    ended = run("top", "--interval", "0.2", url=url)
    assert ended.code == 0, ended.errors
    assert any(line.startswith("fmqbus ") and "clients" in line for line in ended.lines)
    assert "peer\tby\t\tin/s\tout/s\tkept octets\tlost\tsubscriptions" in ended.lines


def test_top_can_spare_the_bus_what_is_published(url: str) -> None:
    """Then there are no topics, and all else."""
    ended = run("top", "--no-topics", "--json", "--once", "--interval", "0.2", url=url)
    (line,) = ended.lines
    told = json.loads(line)
    assert told["topics"] == []
    assert [one["protocol"] for one in told["status"]["protocols"]] == ["fmqp"]
    assert told["status"]["complaints"] == {}
    assert run("top", "a", "--no-topics", url=url).code == 2


NOT_FOR_ALL = """\
listen = ["fmqp:tcp:0"]
[[access.rules]]
effect = "deny"
actions = ["control"]
who = ["*"]
names = ["$/manage/**"]
"""


def test_top_shows_the_rest_to_those_who_may_not_see_peers(tmp_path: Path) -> None:
    """And says which right it takes."""
    config = tmp_path / "bus.toml"
    config.write_text(NOT_FOR_ALL)
    with Broker("--config", str(config)) as broker:
        url = f"fmqp://127.0.0.1:{broker.port}"
        ended = run("top", "--interval", "0.2", url=url)
        assert ended.code == 0
        assert "the right to control $/manage/status" in ended.lines[0]
        assert "clients" in ended.lines[1]


def test_bench_measures(url: str) -> None:
    """Three measurements, an object each."""
    ended = run("bench", "--seconds", "0.2", "--subscribers", "2", "--json", url=url)
    one, fan, trips = map(json.loads, ended.lines)
    assert one["published"] == one["delivered"] + one["lost"] > 0
    assert fan["published"] * 2 == fan["delivered"] + fan["lost"] > 0
    assert 0 < trips["p50"] <= trips["p99"] <= trips["worst"]
    assert ended.code == 0


def test_sub_ends_in_success_when_time_was_all_it_was_given(url: str) -> None:
    """With a count that was not reached it is a failure."""
    assert run("sub", "silent", "--timeout", "0.1", url=url).code == 0
    assert run("sub", "silent", "--timeout", "0.1", "--count", "1", url=url).code == 4


def test_pub_gives_up_waiting_for_demand(url: str) -> None:
    """And says so."""
    ended = run("pub", "unwanted", "x", "--wait-demand", "--timeout", "0.1", url=url)
    assert ended.code == 4
    assert b"nobody listened" in ended.errors


def test_an_interrupted_command_says_so_by_its_exit_code(url: str) -> None:
    """After it has said goodbye to the bus."""
    sub = start("sub", "interrupted", url=url)
    assert run("watch", "interrupted", "--count", "1", url=url).code == 0
    sub.send_signal(signal.SIGINT)
    ended = Ended(sub)
    assert (ended.code, ended.output, ended.errors) == (130, b"", b"")


def test_a_reader_that_has_gone_ends_the_command(url: str) -> None:
    """Quietly, as other tools do."""
    with start("sub", "headed", url=url) as sub:
        assert sub.stdout is not None
        assert sub.stderr is not None
        sub.stdout.close()
        assert run("pub", "headed", "x", "--wait-demand", url=url).code == 0
        assert (sub.stderr.read(), sub.wait(PATIENCE_SECONDS)) == (b"", 141)


@pytest.mark.parametrize("target", ["fmqp://127.0.0.1:1", "fmqp+unix:///nowhere/at/all"])
def test_no_bus_is_an_exit_code_of_its_own(target: str) -> None:
    """With one line about it, and no traceback."""
    ended = run("sub", target, "a")
    assert ended.code == 3
    assert ended.errors.decode().splitlines()[0].startswith(f"Error: cannot connect to {target}: ")


def test_a_wrong_url_is_wrong_usage() -> None:
    """Whether given by word or by the environment."""
    for ended in (run("sub", "http://a", "b"), run("sub", "b", url="http://a")):
        assert ended.code == 2
        assert b"begins with none of" in ended.errors


def test_a_lost_bus_ends_pub_and_is_waited_for_by_sub() -> None:
    """What pub sent may be lost, and a script must know; sub goes on with what comes then."""
    with Broker("--listen", "fmqp:tcp:0:interface=127.0.0.1") as broker:
        url = f"fmqp://127.0.0.1:{broker.port}"
        sub = start("sub", "lost/*", "--count", "2", url=url)
        pub = start("pub", "lost/a", url=url)
        assert pub.stdin is not None
        assert sub.stdout is not None
        assert run("watch", "lost/a", "--count", "1", url=url).code == 0
        pub.stdin.write(b"before\n")
        pub.stdin.flush()
        assert sub.stdout.readline() == b"lost/a before\n"
    failed = Ended(pub)
    assert failed.code == 1
    assert b"lost the connection" in failed.errors
    with Broker("--listen", f"fmqp:tcp:{url.rpartition(':')[2]}:interface=127.0.0.1"):
        assert run("pub", "lost/a", "after", "--wait-demand", url=url).code == 0
        ended = Ended(sub)
    assert (ended.lines, ended.code) == (["lost/a after"], 0)
    assert ended.errors.decode().splitlines() == ["The connection is lost; trying again.", "Connected again."]


@pytest.mark.parametrize(("topic", "code"), [("$/signals/stop", 0), ("$/signals", 1)])
def test_the_end_of_the_connection_is_the_answer_to_a_signal(topic: str, code: int) -> None:
    """A bus that was told to end may be deaf before it could confirm anything. This one ends when it has read it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        pub = start("pub", f"fmqp://127.0.0.1:{listener.getsockname()[1]}", topic, "now")
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as said:
            while topic.encode() not in said.read1():
                pass
        listener.close()
        assert Ended(pub).code == code


def test_raw_octets_are_not_sent_to_a_terminal() -> None:
    """They could do anything to it."""
    terminal, child_side = os.openpty()
    ended = Ended(start("sub", "a", "--raw", output=child_side))
    os.close(terminal)
    os.close(child_side)
    assert ended.code == 2
    assert b"--hex" in ended.errors
