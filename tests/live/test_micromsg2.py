"""Does a real broker speak MicroMsg2? A child of twistd, and octets on blocking sockets. (MicroMsg2)"""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import pytest

from tests import vectors
from tests.live.broker import Broker
from tests.protocols.fmqp.packets import publication, subscribe
from tests.protocols.micromsg2.written import (
    COMMAND,
    ERROR,
    EXTENSION,
    LARGE_PAYLOAD,
    command,
    extension,
    handshake,
    message,
    payload_of,
    u16,
)

USUAL = b"batch-ack:max-count=10;pubsub"


class Client:
    """One connection; a context manager that closes it."""

    def __init__(self, connection: socket.socket, extensions: bytes = USUAL) -> None:
        self.socket = connection
        self._stream = connection.makefile("rb")
        self.socket.sendall(handshake(extensions))
        reply = handshake(extensions, b"", b"fmqbus")
        assert self._stream.read(len(reply)) == reply
        self.say(handshake(extensions))

    def say(self, *frames: bytes) -> None:
        """Send frames, or whatever octets."""
        self.socket.sendall(b"".join(frames))

    def hear(self) -> bytes:
        """The next frame, with its very octets; empty if the broker has closed the connection."""
        read = self._stream.read
        head = read(1)
        if not head:
            return b""
        flags = head[0]
        if flags & EXTENSION:
            head += read(1)
        elif not flags & (COMMAND | ERROR):
            head += read(3)
            head += read(head[-1] + 2)
            head += read(int.from_bytes(head[-2:], "big"))
        length = read(4 if flags & LARGE_PAYLOAD else 1)
        return head + length + read(int.from_bytes(length, "big"))

    def payload(self) -> bytes:
        """That of the next message."""
        while (frame := self.hear())[0] & EXTENSION:
            """An acknowledgement of ours may come at any time."""
        return payload_of(frame)

    def close(self) -> None:
        self._stream.close()
        self.socket.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """One broker bears most of this file."""
    with Broker("--listen", "micromsg2:tcp:0:interface=127.0.0.1", "--listen", "fmqp:tcp:0") as running:
        yield running
        assert running.stop() == 0
        assert "Traceback" not in running.text


def test_messages_reach_subscribers_and_consumers(broker: Broker) -> None:
    """MicroMsg2, Definitions: a topic is for all, a queue for one; and what is safe is acknowledged."""
    with Client(broker.connect()) as one, Client(broker.connect()) as two, Client(broker.connect()) as producer:
        for client in (one, two):
            client.say(
                command(b"subscribe;topic=news"), command(b"subscribe;queue=work"), message(1, b"topic/news", b"")
            )
            assert client.payload() == b""
        one.payload()
        producer.say(message(1, b"topic/news", b"for all"), message(2, b"work", b"a"), message(3, b"work", b"b"))
        assert sorted([one.payload(), one.payload(), two.payload(), two.payload()]) == [
            b"a",
            b"b",
            b"for all",
            b"for all",
        ]
        assert producer.hear() == extension(1, u16(3))


def test_a_large_message_arrives_whole(broker: Broker) -> None:
    """In as many frames as it takes, and as far as the window lets them through."""
    payload = bytes(range(256)) * 4096 * 3
    with Client(broker.connect(), b"pubsub") as client:
        client.say(command(b"subscribe;queue=large"), message(1, b"large", payload, b"", LARGE_PAYLOAD))
        assert b"".join(payload_of(client.hear()) for _ in range(3)) == payload


def test_topics_are_shared_with_fmqp(broker: Broker) -> None:
    """One bus."""
    with (
        Client(broker.connect(), b"pubsub") as client,
        socket.create_connection(("127.0.0.1", broker.port_of("fmqp:")), 30) as other,
    ):
        client.say(command(b"subscribe;topic=shared"), message(1, b"topic/shared", b"1"))
        assert client.payload() == b"1"
        other.sendall(subscribe(b"shared") + publication(b"shared", b"2"))
        assert client.payload() == b"2"
        expected = publication(b"shared", b"2")
        assert other.recv(len(expected), socket.MSG_WAITALL) == expected


@pytest.mark.parametrize("vector", vectors.load("micromsg2"), ids=lambda vector: vector.name)
def test_no_vector_harms_anybody(broker: Broker, vector: vectors.Vector) -> None:
    """In place of a handshake, and after one."""
    with broker.connect() as stranger, Client(broker.connect()) as client, Client(broker.connect()) as bystander:
        bystander.say(command(b"subscribe;topic=bystander"))
        stranger.sendall(vector.octets)
        client.say(vector.octets)
        bystander.say(message(1, b"topic/bystander", b"still here"))
        assert bystander.payload() == b"still here"


def test_it_can_run_alone_and_obeys_its_options(tmp_path: Path) -> None:
    """``twistd -n micromsg2``, with what is required of clients; a soft stop tells what is safe and closes."""
    config = tmp_path / "bus.toml"
    config.write_text('[protocols.micromsg2]\nrequired = "json"\n')
    with Broker("--config", str(config), "--listen", "tcp:0:interface=127.0.0.1", command="micromsg2") as alone:
        with alone.connect() as stranger:
            stranger.sendall(2 * handshake())
            reply = handshake(b"json", b"", b"fmqbus")
            heard = stranger.recv(1000)
            while not heard.endswith(b"json"):
                heard += stranger.recv(1000)
            assert heard.startswith(reply)
            assert heard[len(reply)] == ERROR
            assert stranger.recv(1) == b""
        with Client(alone.connect(), b"json;batch-ack") as client:
            client.say(message(1, b"q", b"{}"))
            assert client.hear() == extension(2, u16(1))
            client.say(message(2, b"q", b"{}"))
            assert client.hear() == extension(2, u16(2))
            alone.signal(signal.SIGTERM)
            assert client.hear() == b""
        assert alone.wait() == 0
        assert "Traceback" not in alone.text
