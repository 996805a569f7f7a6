"""RFC 6455, section 7: closing. Who says what last, in which order, and how long anybody waits for it."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred

from fmqbus.limits import Limits
from fmqbus.model import Parting
from fmqbus.transports.units import PIECE_OCTETS
from fmqbus.turns import SHARE_SECONDS
from tests.transports.test_turns import turn
from tests.transports.websocket.client import Client, Close, Server, head, masked


@pytest.fixture
def client() -> Client:
    """An open connection to the echo protocol."""
    return Server().connect()


def close(code: int, reason: bytes = b"") -> bytes:
    """A Close of the client's."""
    return masked(0x88, code.to_bytes(2) + reason)


def has_gone(client: Client) -> bool:
    """When the client ends its side too, nothing is left of the connection."""
    client.link.connectionLost()
    server = client.server
    return not server.listener.connections and not server.listener.held and not server.clock.getDelayedCalls()


# the client closes


@pytest.mark.parametrize("code", [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999])
def test_7_4_a_close_with_a_code_is_answered_with_it(client: Client, code: int) -> None:
    """Section 5.5.1; then the server ends the stream (7.1.1)."""
    assert client.ask(close(code, "schöne Grüße".encode())) == [Close(code, "schöne Grüße")]
    assert client.is_closing
    assert has_gone(client)


def test_7_1_5_a_close_without_a_code_is_answered_without(client: Client) -> None:
    """Code 1005 stands for none."""
    assert client.ask(masked(0x88)) == [Close(1005)]
    assert has_gone(client)


@pytest.mark.parametrize("code", [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535])
def test_7_4_2_a_code_that_nobody_may_send_is_refused(client: Client, code: int) -> None:
    """Some are reserved, some for the API only."""
    [answer] = client.ask(close(code))
    assert answer.code == Parting.PROTOCOL_ERROR
    assert client.is_closing


def test_5_5_1_a_close_of_one_octet_is_refused(client: Client) -> None:
    """A code has two."""
    [answer] = client.ask(masked(0x88, b"\x03"))
    assert answer.code == Parting.PROTOCOL_ERROR


@pytest.mark.parametrize("reason", [b"\xff", "ö".encode()[:1], b"\xed\xa0\x80"])
def test_7_1_6_a_reason_is_text(client: Client, reason: bytes) -> None:
    """Code 1007 otherwise."""
    [answer] = client.ask(close(1000, reason))
    assert answer.code == Parting.INVALID


def test_5_5_1_the_longest_reason_is_answered_with_itself(client: Client) -> None:
    """A control frame has room for 123 octets of it."""
    assert client.ask(close(1000, b"x" * 123)) == [Close(1000, "x" * 123)]


def test_5_5_1_nothing_follows_a_close(client: Client) -> None:
    """What a client says after it is not heard, and what is sent to it then does not leave."""
    heard = client.ask(masked(0x81, b"before") + close(1000) + masked(0x81, b"after") + masked(0x89))
    assert heard == ["before", Close(1000)]
    assert client.echo.heard == ["before"]
    client.echo.link.send_texts([b"too late"])
    client.echo.link.send_binary(b"too late")
    assert client.take() == b""


def test_5_5_1_a_close_may_come_within_a_message(client: Client) -> None:
    """That message is then never complete."""
    assert client.ask(masked(0x01, b"never") + close(1001)) == [Close(1001)]
    assert client.echo.heard == []
    assert has_gone(client)


def test_5_5_1_our_close_may_go_out_within_a_message(client: Client) -> None:
    """The rest of a large one that waits for room does not."""
    client.link.pauseProducing()
    client.echo.link.send_binary(bytes(10 * PIECE_OCTETS))
    assert client.ask(close(1000)) == [Close(1000)]
    client.link.resumeProducing()
    assert client.take() == b""
    assert has_gone(client)


# the protocol closes


@pytest.mark.parametrize("parting", Parting)
def test_7_4_1_the_protocol_says_why_it_closes(client: Client, parting: Parting) -> None:
    """In a number, and a word for people."""
    client.echo.link.lose("enough", parting)
    assert client.hear() == [Close(parting, "enough")]


def test_7_1_1_the_server_waits_for_the_client_to_close(client: Client) -> None:
    """Then it ends the stream."""
    client.say(masked(0x81, b"bye"))
    assert client.hear() == [Close(Parting.NORMAL, "as asked")]
    assert not client.is_closing
    client.say(close(1000))
    assert client.is_closing
    assert client.take() == b""
    assert has_gone(client)


def test_7_1_1_what_waits_is_sent_before_the_close(client: Client) -> None:
    """The protocol says when that is."""
    client.echo.sent = Deferred()
    client.echo.link.lose("enough")
    client.echo.link.send_texts([b"last words"])
    assert client.hear() == ["last words"]
    client.echo.sent.callback(None)
    assert client.hear() == [Close(Parting.GOING_AWAY, "enough")]


def test_7_1_1_a_large_message_leaves_before_the_close(client: Client) -> None:
    """As the link has room for it."""
    client.link.pauseProducing()
    client.echo.link.send_binary(bytes(10 * PIECE_OCTETS))
    client.echo.link.lose("enough")
    assert client.hear() == []
    client.link.resumeProducing()
    assert client.hear() == [bytes(10 * PIECE_OCTETS), Close(Parting.GOING_AWAY, "enough")]


def test_a_client_that_is_told_to_go_is_not_heard(client: Client) -> None:
    """But its pings are answered until the Close has gone out, and its Close is seen."""
    client.echo.sent = Deferred()
    client.echo.link.lose("enough")
    client.say(masked(0x81, b"more") + masked(0x89, b"?") + masked(0x01, b"even") + masked(0x80, b"more"))
    assert client.echo.heard == []
    assert len(client.hear()) == 1
    client.say(close(1000))
    assert client.hear() == [Close(1000)]
    assert client.is_closing


def test_7_1_1_a_client_that_never_closes_is_cut_off(client: Client) -> None:
    """After `Limits.linger_seconds`."""
    client.echo.link.lose("enough")
    client.say(masked(0x81, b"I stay"))
    client.server.clock.advance(4.9)
    assert not client.is_closing
    client.server.clock.advance(0.1)
    assert client.is_closing
    assert has_gone(client)


def test_a_client_that_never_reads_is_cut_off(client: Client) -> None:
    """Also where not all can be sent."""
    client.echo.sent = Deferred()
    client.echo.link.lose("enough")
    client.server.clock.advance(5.0)
    assert client.is_closing
    assert client.take() == b""


def test_losing_twice_says_goodbye_once(client: Client) -> None:
    """The first reason counts."""
    client.echo.link.lose("first", Parting.REFUSED)
    client.echo.link.lose("second")
    assert client.hear() == [Close(Parting.REFUSED, "first")]


def test_losing_a_link_that_has_gone_does_nothing(client: Client) -> None:
    """No timer is left for it."""
    client.link.connectionLost()
    client.echo.link.lose("late")
    client.echo.link.abort("later")
    assert client.server.clock.getDelayedCalls() == []


def test_a_reason_that_is_too_long_is_cut(client: Client) -> None:
    """Not within a character."""
    client.echo.link.lose("ö" * 100)
    assert client.hear() == [Close(Parting.GOING_AWAY, "ö" * 61)]


def test_an_abort_says_nothing(client: Client) -> None:
    """The stream is gone at once."""
    client.echo.link.abort("enough")
    assert client.take() == b""
    assert client.is_closing


def test_7_4_1_a_protocol_that_fails_closes_with_1011(client: Client) -> None:
    """It is told of nothing more that was said; others are served."""
    heard = client.ask(masked(0x81, b"raise") + masked(0x81, b"hello"))
    assert heard == [Close(Parting.FAILED, "failed")]
    assert client.echo.heard == ["raise"]
    other = client.server.connect()
    assert other.ask(masked(0x81, b"hello")) == ["hello"]


def test_7_4_1_a_protocol_that_cannot_begin_closes_with_1011() -> None:
    """The client was let in by then."""
    server = Server()

    def begin(link: object) -> None:
        raise ValueError("no")

    server.plug.begin = begin  # type: ignore[method-assign,assignment]
    server.factory = server.plug.make_factory(None, server.listener, {})  # type: ignore[arg-type]
    client = server.connect(opened=False)
    client.say(head())
    assert client.take().endswith(b"\r\n\r\n\x88\x08\x03\xf3failed")
    client.say(masked(0x81, b"hello") + close(1011))
    assert has_gone(client)


# the stream ends


def test_7_1_4_a_stream_that_ends_without_a_close_is_a_loss(client: Client) -> None:
    """The protocol hears of it once."""
    client.say(masked(0x01, b"half"))
    client.link.connectionLost()
    client.link.connectionLost()
    assert [told for told in client.echo.told if told.startswith("lost")] == ["lost ConnectionDone"]
    assert has_gone(client)


def test_5_5_2_a_silent_client_is_asked_whether_it_is_there() -> None:
    """Who answers stays (reading 44 of UMQ)."""
    client = Server(ping_seconds=30, pong_seconds=10).connect()
    for _ in range(3):
        client.say(masked(0x8A))
        client.server.clock.pump([7.5] * 4)
        assert client.take() == b""
        client.server.clock.advance(7.5)
        assert client.take() == b"\x89\x00"
    assert not client.is_closing


def test_5_5_2_a_client_that_does_not_answer_is_cut_off() -> None:
    """It is half-open, most likely: there is nobody to say goodbye to."""
    client = Server(ping_seconds=30, pong_seconds=10).connect()
    client.server.clock.pump([7.5] * 5)
    assert client.take() == b"\x89\x00"
    assert not client.is_closing
    client.server.clock.advance(7.5)
    assert client.take() == b""
    assert client.is_closing


def test_what_one_client_has_half_sent_is_bounded_for_all_together() -> None:
    """`Limits.assembly_octets`: the one that grows is cut off, and gives back what it held."""
    server = Server(limits=Limits(assembly_octets=100_000))
    first, second = server.connect(), server.connect()
    first.say(masked(0x02, bytes(60_000)))
    assert server.listener.held == 60_000
    second.say(masked(0x02, bytes(60_000)))
    assert second.is_closing
    assert server.listener.held == 60_000
    assert first.ask(masked(0x80)) == [bytes(60_000)]
    assert server.listener.held == 0


def test_endless_empty_fragments_hold_nothing() -> None:
    """They cost their sender more than us."""
    client = Server().connect()
    client.say(masked(0x01) + masked(0x00) * 5000)
    assert client.link.held == 0
    assert client.ask(masked(0x80, b"the end")) == ["the end"]


def test_a_client_that_asks_and_does_not_read_is_cut_off() -> None:
    """At `Limits.outbox_octets`: answers cannot wait for ever."""
    client = Server(limits=Limits(outbox_octets=10_000)).connect()
    client.link.pauseProducing()
    client.say(masked(0x81, b"x" * 1000) * 10)
    assert not client.is_closing
    client.say(masked(0x81, b"x"))
    assert client.is_closing


def test_a_client_that_is_saying_goodbye_is_not_asked_whether_it_is_there() -> None:
    """Nothing follows our Close."""
    server = Server(ping_seconds=2, pong_seconds=60, limits=Limits(linger_seconds=60.0))
    client = server.connect()
    client.echo.link.lose("enough")
    client.take()
    server.clock.pump([1.0] * 5)
    assert client.take() == b""


def test_very_many_silent_clients_are_asked_over_turns() -> None:
    """Others are served in between."""
    server = Server(ping_seconds=4, pong_seconds=60)
    clients = [server.connect() for _ in range(5)]
    clock = server.clock
    for client in clients:
        write = client.transport.write

        def write_slowly(data: bytes, write: object = write) -> None:
            clock.rightNow += SHARE_SECONDS
            write(data)  # type: ignore[operator]

        client.transport.write = write_slowly
    clock.pump([1.0] * 3)
    clock.rightNow += 1.0
    asked = []
    for _ in range(5):
        turn(clock)
        asked.append(sum(bool(client.transport.value()) for client in clients))
    assert 0 < asked[0] < 3
    assert asked[-1] == len(clients)
