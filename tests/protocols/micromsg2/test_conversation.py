"""May this happen now? The states of a conversation and what ends it. (MicroMsg2, Handshake, Frame prefix)"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fmqbus.protocols.micromsg2.codec import Run
from fmqbus.protocols.micromsg2.connection import State
from fmqbus.protocols.micromsg2.events import ErrorReceived, Failed, Opened, Refused
from fmqbus.testing.micromsg2 import End, Pair, client, server
from tests import vectors
from tests.protocols.micromsg2.written import COMMAND, CONTINUED, command, error, extension, handshake, message

VECTORS = {vector.name: vector for vector in vectors.load("micromsg2")}


def server_with_reply() -> End:
    """A server that awaits the last step."""
    end = server()
    end.hear(handshake())
    end.written()
    return end


def open_server() -> End:
    """A server that reads frames."""
    end = server_with_reply()
    end.hear(handshake())
    return end


def open_client() -> End:
    """A client that reads frames."""
    end = client()
    end.hear(handshake())
    end.written()
    return end


# the handshake


def test_a_handshake_takes_three_steps() -> None:
    """MicroMsg2, Client/Server architecture, Complete handshake example."""
    here, there = client(required="json;dotnet", identity=b"hulk"), server(suggested="batch-ack", identity=b"srver")
    request = here.written()
    assert request == VECTORS["hs_json_dotnet"].octets
    assert there.hear(request) == []
    reply = there.written()
    assert reply == handshake(b"json;dotnet", b"batch-ack", b"srver")
    assert here.hear(reply) == [Opened(b"srver")]
    final = here.written()
    assert final == VECTORS["hs_final_example"].octets
    assert there.hear(final) == [Opened(b"hulk")]
    assert there.written() == b""
    for end in (here, there):
        assert end.connection.state is State.OPEN
        assert [(each.index, each.extension.name) for each in end.connection.agreed] == [
            (1, "json"),
            (2, "dotnet"),
            (3, "batch-ack"),
        ]


def test_a_handshake_may_be_cut_anywhere() -> None:
    """Octet by octet, both ways."""
    there = server(suggested="batch-ack:max-count=7")
    here = client(required="json")
    for speaker, listener in ((here, there), (there, here), (here, there)):
        for octet in speaker.written():
            listener.hear(bytes([octet]))
    assert here.connection.state is there.connection.state is State.OPEN
    assert here.connection.held == there.connection.held == 0


def test_frames_may_follow_the_last_step_in_the_same_segment() -> None:
    """Reading 21."""
    end = server()
    opened, run = end.hear(2 * handshake() + message(1, b"commands", b"hello"))
    assert opened == Opened(b"")
    assert isinstance(run, Run)


def test_a_length_that_lies_leaves_the_server_waiting() -> None:
    """Reading 1: until the handshake's time is over."""
    end = server()
    assert end.hear(VECTORS["hs_json_dotnet_as_printed"].octets) == []
    assert end.connection.state is State.REQUEST_AWAITED
    assert end.written() == b""


def test_an_endless_handshake_holds_no_more_than_its_lengths_say() -> None:
    """Reading 6: two lists of 65535 octets, and an identity of 255."""
    end = server()
    octets = handshake(65_535 * b"a", 65_535 * b"b", 255 * b"i")
    for at in range(0, len(octets), 1000):
        end.hear(octets[at : at + 1000])
        assert end.connection.held <= 131_329
    assert end.connection.state is State.CLOSED


# what ends it


REFUSALS: list[tuple[str, Callable[[], End], bytes]] = [
    ("version", server, VECTORS["hs_major_0"].octets),
    ("extension", server, VECTORS["hs_unknown_required"].octets),
    ("window", server, handshake(b"batch-ack:count=0")),
    ("extensions", server, handshake(300 * b"x;")),
    ("version", server_with_reply, handshake(major=0)),
    ("extension", server_with_reply, handshake(b"x-nope")),
    ("window", server_with_reply, handshake(b"ack:count=0")),
    ("extension", lambda: _asked_for_acks(), handshake()),
    ("version", client, handshake(major=0)),
    ("extension", client, handshake(b"x-nope")),
    ("flags", server, b"\x05"),
    ("flags", server_with_reply, b"\x24"),
    ("flags", client, b"\x07"),
    ("flags", open_server, VECTORS["two_type_bits"].octets),
    ("flags", open_server, VECTORS["reserved_bit"].octets),
    ("flags", open_server, bytes([COMMAND | CONTINUED])),
    ("flags", open_client, b"\x40"),
    ("oversize", open_server, bytes([9]) + b"\xff\xff\xff\xff"),
    ("oversize", open_client, message(1, b"", b"", b"", 8)[:-4] + b"\xff\xff\xff\xff"),
]


def _asked_for_acks() -> End:
    end = server(required="batch-ack")
    end.hear(handshake())
    end.written()
    return end


@pytest.mark.parametrize(("reason", "made", "octets"), REFUSALS)
def test_what_cannot_be_is_told_by_an_error_and_is_the_end(reason: str, made: Callable[[], End], octets: bytes) -> None:
    """MicroMsg2, Handshake: ERROR, then disconnect; readings 2, 16, 17, 31, 32 and 46."""
    end = made()
    end.written()
    [failed] = end.hear(octets)
    assert isinstance(failed, Failed)
    assert failed.reason == reason
    assert end.written() == error(failed.text.encode())
    assert end.connection.state is State.CLOSED


def test_the_error_for_an_unknown_extension_is_the_vector() -> None:
    """Reading 17; octet for octet."""
    end = server()
    end.hear(VECTORS["hs_unknown_required"].octets)
    assert (end.written(),) == VECTORS["hs_unknown_required"].reply


@pytest.mark.parametrize("made", [server, server_with_reply, client])
@pytest.mark.parametrize("name", ["error_frame", "error_frame_large"])
def test_an_error_in_place_of_a_handshake_is_the_end(made: Callable[[], End], name: str) -> None:
    """Reading 3: bit 4 of the first octet; however it is cut."""
    end = made()
    end.written()
    octets = VECTORS[name].octets
    events = end.hear(*(octets[at : at + 1] for at in range(len(octets))))
    assert [type(event) for event in events] == [ErrorReceived]
    assert end.connection.state is State.CLOSED
    assert end.written() == b""


@pytest.mark.parametrize("name", ["error_frame_large", "ack_4_as_printed", "dotnet_as_printed"])
def test_an_error_from_a_client_is_the_end(name: str) -> None:
    """Reading 26: 4 is ERROR, whatever the examples print."""
    end = open_server()
    assert [type(event) for event in end.hear(VECTORS[name].octets)] == [ErrorReceived]
    assert end.connection.state is State.CLOSED


def test_an_error_from_a_server_is_told_and_the_connection_goes_on() -> None:
    """Reading 30: it may be the answer to a command."""
    end = open_client()
    assert end.hear(VECTORS["error_frame"].octets) == [ErrorReceived("unsupported extension: x-nope")]
    assert end.connection.state is State.OPEN


def test_nothing_is_heard_or_said_after_the_end() -> None:
    """What was read together with it is left."""
    end = open_server()
    assert len(end.hear(message(1) + b"\xff" + message(2))) == 2
    end.written()
    assert end.hear(message(3), handshake(), b"\xff") == []
    end.connection.send(b"d", b"p")
    end.connection.refuse("no")
    end.connection.fail("no")
    end.connection.command("c")
    assert end.written() == b""


@pytest.mark.parametrize("extensions", [b"json", b"dotnet"])
def test_what_the_session_ends_is_not_read_on(extensions: bytes) -> None:
    """In the middle of a segment, whether an extension looks at each message or not."""
    end = server()
    end.hear(2 * handshake(extensions))
    end.written()
    events = end.connection.receive(message(1, b"a") + message(2, b"a") + message(3, b"b"))
    next(events)
    end.connection.fail("shutting down")
    assert list(events) == []
    assert end.written() == error(b"shutting down")


# commands


def test_an_unknown_command_is_refused_and_the_connection_goes_on() -> None:
    """Reading 30."""
    end = open_server()
    refused, run = end.hear(VECTORS["cmd_unknown"].octets + message(1))
    assert refused == Refused("command")
    assert isinstance(run, Run)
    assert end.written() == error(b"unknown command: frobnicate")


def test_a_command_to_a_client_is_ignored() -> None:
    """Reading 55: it is the client that asks; and an ERROR of a client's would be the end."""
    pair = Pair("pubsub")
    assert pair.client.hear(command(b"subscribe;topic=a")) == [Refused("command")]
    assert pair.client.written() == b""
    assert pair.client.connection.state is State.OPEN


def test_a_client_has_no_word_to_refuse_with() -> None:
    """To a server an ERROR is the end."""
    end = open_client()
    end.connection.refuse("no")
    assert end.written() == b""
    end = open_server()
    end.connection.refuse("no such topic")
    assert end.written() == error(b"no such topic")


# extensions that are not there


@pytest.mark.parametrize("index", [0, 1, 9, 255])
def test_an_index_that_was_not_agreed_on_is_skipped(index: int) -> None:
    """Reading 65, by its length, that proxies can."""
    end = open_server()
    [run] = end.hear(extension(index, b"abc") + message(1))
    assert isinstance(run, Run)
    assert end.written() == b""


# messages


def test_messages_go_both_ways_under_numbers_of_their_own() -> None:
    """MicroMsg2, Client/Server architecture; readings 33, 36 and 38: commands and extensions have no number."""
    pair = Pair("pubsub")
    pair.client.connection.send(b"commands", b"1")
    pair.client.connection.command("unsubscribe", (("topic", "a"),))
    pair.client.connection.send(b"commands", b"2", {"k": "v"})
    assert pair.client.written() == (
        message(1, b"commands", b"1") + command(b"unsubscribe;topic=a") + message(2, b"commands", b"2", b"k:Tv")
    )
    pair.server.connection.send(b"topic/a", b"3")
    assert pair.server.written() == message(1, b"topic/a", b"3")


def test_numbers_wrap_on_the_wire() -> None:
    """Reading 37: 1 follows 65535."""
    pair = Pair()
    for _ in range(65_534):
        pair.server.connection.send(b"topic/t", b"")
    pair.server.written()
    pair.server.connection.send(b"topic/t", b"a")
    pair.server.connection.send(b"topic/t", b"b")
    assert pair.server.written() == VECTORS["seq_wrap"].octets


@pytest.mark.parametrize("number", [0, 1, 7, 65_535])
def test_any_number_is_accepted(number: int) -> None:
    """Reading 37."""
    end = open_server()
    [run] = end.hear(message(number, b"d"))
    assert isinstance(run, Run)
    assert run.frames.last_number == number
