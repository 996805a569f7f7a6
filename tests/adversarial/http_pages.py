"""What of those who ask the pages for operators too slowly, too much, too often, or in no language at all?"""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

from fmqbus.journal.samples import write_sample
from fmqbus.pipeline.endpoint import Endpoint
from fmqbus.pipeline.remote import RemoteJournal
from fmqbus.protocols.http.connection import REQUEST_OCTETS
from tests.adversarial.attack import Siege, attack, scale

HTTP = "http:"
_LISTEN = ("fmqp:tcp:0", f"{HTTP}tcp:0")
_HASTE = "[limits]\nhandshake_seconds = 2.0\n"

_ROWS = 20_000


def _journal(folder: Path) -> None:
    """One whose first segment is larger than an answer may be."""
    write_sample(folder / "journal", _ROWS)


def _get(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: bus", *headers, "", ""]).encode()


def _answer(siege: Siege, request: bytes) -> bytes:
    """All that comes back, however the connection ends."""
    octets = b""
    with siege.broker.connect(HTTP) as client, suppress(ConnectionError):
        client.sendall(request)
        while read := client.recv(65_536):
            octets += read
    return octets


def _ends(client: socket.socket) -> bool:
    """Whether the other end closes it, having said nothing."""
    with suppress(ConnectionError):
        return client.recv(1) == b""
    return True


@attack(
    "{connections:,} requests for pages that never end",
    listen=_LISTEN,
    config=_HASTE,
    full=scale(memory_mib=48, connections=3_000),
    smoke=scale(memory_mib=24, connections=300),
)
def http_slow_heads(siege: Siege, connections: int) -> str:
    """A scraper is served all the while; each is cut off when its time is over, or when its place is needed."""
    slow = [siege.broker.connect(HTTP) for _ in range(connections)]
    for client in slow:
        with suppress(ConnectionError):  # some have had to give way already
            client.sendall(_get("/metrics")[:-2])
    assert b" 200 OK" in _answer(siege, _get("/metrics")), "a scraper is not served"
    assert all(map(_ends, slow)), "some are still there"
    for client in slow:
        client.close()
    return f"{connections:,} cut off, a scraper served among them"


@attack(
    "{requests:,} scrapes, one after the other",
    listen=_LISTEN,
    full=scale(memory_mib=16, requests=5_000),
    smoke=scale(memory_mib=16, requests=100),
)
def http_scrapes(siege: Siege, requests: int) -> str:
    """All are answered; the numbers are gathered a few times only."""
    siege.crowd(500)
    for _ in range(requests):
        assert b"fmqbus_sessions" in _answer(siege, _get("/metrics"))
    return f"{requests:,} answered"


@attack(
    "requests with long heads, bodies, a thousand in one, and what is no HTTP, {times} times",
    listen=_LISTEN,
    config=_HASTE,
    full=scale(memory_mib=16, times=100),
    smoke=scale(memory_mib=16, times=2),
)
def http_malformed(siege: Siege, times: int) -> str:
    """None gets more than one answer, nor a page that it did not ask for in order."""
    healthy = _get("/healthz")
    refused = (
        b"GET /" + b"a" * 10 * REQUEST_OCTETS,
        _get("/healthz", *["X: y"] * REQUEST_OCTETS),
        _get("/healthz", "Content-Length: 1000000000"),
        _get("/healthz", "Content-Length: " + "1" * 5_000),
        _get("/healthz", "Transfer-Encoding: chunked") + b"ffffffff\r\n" + bytes(REQUEST_OCTETS),
        _get("/healthz", "no colon"),
        b"\x16\x03\x01" + bytes(500) + b"\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\r\n" * 1000,
    )
    for _ in range(times):
        for request in refused:
            answer = _answer(siege, request)
            assert b" 200 OK" not in answer, request[:60]
            assert answer.count(b"HTTP/1.1 ") <= 1, request[:60]
        assert _answer(siege, healthy * 1_000).count(b"HTTP/1.1 ") <= 1
        assert _answer(siege, healthy).startswith(b"HTTP/1.1 200 OK")
    return f"{times * len(refused):,} refused"


@attack(
    "{connections:,} who ask for the most of a journal that one may, and read nothing, and {paths:,} names of files",
    listen=_LISTEN,
    config=f'{_HASTE}[protocols.http]\njournal = "FOLDER/journal"\n',
    prepare=_journal,
    full=scale(memory_mib=64, connections=1_000, paths=2_000),
    smoke=scale(memory_mib=48, connections=100, paths=50),
)
def http_journal(siege: Siege, connections: int, paths: int) -> str:
    """What waits for them has a bound, and ends. Who reads is served in between, and no file is had by its name."""
    path = "/journal/0/log/0"
    deaf = [siege.broker.connect(HTTP) for _ in range(connections)]
    for client in deaf:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        with suppress(ConnectionError):
            client.sendall(_get(path, "Range: bytes=0-999999999999"))
    assert b" 200 OK" in _answer(siege, _get("/healthz")), "an operator is not served"
    journal = RemoteJournal(Endpoint(f"http://127.0.0.1:{siege.broker.port_of(HTTP)}/journal"))
    assert sum(batch.num_rows for batch in journal.read(0, 0, _ROWS, ["offset"])) == _ROWS, "rows are missing"
    for client in deaf:
        client.close()
    names = ("../../manifest.jsonl", "..%2f..%2fhead", "head", "%00", "0.fmqj", "0/../../../bus.toml", "-1", "9" * 400)
    for number in range(paths):
        asked = f"/journal/0/{('log', 'table')[number % 2]}/{'../' * (number % 9)}{names[number % len(names)]}"
        assert _answer(siege, _get(asked, "Range: bytes=0-9")).startswith(b"HTTP/1.1 404 "), asked
    return f"{_ROWS:,} rows read by who reads, {paths:,} names refused"
