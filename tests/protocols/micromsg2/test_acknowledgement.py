"""Does the sender stop at its window, and does it learn what has been taken over? (MicroMsg2, Reliable, batch-ack)"""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.micromsg2.codec import Run
from fmqbus.protocols.micromsg2.events import Acknowledged, Refused, Released
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.testing.micromsg2 import End, Pair, messages_of, server
from tests import vectors
from tests.protocols.micromsg2.written import CONTINUED, MIB, error, extension, handshake, message

VECTORS = {vector.name: vector for vector in vectors.load("micromsg2")}


def acknowledging(extensions: bytes) -> End:
    """A server whose client chose these extensions."""
    end = server()
    end.hear(2 * handshake(extensions))
    end.written()
    return end


def send(end: End, count: int, first: int = 1) -> None:
    """Messages, each with its own place in the order as tag."""
    for number in range(first, first + count):
        end.connection.send(b"d", b"", tag=number)


def sent(end: End) -> int:
    """How many messages the end has written since the last call."""
    return len(end.written()) // len(message(1, b"d"))


def numbers(end: End, octets: bytes) -> list[int]:
    """The messages that have come, by their numbers; each is said to be safe in its turn."""
    received = []
    for event in end.hear(octets):
        for single in event.frames if isinstance(event, Run) else [event]:
            if isinstance(single, Received):
                received.append(single.number)
                end.connection.safe(single.number)
    return received


# what we send


@pytest.mark.parametrize(
    ("extensions", "window"),
    [
        (b"ack", 1),
        (b"batch-ack", 10),
        (b"batch-ack:max-count=3", 3),
        (b"batch-ack:count=4", 4),
        (b"batch-ack:batch-max=5", 5),
        (b"ack:MessagesPerAck=6,AckExpireTime=1000", 6),
        (b"batch-ack:max-count:7;", 7),
        (b"batch-ack;ack:count=99", 10),
        (b"ack;batch-ack:count=99", 1),
    ],
)
def test_a_sender_stops_at_its_window(extensions: bytes, window: int) -> None:
    """MicroMsg2, Reliable, batch-ack; readings 9, 20, 22 and 23: what was said, or else 10 and, of plain ack, 1."""
    end = acknowledging(extensions)
    assert end.connection.is_acknowledged
    send(end, window)
    assert not end.connection.is_waiting
    send(end, 3)
    assert end.connection.is_waiting
    assert sent(end) == window


def test_a_window_beyond_the_limit_is_the_limit() -> None:
    """Reading 22: also where the last step insists on more."""
    end = server(limits=attrs.evolve(DEFAULT_LIMITS, window=2))
    end.hear(2 * handshake(b"batch-ack:count=1000000000"))
    end.written()
    send(end, 5)
    assert sent(end) == 2


def test_without_acknowledgements_nothing_stops_a_sender() -> None:
    """MicroMsg2, MESSAGE frame: messages are pushed as soon as they arrive, and that is all."""
    end = acknowledging(b"json")
    assert not end.connection.is_acknowledged
    send(end, 1000)
    assert not end.connection.is_waiting
    assert sent(end) == 1000


def test_an_acknowledgement_makes_room_and_tells_what_was_taken_over() -> None:
    """Reading 41: up to and including the number."""
    end = acknowledging(b"json;dotnet;batch-ack:count=5")
    send(end, 12)
    assert sent(end) == 5
    assert end.hear(VECTORS["ack_4"].octets) == [Acknowledged([1, 2, 3, 4])]
    assert sent(end) == 4
    assert end.hear(extension(3, b"\0\x09")) == [Acknowledged([5, 6, 7, 8, 9]), Released()]
    assert sent(end) == 3
    assert end.hear(extension(3, b"\0\x0c")) == [Acknowledged([10, 11, 12])]


def test_plain_acknowledgements_are_the_same_frame() -> None:
    """Reading 42."""
    end = acknowledging(b"ack")
    send(end, 2)
    assert end.written() == message(1, b"d")
    assert end.hear(extension(1, b"\0\1")) == [Acknowledged([1]), Released()]
    assert end.written() == message(2, b"d")


def test_an_acknowledgement_settles_across_the_wrap() -> None:
    """MicroMsg2, batch-ack, example: 65534, 65535, 1, 2 and 3 after 65533."""
    end = acknowledging(b"json;dotnet;batch-ack:count=30000")
    for up_to in (30_000, 60_000, 65_533):
        end.connection.send(b"d", b"", tag=up_to)
        while end.connection._numbers.sent != up_to:
            end.connection.send(b"d", b"")
        end.hear(extension(3, up_to.to_bytes(2, "big")))
    end.written()
    send(end, 5)
    assert end.written() == b"".join(message(number, b"d") for number in (65_534, 65_535, 1, 2, 3))
    assert end.hear(extension(3, b"\0\0")) == []
    assert end.hear(VECTORS["ack_wrap"].octets) == [Acknowledged([1, 2, 3, 4, 5])]


@pytest.mark.parametrize("number", [0, 1, 2, 6, 40_000, 65_535])
def test_an_acknowledgement_of_what_is_not_outstanding_is_ignored(number: int) -> None:
    """Reading 40: zero, again what was acknowledged, what was never sent."""
    end = acknowledging(b"json;dotnet;batch-ack:count=5")
    send(end, 5)
    end.hear(extension(3, b"\0\2"))
    assert end.hear(extension(3, number.to_bytes(2, "big"))) == []
    assert end.hear(extension(3, b"\0\5")) == [Acknowledged([3, 4, 5])]


def test_nothing_is_outstanding_before_anything_is_sent() -> None:
    """Reading 40."""
    end = acknowledging(b"json;dotnet;batch-ack")
    for name in ("ack_4", "ack_wrap", "ack_unknown"):
        assert end.hear(VECTORS[name].octets) == []
    assert end.written() == b""


@pytest.mark.parametrize("payload", [b"", b"\1", b"\0\0\1", b"1 million"])
def test_what_is_no_acknowledgement_is_refused(payload: bytes) -> None:
    """It has two octets (reading 28); the connection goes on."""
    end = acknowledging(b"batch-ack")
    send(end, 1)
    end.written()
    assert end.hear(extension(1, payload)) == [Refused("acknowledgement")]
    assert end.written() == error(b"an acknowledgement has 2 octets")
    assert end.hear(extension(1, b"\0\1")) == [Acknowledged([1])]


def test_the_window_counts_frames() -> None:
    """Reading 45: a message of several waits half-sent, nothing comes between, and its last frame settles it."""
    end = acknowledging(b"batch-ack:count=2")
    end.connection.send(b"d", 3 * MIB * b"p", tag="large")
    end.connection.send(b"d", b"", tag="next")
    frames = end.written()
    assert len(frames) == len(message(1, b"d", b"", b"", 8)) + len(message(2, b"", b"", b"", 8)) + 2 * MIB
    assert end.hear(extension(1, b"\0\1")) == []
    assert end.written() == message(3, b"", MIB * b"p", b"", 8)
    assert end.hear(extension(1, b"\0\3")) == [Acknowledged(["large"]), Released()]
    assert end.written() == message(4, b"d")


# what we receive


@pytest.mark.parametrize(
    ("window", "said"), [(1, [1, 2, 3, 4, 5, 6]), (2, [1, 2, 3, 4, 5, 6]), (5, [3, 6]), (6, [3, 6])]
)
def test_what_is_safe_is_acknowledged_at_half_the_window(window: int, said: list[int]) -> None:
    """Reading 39: so that the sender never waits for us; at once for a window of 1."""
    end = acknowledging(b"batch-ack:count=%d" % window)
    assert numbers(end, b"".join(message(number, b"d") for number in range(1, 7))) == [1, 2, 3, 4, 5, 6]
    assert end.written() == b"".join(extension(1, number.to_bytes(2, "big")) for number in said)
    assert not end.connection.is_owing


def test_what_is_owing_can_be_acknowledged_at_any_time() -> None:
    """Reading 39: after 50 ms, by the session's clock."""
    end = acknowledging(b"batch-ack")
    numbers(end, message(1) + message(2))
    assert end.connection.is_owing
    assert end.written() == b""
    end.connection.acknowledge_now()
    assert end.written() == extension(1, b"\0\2")
    assert not end.connection.is_owing
    end.connection.acknowledge_now()
    assert end.written() == b""


def test_what_is_not_safe_is_not_acknowledged() -> None:
    """However many have come."""
    end = acknowledging(b"batch-ack:count=2")
    end.hear(message(1) + message(2) + message(3))
    end.connection.acknowledge_now()
    assert end.written() == b""
    end.connection.safe(2)
    assert end.written() == extension(1, b"\0\2")


def test_frames_of_a_message_that_goes_on_are_acknowledged() -> None:
    """Reading 45: else a sender with a small window would wait for ever. Not before all that came earlier is safe."""
    end = acknowledging(b"batch-ack:count=2")
    end.hear(message(1, b"d"))
    end.hear(message(2, b"d", b"a", b"", CONTINUED))
    assert end.written() == b""
    end.connection.safe(1)
    assert end.written() == extension(1, b"\0\2")
    end.hear(message(3, b"", b"b", b"", CONTINUED))
    assert end.written() == extension(1, b"\0\3")
    [whole] = end.hear(message(4, b"", b"c"))
    assert end.written() == b""
    end.connection.safe(4)
    assert end.written() == extension(1, b"\0\4")
    assert isinstance(whole, Received)
    assert whole.payload == b"abc"


def test_without_acknowledgements_nothing_is_owing() -> None:
    """There is nobody to tell."""
    end = acknowledging(b"json")
    numbers(end, message(1) + message(2, b"", b"", b"", CONTINUED) + message(3))
    assert not end.connection.is_owing
    assert end.written() == b""


def test_nothing_is_acknowledged_after_the_end() -> None:
    """A commit may be later than the connection."""
    end = acknowledging(b"ack")
    end.hear(message(1))
    end.connection.fail("gone")
    end.written()
    end.connection.safe(1)
    end.connection.acknowledge_now()
    assert end.written() == b""


# both ends


@given(
    st.integers(1, 20),
    st.lists(st.tuples(st.sampled_from(["client", "server"]), st.sampled_from([0, 1, 300, MIB + 1])), max_size=30),
)
def test_everything_arrives_in_order_and_is_acknowledged(window: int, said: list[tuple[str, int]]) -> None:
    """Reading 39: both directions, whatever the window; every tag comes back once, in order."""
    pair = Pair(f"batch-ack:max-count={window}")
    ends = {"client": pair.client, "server": pair.server}
    for at, (name, octets) in enumerate(said):
        ends[name].connection.send(name.encode(), octets * b"p", tag=(name, at))
    told = pair.talk()
    arrived = [(message.destination.decode(), len(message.payload)) for message in messages_of(told)]
    settled = [tag for event in told if isinstance(event, Acknowledged) for tag in event.tags]
    for speaker in ends:
        assert [each for each in arrived if each[0] == speaker] == [each for each in said if each[0] == speaker]
        assert [at for name, at in settled if name == speaker] == [
            at for at, (name, _) in enumerate(said) if name == speaker
        ]
        assert not ends[speaker].connection.is_waiting
