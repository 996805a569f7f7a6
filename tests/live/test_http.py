"""The pages for operators, of a real broker: a scraper, a supervisor, and those who mean no good."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse

from fmqbus.protocols.fmqp.codec import LAST_WILL, SUBSCRIPTION, UNSUBSCRIBE, encode
from fmqbus.protocols.http.connection import REQUEST_OCTETS
from fmqbus.protocols.http.pages import FRESH_SECONDS
from tests.live.broker import PATIENCE_SECONDS, Broker
from tests.transports.certificates import issue

PLACES = ("--listen", "fmqp:tcp:0", "--listen", "http:tcp:0")
GET = b"GET /healthz HTTP/1.1\r\nHost: bus\r\n\r\n"


def page(broker: Broker, path: str, *, accept: str = "text/plain") -> tuple[int, str]:
    """Status and body."""
    connection = http.client.HTTPConnection("127.0.0.1", broker.port_of("http"), timeout=PATIENCE_SECONDS)
    connection.request("GET", path, headers={"Accept": accept})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def scraped(broker: Broker, expected: Callable[[dict[str, float]], bool] = bool) -> dict[str, float]:
    """Each series, as NAME or NAME{LABELS}, once they are as expected: what is shown may be a little old."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        status, text = page(broker, "/metrics")
        assert status == 200
        told = {
            f"{sample.name}{{{','.join(sample.labels.values())}}}" if sample.labels else sample.name: sample.value
            for family in parse(text)
            for sample in family.samples
        }
        if expected(told):
            return told
        assert time.monotonic() < deadline, text
        time.sleep(FRESH_SECONDS / 5)


def receive_all(client: socket.socket) -> bytes:
    """What comes until the other end closes, in whatever way."""
    octets = b""
    with suppress(ConnectionError):
        while read := client.recv(65_536):
            octets += read
    return octets


def test_a_scraper_sees_what_clients_do() -> None:
    """As Prometheus's own parser reads it."""
    with Broker(*PLACES) as broker, broker.connect("fmqp") as client:
        echo = encode(0, b"a", b"hello")
        client.sendall(encode(SUBSCRIPTION, b"a") + 3 * echo + encode(0, b"\xff", b"no UTF-8"))
        got = b""
        while len(got) < 3 * len(echo):
            got += client.recv(1000)
        told = scraped(broker, lambda told: told["fmqbus_reactor_lag_seconds_count"] > 0)
        assert told["fmqbus_sessions{fmqp}"] == 1
        assert told["fmqbus_messages_received_total{fmqp}"] >= 4
        assert told["fmqbus_messages_sent_total{fmqp}"] == 3
        assert told["fmqbus_subscriptions"] == 1
        assert told["fmqbus_connections{fmqp:tcp:0}"] == 1
        assert told["process_open_fds"] > 3
        assert list(parse_openmetrics(page(broker, "/metrics", accept="application/openmetrics-text")[1]))
        assert broker.stop() == 0


def test_a_supervisor_sees_whether_the_bus_lives_and_is_ready() -> None:
    """By the status alone, or in detail."""
    with Broker(*PLACES) as broker:
        status, body = page(broker, "/readyz")
        assert status == 200, body
        assert set(json.loads(body)["checks"]) >= {"router", "listeners", "message_store"}
        status, body = page(broker, "/healthz")
        assert (status, json.loads(body)["checks"]) == (200, {"reactor": {"ok": True}})
        assert broker.stop() == 0


def test_a_bus_that_drains_says_that_it_is_not_ready() -> None:
    """While a subscriber that does not read holds it up: clients come no more, operators do."""
    with Broker(*PLACES) as broker, broker.connect("fmqp") as deaf, broker.connect("fmqp") as publisher:
        deaf.sendall(encode(SUBSCRIPTION, b"flood"))
        echo = encode(0, b"done", b"!")
        deaf.sendall(encode(SUBSCRIPTION, b"done") + echo + encode(SUBSCRIPTION | UNSUBSCRIBE, b"done"))
        assert deaf.recv(len(echo)) == echo
        for _ in range(16):
            publisher.sendall(encode(0, b"flood", bytes(1 << 20)))
        publisher.sendall(encode(SUBSCRIPTION, b"done") + echo)
        assert publisher.recv(len(echo)) == echo
        assert scraped(broker)["fmqbus_slow_sessions{fmqp}"] == 1
        broker.signal(signal.SIGTERM)
        broker.wait_for("SIGTERM: draining")
        status, body = page(broker, "/readyz")
        assert (status, json.loads(body)["checks"]["router"]["reason"]) == (503, "the bus is draining")
        assert scraped(broker)["fmqbus_outbox_bytes{fmqp}"] > 1 << 20
        broker.signal(signal.SIGTERM)
        assert broker.wait() == 0


def test_wills_and_all_else_are_as_without_operators() -> None:
    """A soft stop is one."""
    with Broker(*PLACES) as broker, broker.connect("fmqp") as heir, broker.connect("fmqp") as testator:
        testator.sendall(encode(LAST_WILL, b"will", b"goodbye"))
        heir.sendall(encode(SUBSCRIPTION, b"will") + encode(SUBSCRIPTION, b"done") + encode(0, b"done", b"!"))
        assert heir.recv(1000) == encode(0, b"done", b"!")
        assert page(broker, "/readyz")[0] == 200
        broker.signal(signal.SIGTERM)
        assert receive_all(heir) == encode(LAST_WILL, b"will", b"goodbye")
        assert broker.wait() == 0


def test_tls_and_unix_sockets_carry_the_pages_too(tmp_path: Path) -> None:
    """As they carry all else."""
    key, certificate = issue("server").write(tmp_path)
    path = tmp_path / "http.sock"
    places = (f"http:ssl:0:privateKey={key}:certKey={certificate}", f"http:unix:{path}")
    with Broker(*(word for place in places for word in ("--listen", place))) as broker:
        broker.wait_for("http:unix.* listens at")
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with urlopen(f"https://127.0.0.1:{broker.port_of('http:ssl')}/healthz", context=context, timeout=30) as answer:
            assert json.load(answer)["ok"]
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_SECONDS)
            client.connect(str(path))
            client.sendall(GET)
            assert receive_all(client).startswith(b"HTTP/1.1 200")
        assert broker.stop() == 0


def test_slow_heads_long_heads_and_floods_keep_nobody_out(tmp_path: Path) -> None:
    """A scraper is served all the while, those who attack are cut off, and the memory stays."""
    config = tmp_path / "bus.toml"
    config.write_text('listen = ["fmqp:tcp:0", "http:tcp:0"]\n[limits]\nhandshake_seconds = 1.0\n')
    with Broker("--config", str(config)) as broker:
        before = scraped(broker)["process_resident_memory_bytes"]
        slow = [broker.connect("http") for _ in range(500)]
        for client in slow:
            client.sendall(GET[:20])
        assert page(broker, "/healthz")[0] == 200
        # nobody is told anything, and all are cut off when their time is over
        assert [receive_all(client) for client in slow] == [b""] * len(slow)
        for _ in range(50):
            with broker.connect("http") as client:
                long_head = b"GET / HTTP/1.1\r\nX: " + bytes([65]) * 10 * REQUEST_OCTETS
                with suppress(ConnectionError):
                    client.sendall(long_head)
                assert receive_all(client).split(b"\r\n")[0] in (
                    b"",  # its own octets, unread, have pushed the answer away
                    b"HTTP/1.1 400 Bad Request",
                    b"HTTP/1.1 431 Request Header Fields Too Large",
                )
        for _ in range(50):
            with broker.connect("http") as client:
                client.sendall(200 * GET)
                assert receive_all(client).count(b"HTTP/1.1 200") == 1
        for _ in range(500):
            assert page(broker, "/metrics")[0] == 200
        told = scraped(broker, lambda told: told["fmqbus_connections{http:tcp:0}"] == 1)
        assert told["process_resident_memory_bytes"] - before < 16 << 20
        assert told["fmqbus_reactor_lag_worst_seconds"] < 2.0
        for client in slow:
            client.close()
        assert broker.stop() == 0
    assert "Traceback" not in broker.text
    assert "Unhandled" not in broker.text


@pytest.mark.parametrize("listening", [False, True])
def test_without_being_asked_no_port_is_opened_for_operators(listening: bool) -> None:
    """They have to be named."""
    places = ("--listen", "fmqp:tcp:0", *(("--listen", "http:tcp:0") if listening else ()))
    with Broker(*places) as broker:
        broker.wait_for("fmqp:tcp:0 listens at")
        assert broker.stop() == 0
    assert ("http:tcp:0 listens at" in broker.text) is listening
