"""RFC 6455, section 4: the opening handshake, and section 10: what servers must beware of in it."""

from __future__ import annotations

import pytest

from fmqbus.limits import Limits
from fmqbus.transports.preamble import PREAMBLE_PLACES, PREAMBLE_SECONDS
from fmqbus.transports.websocket.opening import HEAD_OCTETS
from tests.transports.websocket.client import ACCEPT, Client, Server, head, masked


def refusal(client: Client) -> tuple[int, str]:
    """Status and text of an answer that is no upgrade."""
    answer, _, body = client.take().decode().partition("\r\n\r\n")
    return int(answer.split()[1]), body


def test_4_2_2_a_handshake_is_accepted_with_the_key_of_the_example() -> None:
    """Section 1.2 shows request and answer."""
    client = Server().connect()
    lines = client.answer.lower().split(b"\r\n")
    assert b"upgrade: websocket" in lines
    assert b"connection: upgrade" in lines
    assert b"sec-websocket-accept: " + ACCEPT.lower() in lines
    assert len(client.server.plug.made) == 1


@pytest.mark.parametrize("cut", [1, 7, 100])
def test_4_2_1_a_handshake_may_come_in_any_pieces(cut: int) -> None:
    """TCP cuts where it likes."""
    client = Server().connect(opened=False)
    client.say(head(), cut)
    assert client.take().startswith(b"HTTP/1.1 101 ")


def test_4_1_frames_that_follow_the_handshake_at_once_are_heard() -> None:
    """A client should wait for the answer, but nothing is lost if it does not."""
    client = Server().connect(opened=False)
    client.say(head() + masked(0x81, b"early") + masked(0x81, b"bird")[:4])
    client.say(masked(0x81, b"bird")[4:])
    assert client.echo.heard == ["early", "bird"]


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(None, None), ("echo", b"echo"), ("wamp.2.json, echo", b"echo"), ("wamp.2.json", None), ("Echo", None)],
)
def test_4_2_2_the_subprotocol_is_chosen_if_offered_and_none_is_accepted(offered: str, chosen: bytes | None) -> None:
    """Reading 44 of UMQ."""
    answer = Server().connect(Sec_WebSocket_Protocol=offered).answer
    lines = [line for line in answer.split(b"\r\n") if line.lower().startswith(b"sec-websocket-protocol")]
    assert lines == ([] if chosen is None else [b"Sec-WebSocket-Protocol: " + chosen])


def test_4_2_1_what_follows_a_question_mark_does_not_matter() -> None:
    """It is the path that names the WebSocket."""
    Server().connect(path="/echo?token=1")


@pytest.mark.parametrize("path", ["/", "/other", "/echo/", "/echo/more", "//echo", "/ECHO"])
def test_4_2_2_another_path_is_not_found(path: str) -> None:
    """Whatever is asked for there."""
    client = Server().connect(opened=False)
    client.say(head(path))
    assert refusal(client)[0] == 404


def test_the_path_can_be_configured() -> None:
    """Also where it has several parts (reading 44 of UMQ)."""
    client = Server(path="/bus/v1").connect(path="/bus/v1")
    assert client.answer
    other = client.server.connect(opened=False)
    other.say(head("/echo"))
    assert refusal(other)[0] == 404


@pytest.mark.parametrize("version", ["8", "0", "14", "thirteen"])
def test_4_4_another_version_is_refused_with_that_which_there_is(version: str) -> None:
    """A client may then come again."""
    client = Server().connect(opened=False)
    client.say(head(Sec_WebSocket_Version=version))
    answer = client.take()
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert version == "thirteen" or b"\r\nSec-WebSocket-Version: 13\r\n" in answer
    assert client.is_closing


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": None},
        {"Host": "127.0.0.1:port"},
        {"Connection": None},
        {"Connection": "keep-alive"},
        {"Sec_WebSocket_Version": None},
        {"Sec_WebSocket_Key": None},
        {"Sec_WebSocket_Key": "c2hvcnQ="},
        {"Sec_WebSocket_Key": "!" * 22 + "=="},
        {"Sec_WebSocket_Protocol": "echo, echo"},
        {"Origin": "http://"},
    ],
    ids=str,
)
def test_4_2_1_what_is_no_handshake_is_refused_in_words(headers: dict[str, str | None]) -> None:
    """And nobody is let in."""
    client = Server().connect(opened=False)
    client.say(head(**headers))
    status, body = refusal(client)
    assert status == 400
    assert body.strip()
    assert client.is_closing
    assert not client.server.plug.made


def test_4_2_1_another_method_is_not_allowed() -> None:
    """Only GET upgrades."""
    client = Server().connect(opened=False)
    client.say(head().replace(b"GET", b"POST", 1))
    assert refusal(client)[0] == 405


@pytest.mark.parametrize("token", ["WebSocket", "h2c, websocket"])
def test_4_2_1_tokens_are_compared_without_regard_to_case(token: str) -> None:
    """In Upgrade and in Connection; other tokens may stand beside them."""
    Server().connect(Upgrade=token, Connection="keep-alive, UPGRADE")


def test_10_2_a_client_without_an_origin_is_let_in() -> None:
    """It is no browser; the rules of access judge it."""
    Server().connect(Origin=None)


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "file://", "http://127.0.0.1:80", "http://localhost:7702"]
)
def test_10_2_a_page_from_elsewhere_is_refused(origin: str) -> None:
    """Before anything of it is heard."""
    client = Server().connect(opened=False)
    client.say(head(Origin=origin) + masked(0x81, b"hello"))
    status, body = refusal(client)
    assert status == 403
    assert "origin" in body
    assert not client.server.plug.made


def test_10_2_a_page_that_was_got_here_by_address_is_let_in() -> None:
    """Its origin is the host that it asks for."""
    Server().connect(Origin="http://127.0.0.1:7702")


def test_10_2_a_page_that_was_got_here_by_name_must_be_listed() -> None:
    """Anybody's name can be made to lead here."""
    rebound = Server().connect(opened=False)
    rebound.say(head(Host="evil.example:7702", Origin="http://evil.example:7702"))
    assert refusal(rebound)[0] == 403
    listed = Server(origins=["https://bus.example"])
    listed.connect(Host="bus.example", Origin="https://bus.example")
    listed.connect(Host="internal", Origin="https://bus.example:443")


def test_10_2_all_origins_can_be_let_in() -> None:
    """By an explicit star."""
    Server(origins=["*"]).connect(Origin="http://anywhere.example")


def test_10_2_two_origins_are_none() -> None:
    """It is unclear which one a browser has written."""
    client = Server(origins=["http://a.example"]).connect(opened=False)
    client.say(head(Origin="http://a.example").replace(b"Origin:", b"Origin: http://b.example\r\nOrigin:", 1))
    assert refusal(client)[0] == 400


@pytest.mark.parametrize("name", ["X_Forwarded_For", "Forwarded", "X_Real_IP", "Via"])
def test_who_comes_by_a_proxy_is_not_local(name: str) -> None:
    """The proxy may be on this machine, and those behind it anywhere."""
    server = Server()
    assert server.connect().echo.link.facts.is_local
    assert not server.connect(**{name: "192.0.2.1"}).echo.link.facts.is_local


@pytest.mark.parametrize("line", [b"x" * 2 * HEAD_OCTETS, b"X: 1\r\n" * (HEAD_OCTETS // 6)])
def test_a_head_without_an_end_is_refused_at_its_bound(line: bytes) -> None:
    """Whether it is of long lines or of many."""
    client = Server().connect(opened=False)
    client.say(head().removesuffix(b"\r\n") + line)
    assert client.is_closing


def test_a_head_that_is_too_long_is_no_handshake() -> None:
    """Even if all of it comes at once."""
    client = Server().connect(opened=False)
    client.say(head(X="x" * HEAD_OCTETS))
    assert client.is_closing
    assert not client.server.plug.made


def test_a_client_that_does_not_open_in_time_is_cut_off() -> None:
    """Octet by octet is not in time."""
    client = Server().connect(opened=False)
    for _ in range(int(PREAMBLE_SECONDS)):
        client.say(b"G")
        assert not client.is_closing
        client.server.clock.advance(1)
    assert client.is_closing


def test_those_who_do_not_open_cannot_keep_others_out() -> None:
    """The longest waiting gives up its place."""
    server = Server()
    waiting = [server.connect(opened=False) for _ in range(PREAMBLE_PLACES)]
    server.connect(opened=False).say(b"G")
    assert waiting[0].is_closing
    assert not waiting[1].is_closing


def test_nothing_of_the_head_is_kept() -> None:
    """Neither of the request nor of the answer: all that clients say there is not bounded together."""
    client = Server().connect(Cookie="x" * 10_000, Sec_WebSocket_Extensions="x-yyy")
    kept = repr(vars(client.link)) + repr(vars(client.link._engine))
    assert "xxx" not in kept
    assert "x-yyy" not in kept
    assert ACCEPT.decode() not in kept


def test_a_connection_counts_once_it_is_a_websocket() -> None:
    """And until it has gone."""
    server = Server()
    server.connect(opened=False)
    assert server.listener.connections == []
    client = server.connect()
    assert server.listener.connections == [client.link]
    client.link.connectionLost()
    assert server.listener.connections == []


def test_one_connection_too_many_is_aborted() -> None:
    """It hears nothing, and nothing of it is heard."""
    server = Server(limits=Limits())
    server.listener.is_admitting = False
    client = server.connect(opened=False)
    client.say(head() + masked(0x81, b"hello"))
    assert client.is_closing
    assert client.take() == b""
    assert not server.plug.made
