"""The commands for queues, and those for topics over MicroMsg2, against a real bus, as a script would use them."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import pytest

from tests.cli.commands import Ended, run, start
from tests.live.broker import Broker

LISTEN = ("--listen", "fmqp:tcp:0:interface=127.0.0.1", "--listen", "micromsg2:tcp:0:interface=127.0.0.1")


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A bus for all tests of this file, which use queues and topics of their own."""
    with Broker(*LISTEN) as broker:
        yield broker


@pytest.fixture
def url(broker: Broker) -> str:
    """Where it speaks MicroMsg2."""
    return f"micromsg2://127.0.0.1:{broker.port_of('micromsg2')}"


@pytest.fixture
def fmqp_url(broker: Broker) -> str:
    """Where it speaks FMQP."""
    return f"fmqp://127.0.0.1:{broker.port_of('fmqp')}"


def is_gone(queue: str, url: str) -> bool:
    """Whether everything in a queue has been accepted."""
    return b"no such queue" in run("queue", "show", queue, url=url).errors


def test_what_send_has_sent_consume_prints(url: str) -> None:
    """Lines of standard input, more than the window; in order, and accepted."""
    lines = [f"line {number}" for number in range(250)]
    sent = run("send", url, "lines", said="\n".join(lines).encode())
    assert (sent.code, sent.output, sent.errors) == (0, b"", b"")
    consumed = run("consume", "lines", "--count", "250", url=url)
    assert (consumed.lines, consumed.code, consumed.errors) == (lines, 0, b"")
    assert is_gone("lines", url)


def test_terms_and_properties_go_with_a_message(url: str) -> None:
    """The higher priority comes first."""
    assert run("send", "terms", "low", url=url).code == 0
    high = run("send", "terms", "high", "--priority", "5", "--property", "city=Bern", "--ttl", "60", url=url)
    assert high.code == 0
    first, second = run("consume", "terms", "--count", "2", "--json", url=url).lines
    assert json.loads(first) == {
        "queue": "terms",
        "payload": "high",
        "properties": {"city": "Bern", "priority": "5", "ttl": "60.0"},
        "redelivered": False,
        "deliveries": 1,
    }
    assert json.loads(second)["payload"] == "low"


def test_a_message_that_is_never_accepted_comes_back(url: str) -> None:
    """Marked as redelivered."""
    assert run("send", "back", "x", "--count", "2", url=url).code == 0
    looked = run("consume", "back", "--ack", "never", "--timeout", "0.5", url=url)
    assert (looked.lines, looked.code, looked.errors) == (["x", "x"], 0, b"")
    (line,) = run("consume", "back", "--count", "1", "--json", url=url).lines
    assert json.loads(line)["redelivered"]


def test_a_script_can_say_when_it_is_done(url: str) -> None:
    """A line on standard input for each message; what it has not said so of comes again."""
    assert run("send", "scripted", said=b"1\n2\n3", url=url).code == 0
    script = start("consume", "scripted", "--ack", "stdin", url=url)
    assert script.stdin is not None
    assert script.stdout is not None
    for _ in range(2):
        script.stdout.readline()
        script.stdin.write(b"done\n")
        script.stdin.flush()
    assert script.stdout.readline() == b"3\n"
    assert Ended(script).code == 0
    assert run("consume", "scripted", "--count", "1", url=url).lines == ["3"]


def test_a_script_that_accepts_what_it_never_got_is_told(url: str) -> None:
    """It has lost count."""
    ended = run("consume", "nothing", "--ack", "stdin", said=b"done\n", url=url)
    assert ended.code == 1
    assert b"no message" in ended.errors


def test_an_interrupted_consumer_leaves_in_good_order(url: str) -> None:
    """What it has printed is accepted."""
    consumer = start("consume", "interrupted", url=url)
    assert run("send", "interrupted", "x", url=url).code == 0
    assert consumer.stdout is not None
    assert consumer.stdout.readline() == b"x\n"
    consumer.send_signal(signal.SIGINT)
    ended = Ended(consumer)
    assert (ended.code, ended.errors) == (130, b"")
    assert is_gone("interrupted", url)


def test_a_queue_that_cannot_be_is_told_of_with_the_bus_s_own_words(url: str) -> None:
    """Whether sent to or consumed."""
    for ended in (run("send", "$/no", "x", url=url), run("consume", "$/no", url=url)):
        assert ended.code == 1
        assert b"below $" in ended.errors


def test_send_goes_on_when_the_bus_comes_back() -> None:
    """And ends when all is acknowledged."""
    with Broker("--listen", "micromsg2:tcp:0:interface=127.0.0.1") as broker:
        url = f"micromsg2://127.0.0.1:{broker.port}"
        send = start("send", "restarted", url=url)
        consume = start("consume", "restarted", "--count", "1", url=url)
        assert send.stdin is not None
        send.stdin.write(b"before\n")
        send.stdin.flush()
        assert Ended(consume).lines == ["before"]
    with Broker("--listen", f"micromsg2:tcp:{url.rpartition(':')[2]}:interface=127.0.0.1"):
        ended = Ended(send, b"after\n")
        assert ended.code == 0
        assert run("consume", "restarted", "--count", "1", url=url).lines == ["after"]
    assert ended.errors.decode().splitlines() == ["The connection is lost; trying again.", "Connected again."]


def test_queues_are_looked_at_over_any_protocol(url: str, fmqp_url: str) -> None:
    """All of it goes by topics."""
    assert run("send", "looked/at by", said=b"1\n\x1b[2J\n3", url=url).code == 0
    listed = [line.split("\t") for line in run("queue", "list", fmqp_url).lines]
    assert ["looked/at by", "3", "0", "0", "42", "0"] in listed
    assert "looked/at by" in [json.loads(line)["name"] for line in run("queue", "list", "--json", url=url).lines]
    assert "ready 3" in run("queue", "show", "looked/at by", url=url).lines
    peeked = [line.split("\t") for line in run("queue", "peek", fmqp_url, "looked/at by", "--count", "2").lines]
    assert [columns[1:] for columns in peeked] == [["0", "0", "1", "1"], ["0", "0", "4", r"\x1b[2J"]]
    assert run("queue", "purge", "looked/at by", url=url).lines == ["3"]
    assert run("queue", "purge", "looked/at by", "--json", url=fmqp_url).lines == ['{"purged": 0}']


def test_dead_letters_are_sent_back(url: str) -> None:
    """With one command."""
    assert run("send", "mortal", "x", "--ttl", "0", "--property", "a=b", url=url).code == 0
    (line,) = run("queue", "peek", "dead", "--json", url=url).lines
    message = json.loads(line)
    assert message["text"] == "x"
    assert message["properties"]["dead-letter-queue"] == "mortal"
    assert message["properties"]["a"] == "b"
    assert [name for name in message["properties"] if ":" in name] == []
    assert run("queue", "requeue", "dead", "--count", "5", url=url).lines == ["1"]


def test_what_the_bus_cannot_do_is_a_failure(url: str) -> None:
    """With its words."""
    ended = run("queue", "show", "never/heard/of", url=url)
    assert (ended.code, ended.errors) == (1, b"Error: there is no such queue\n")


def test_topics_go_by_micromsg2_with_properties_and_filters(url: str, fmqp_url: str) -> None:
    """To and from FMQP too."""
    assert run("pub", url, "rates/eur", "1.08", "--retain", "--property", "price=108").code == 0
    assert run("pub", fmqp_url, "rates/usd", "1.00", "--retain").code == 0
    both = run("sub", url, "rates/*", "--count", "2").lines
    assert sorted(both) == ["rates/eur 1.08", "rates/usd 1.00"]
    (line,) = run("sub", "rates/*", "--filter", "price>N100", "--count", "1", "--json", url=url).lines
    assert json.loads(line)["properties"] == {"price": "108", "retain": "1"}
    assert run("sub", fmqp_url, "rates/eur", "--count", "1").lines == ["rates/eur 1.08"]


def test_pub_and_its_will_go_by_micromsg2(url: str) -> None:
    """More lines than the window takes."""
    sub = start("sub", "bulk/*", "--count", "301", url=url)
    will = start("pub", "bulk/will", "gone", "--will", url=url)
    assert will.stderr is not None
    assert will.stderr.readline() == b"The will is set.\n"
    assert run("pub", "bulk/a", "warm", "--count", "300", "--rate", "1000", url=url).code == 0
    will.send_signal(signal.SIGINT)
    assert Ended(will).code == 130
    assert len(Ended(sub).lines) == 301


def test_no_bus_is_an_exit_code_of_its_own() -> None:
    """One that refuses the handshake is none for us either, and says why."""
    assert run("send", "micromsg2://127.0.0.1:1", "a", "b").code == 3
