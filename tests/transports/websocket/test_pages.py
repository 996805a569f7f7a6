"""HTTP beside WebSocket, at the same port."""

from __future__ import annotations

import pytest
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request

from fmqbus.transports.preamble import PREAMBLE_SECONDS
from fmqbus.transports.websocket.opening import HTTP_OCTETS
from tests.transports.websocket.client import Client, Server


def get(client: Client, path: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of one answer."""
    client.say(f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    answer, _, body = client.take().partition(b"\r\n\r\n")
    status, *lines = answer.decode().split("\r\n")
    return int(status.split()[1]), {key.lower(): value for key, value in (line.split(": ", 1) for line in lines)}, body


def slow_pages(lost: list[object]) -> Resource:
    """Pages of which one never answers, and notes who has gone."""

    class Slow(Resource):
        isLeaf = True

        def render_GET(self, request: Request) -> int:
            request.notifyFinish().addErrback(lost.append)
            return NOT_DONE_YET

    root = Resource()
    root.putChild(b"slow", Slow())
    return root


@pytest.fixture
def client() -> Client:
    """Connected, and nothing more."""
    return Server().connect(opened=False)


def test_the_client_in_javascript_is_there(client: Client) -> None:
    """With the modules that it imports, each as what it is."""
    status, headers, body = get(client, "/fmqbus.js")
    assert status == 200
    assert headers["content-type"].startswith("text/javascript")
    assert b"export" in body
    for line in body.decode().splitlines():
        if line.startswith("import ") and " from " in line:
            path = "/" + line.split('"')[1].removeprefix("./")
            assert get(client.server.connect(opened=False), path)[0] == 200


@pytest.mark.parametrize("path", ["/echo", "/echo?a=b"])
def test_at_the_path_of_the_websocket_there_is_a_hint(client: Client, path: str) -> None:
    """RFC 9110, section 15.5.22: with the protocol to upgrade to."""
    status, headers, body = get(client, path)
    assert status == 426
    assert headers["upgrade"] == "websocket"
    assert "upgrade" in headers["connection"].lower()
    assert body


@pytest.mark.parametrize("path", ["/", "/nothing", "/fmqbus.js/more", "/../setup.cfg", "/%2e%2e/x", "/package.json"])
def test_there_is_nothing_else(client: Client, path: str) -> None:
    """Above all none of the files around."""
    status, _, body = get(client, path)
    assert status == 404
    assert b"<script" not in body


def test_a_request_for_the_head_gets_no_body(client: Client) -> None:
    """But all headers."""
    status, headers, body = get(client, "/fmqbus.js", "HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["content-length"]) > 1000


@pytest.mark.filterwarnings("ignore:.*_UnsafeErrorPage:DeprecationWarning")
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "TRACE", "CONNECT"])
def test_nothing_can_be_changed(client: Client, method: str) -> None:
    """There is nothing that takes another method."""
    assert get(client, "/fmqbus.js", method)[0] in (405, 501)


def test_any_pages_can_be_beside_a_websocket() -> None:
    """An ordinary resource of Twisted's; the WebSocket's own path stays what it is."""

    class Health(Resource):
        isLeaf = True

        def render_GET(self, request: Request) -> bytes:
            return b"well"

    root = Resource()
    root.putChild(b"health", Health())
    server = Server(root)
    assert get(server.connect(opened=False), "/health")[2] == b"well"
    assert get(server.connect(opened=False), "/echo")[0] == 426
    assert server.connect().answer


def test_a_connection_of_http_has_one_request(client: Client) -> None:
    """However many come in one read: their pages would have to wait for a client that does not read them."""
    client.say(b"GET /fmqbus.js HTTP/1.1\r\nHost: a\r\n\r\n" * 1000)
    assert client.take().count(b"HTTP/1.1 200") == 1
    assert client.is_closing


def test_a_connection_of_http_that_stays_is_cut_off() -> None:
    """A page may take its time, but not for ever."""
    client = Server(slow_pages([])).connect(opened=False)
    client.say(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
    assert not client.is_closing
    client.server.clock.advance(PREAMBLE_SECONDS)
    assert client.is_closing
    assert client.server.listener.connections == []


def test_an_upload_is_cut_off(client: Client) -> None:
    """It would be kept, in memory and then on the disk."""
    client.say(b"POST /fmqbus.js HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n\r\n")
    for _ in range(HTTP_OCTETS // 10_000):
        client.say(bytes(10_000))
    assert not client.is_closing
    client.say(bytes(10_000))
    assert client.is_closing


def test_a_connection_that_goes_takes_its_request_with_it() -> None:
    """A page that answers later hears of it."""
    lost: list[object] = []
    client = Server(slow_pages(lost)).connect(opened=False)
    client.say(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
    client.transport.protocol.connectionLost()
    assert len(lost) == 1
    assert client.server.clock.getDelayedCalls() == []


@pytest.mark.parametrize(
    "garbage",
    [b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"H1:\r\n\r\n", b"\r\n\r\n", b"GET /\r\n\r\n", bytes(20_000)],
    ids=["TLS", "UMQ", "nothing", "half a line", "zeros"],
)
def test_what_is_no_request_is_refused(client: Client, garbage: bytes) -> None:
    """A handshake of TLS, UMQ without a carrier, or nothing at all."""
    client.say(garbage)
    client.server.clock.advance(PREAMBLE_SECONDS)
    assert client.is_closing
    assert not client.server.plug.made
