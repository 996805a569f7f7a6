"""The commands for jobs against a real broker of eMQP, as an operator would use them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from uuid import uuid4

import pytest
import zmq

from fmqbus.protocols.emqp.codec import VERSION
from fmqbus.protocols.emqp.jobs import Job, write_job
from tests.cli.commands import Ended, run
from tests.live.broker import PATIENCE_SECONDS, Broker

SOCKETS = "frontend=0:backend=0:admin=0:pubin=0:pubout=0"


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A broker for all tests of this file, which use queues of their own."""
    with Broker("--listen", "micromsg2:tcp:0:interface=127.0.0.1", "--listen", f"emqp:zmq:{SOCKETS}") as broker:
        yield broker


@pytest.fixture
def url(broker: Broker) -> str:
    """Where it speaks MicroMsg2: jobs are looked after over any protocol."""
    return f"micromsg2://127.0.0.1:{broker.port_of('micromsg2')}"


class Peer:
    """A client or a worker: a DEALER that says what it is told, and waits for what it expects."""

    def __init__(self, broker: Broker, socket: str, context: zmq.Context[zmq.Socket[bytes]]) -> None:
        self._socket = context.socket(zmq.DEALER)
        self._socket.set(zmq.IDENTITY, uuid4().hex.encode())
        self._socket.set(zmq.RCVTIMEO, int(PATIENCE_SECONDS * 1000))
        self._socket.connect(f"tcp://127.0.0.1:{broker.wait_for(rf'eMQP has.*{socket}=([0-9]+)')[1]}")

    def say(self, word: bytes, message_id: bytes, *fields: bytes) -> None:
        self._socket.send_multipart([b"", VERSION, word, message_id, *fields])

    def hear(self, word: bytes) -> Sequence[bytes]:
        """The id and the fields of the next such message; others pass by."""
        while True:
            _, _, heard, *fields = self._socket.recv_multipart()
            if heard == word:
                return fields

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def peers(broker: Broker) -> Iterator[tuple[Peer, Peer]]:
    """A client and a worker."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    both = Peer(broker, "frontend", context), Peer(broker, "backend", context)
    try:
        yield both
    finally:
        for peer in both:
            peer.close()
        context.destroy(linger=0)


def listed(ended: Ended) -> list[list[str]]:
    """Of each job that is printed: state, id, job, arguments, attempts."""
    assert (ended.code, ended.errors) == (0, b"")
    return [line.split("\t")[1:6] for line in ended.lines]


def numbers(queue: str, url: str) -> list[str]:
    """Those of the jobs that are listed."""
    return [line.split("\t")[0] for line in run("job", "list", queue, url=url).lines]


def test_a_job_is_seen_from_its_request_to_its_end(url: str, peers: tuple[Peer, Peer]) -> None:
    """One runs, one is cancelled, one waits; what fails is tried again."""
    client, worker = peers

    def command(*words: str) -> Ended:
        worker.say(b"HEARTBEAT", b"h", b"")  # else it is lost, where commands are slow
        return run(*words, url=url)

    worker.say(b"INFORM", b"i", b'[[10, "mails"]]', b"worker")
    worker.hear(b"ACK")
    for name in (b"first", b"second", b"third"):
        body = write_job(Job("shop.jobs", "send", [name.decode()], {"at": 3}))
        client.say(b"REQUEST", name, b"mails", b"reply-requested,timeout:60", body)
        assert client.hear(b"ACK")[1] == name
    assert command("send", "mails", "three apples").code == 0
    worker.say(b"READY", b"r")
    assert worker.hear(b"REQUEST")[0] == b"first"

    everything = command("job", "list", "mails")
    assert listed(everything) == [
        ["running", "first", "shop.jobs:send", '"first", at=3', "1"],
        ["waiting", "second", "shop.jobs:send", '"second", at=3', "0"],
        ["waiting", "third", "shop.jobs:send", '"third", at=3', "0"],
        ["waiting", "-", "(the body is no JSON: Expecting value: line 1 column 1 (char 0))", "-", "0"],
    ]
    first, _, _, apples = [line.split("\t")[0] for line in everything.lines]
    assert len(command("job", "list", "mails", "--waiting", "--count", "2").lines) == 2
    assert command("queue", "peek", "mails", "--held").lines[0].split("\t")[2] == "1"
    shown = json.loads(command("job", "show", "mails", "--id", "first", "--json").output)
    assert (shown["headers"], shown["client"].split()[0]) == ("reply-requested,timeout:60", "frontend")
    assert shown["since"] is not None
    assert 'kwargs {"at": 3}' in command("job", "show", "mails", first).lines

    refused = command("job", "cancel", "mails", first)
    assert (refused.code, refused.lines) == (1, ["0"])
    assert b"running, and eMQP has no word that stops a job" in refused.errors
    assert command("job", "cancel", "mails", "--id", "second").lines == ["1"]
    again = command("job", "cancel", "mails", "--id", "second")
    assert (again.code, again.errors) == (1, b"Error: there is no such job in this queue\n")
    assert command("queue", "remove", "mails", apples).lines == ["1"]

    worker.say(b"REPLY", b"x", b'{"value": "no such customer", "error": "KeyError"}', b"first")
    assert client.hear(b"REPLY")[2] == b"first"
    assert command("job", "list", "mails", "--running").lines == []
    letter = json.loads(command("job", "list", "mails", "--failed", "--json").output)
    assert (letter["queue"], letter["from"], letter["id"], letter["state"]) == ("dead", "mails", "first", "failed")
    assert letter["detail"] == "job-failed"
    assert len(command("job", "list", "dead", "--failed").lines) == 1

    assert command("job", "retry", "dead", str(letter["number"])).lines == ["1"]
    for name in (b"third", b"first"):
        worker.say(b"READY", b"r")
        assert worker.hear(b"REQUEST")[0] == name
        worker.say(b"REPLY", b"x", b'{"value": true}', name)
        assert client.hear(b"REPLY")[1:] == [b'{"value": true}', name]
    assert run("job", "list", "mails", url=url).lines == []


def test_what_is_no_dead_letter_is_not_retried(url: str) -> None:
    """It fails, and says why; so does what is not there."""
    assert run("send", "fresh", "x", url=url).code == 0
    (number,) = numbers("fresh", url)
    ended = run("job", "retry", "fresh", number, "999", "--json", url=url)
    assert json.loads(ended.output) == {"requeued": 0, "held": [], "stayed": [int(number)], "missing": [999]}
    assert ended.code == 1
    assert b"it has not failed" in ended.errors
    assert b"999: not there" in ended.errors
    assert run("queue", "requeue", "fresh", "--number", number, url=url).code == 1


def test_an_id_that_several_jobs_have_names_none_of_them(url: str, peers: tuple[Peer, Peer]) -> None:
    """Some clients give all their jobs the same."""
    client, _ = peers
    for _ in range(2):
        client.say(b"REQUEST", b"uuid", b"default", b"", write_job(Job("shop.jobs", "send")))
        client.hear(b"REPLY")
    ended = run("job", "cancel", "default", "--id", "uuid", url=url)
    assert ended.code == 1
    assert b"several jobs have this id" in ended.errors
    assert len(numbers("default", url)) == 2
