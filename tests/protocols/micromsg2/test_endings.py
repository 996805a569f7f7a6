"""How does a connection begin and end, and what can one client cost the others? (MicroMsg2, Handshake)"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.testing.message_store import MemoryMessageStore
from tests import vectors
from tests.protocols.memory_bus import REMOTE
from tests.protocols.micromsg2.memory_bus import PLAIN, MemoryBus
from tests.protocols.micromsg2.written import CONTINUED, command, error, extension, handshake, message, u16

VECTORS = {vector.name: vector for vector in vectors.load("micromsg2")}
WHOLE = handshake(b"json;batch-ack:max-count=10", b"pubsub", b"client") * 2


# the handshake


@pytest.mark.parametrize("at", range(len(WHOLE)))
def test_a_handshake_that_is_never_finished_is_ended(at: int) -> None:
    """Readings 1 and 25: wherever it stops. The client is told, and nothing is left of it."""
    bus = MemoryBus("[limits]\nhandshake_seconds = 5")
    client = bus.dial(WHOLE[:at])
    client.heard_octets()
    bus.wait(4.9)
    assert client.is_connected
    bus.wait(0.1)
    assert client.heard_octets() == error(b"no handshake in time")
    bus.wait()
    assert not client.is_connected
    assert bus.router.sessions() == ()


def test_a_finished_handshake_may_be_followed_by_silence() -> None:
    """The limit is for the handshake alone."""
    bus = MemoryBus("[limits]\nhandshake_seconds = 5")
    client = bus.connect()
    bus.wait(1000)
    assert client.is_connected


def test_a_silent_client_is_closed_if_that_is_asked_for() -> None:
    """As on every listener; off by default."""
    bus = MemoryBus("[limits]\nidle_seconds = 60")
    client = bus.connect()
    bus.clock.pump([15] * 6)
    assert not client.is_connected


def test_the_server_has_lists_of_its_own() -> None:
    """Readings 12, 13 and 22; MicroMsg2, Server reply: what an operator requires and suggests."""
    bus = MemoryBus(
        '[protocols.micromsg2]\nidentity = "srver"\nrequired = "batch-ack:max-count=3"\nsuggested = "dotnet;xml"'
    )
    client = bus.dial(handshake(b"pubsub", b"json;x-nope"))
    assert client.heard_octets() == handshake(b"pubsub;batch-ack:max-count=3", b"json;dotnet", b"srver")
    client.say(handshake(b"pubsub;batch-ack"))
    client.subscribe("q")
    client.send(b"q", b"1", b"2", b"3", b"4")
    assert client.payloads() == [b"1", b"2", b"3"]


def test_a_client_that_leaves_out_what_is_required_is_told_and_closed() -> None:
    """Reading 16; MicroMsg2, End of handshake."""
    bus = MemoryBus('[protocols.micromsg2]\nrequired = "batch-ack"')
    client = bus.dial(2 * handshake())
    assert client.heard_octets().endswith(error(b"required extension is missing: batch-ack"))
    bus.wait()
    assert not client.is_connected


def test_the_real_client_of_2015_is_served() -> None:
    """Readings 2, 9, 12 and 23: its handshake, its window of ten, its empty destination."""
    bus = MemoryBus()
    request = VECTORS["hs_real_client"].octets
    client = bus.dial(request)
    assert client.heard_octets() == VECTORS["hs_reply_echo"].octets
    client.say(request, VECTORS["send_no_destination"].octets)
    bus.wait(0.05)
    assert client.heard() == [extension(1, u16(1))]
    queue = bus.router.queue(b"default")
    assert queue is not None
    assert queue.ready == 1


# what ends a connection


#: After a handshake, each of these is the end; with the reason that it is counted under.
FATAL = {
    "two_type_bits": "flags",
    "reserved_bit": "flags",
    "hs_major_0": "version",
    "hs_unknown_required": "extension",
    "error_frame_large": None,
    "ack_4_as_printed": None,
    "dotnet_as_printed": None,
    "cmd_unknown": "command",
}


@pytest.mark.parametrize("name", FATAL)
def test_whatever_is_wrong_is_answered_alike_however_it_is_cut(name: str) -> None:
    """Readings 17, 26, 30, 31 and 32: an ERROR and the end; or of a command, an ERROR; or, where it is one, the end."""
    octets, reason = VECTORS[name].octets, FATAL[name]
    answers = set()
    for at in range(1, len(octets) + 1):
        bus = MemoryBus()
        bystander = bus.connect()
        bystander.subscribe("topic/t")
        client = bus.dial() if name.startswith("hs_") else bus.connect(b"json;dotnet;batch-ack")
        client.say(octets[:at])
        client.say(octets[at:])
        answers.add(client.heard_octets())
        bus.wait()
        assert client.is_connected is (reason == "command")
        assert bus.drops == ({reason: 1} if reason else {})
        bystander.send(b"topic/t", b"unharmed")
        assert bystander.payloads() == [b"unharmed"]
    [answer] = answers
    assert bool(answer) is bool(reason)


@pytest.mark.parametrize("vector", vectors.load("micromsg2"), ids=lambda vector: vector.name)
@pytest.mark.parametrize("is_open", [True, False])
def test_no_vector_harms_anybody(vector: vectors.Vector, is_open: bool) -> None:
    """In place of a handshake and after one, octet by octet; what is expected back comes back."""
    bus = MemoryBus()
    bystander = bus.connect()
    bystander.subscribe("topic/bystander")
    client = bus.connect(b"json;dotnet;batch-ack;pubsub") if is_open else bus.dial()
    for name in VECTORS.keys() & set(vector.after):
        client.say(VECTORS[name].octets)
        client.heard_octets()
    for octet in vector.octets:
        client.say(bytes([octet]))
    bus.wait()
    if vector.reply is not None and is_open is not vector.name.startswith("hs_"):
        assert client.heard_octets() == b"".join(vector.reply)
    client.close()
    bystander.send(b"topic/bystander", b"unharmed")
    assert bystander.payloads() == [b"unharmed"]
    bystander.close()
    bus.wait()
    assert bus.router.sessions() == ()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (bytes([9]) + b"\xff\xff\xff\xff", "larger than is allowed here"),
        (message(1, b"q", b"", b"", 8)[:-4] + b"\xff\xff\xff\xff", "larger than is allowed here"),
        (b"\x0a\x01" + b"\x7f\xff\xff\xff", "larger than is allowed here"),
        (command(b"subscribe;topic=t" + 10_000 * b",filter=a", 8), "larger than is allowed here"),
        (bytes([17]), "flags 0x11"),
    ],
)
def test_lengths_that_lie_end_the_connection_and_hold_nothing(said: bytes, told: str) -> None:
    """MicroMsg2, Frame prefix; readings 34 and 46: before any of what they announce has come."""
    bus = MemoryBus()
    client = bus.connect()
    client.say(said)
    assert client.heard() == [error(told.encode())]
    assert client.held == 0
    bus.wait()
    assert not client.is_connected


def test_a_hundred_thousand_frames_of_one_message_are_bounded() -> None:
    """Reading 45: what is joined counts as one payload."""
    bus = MemoryBus("[limits]\nbody_octets = 100_000")
    client = bus.connect(PLAIN)
    for _ in range(100):
        client.say(1_000 * message(1, b"q", b"", b"", CONTINUED))
    assert client.held == 0
    for _ in range(11):
        client.say(100 * message(1, b"", 100 * b"p", b"", CONTINUED))
    assert client.complaints() == ["larger than is allowed here"]


def test_half_received_messages_of_all_clients_together_are_bounded() -> None:
    """The one that passes the bound is cut off, the others are read on, and its room is free at once."""
    bus = MemoryBus("[limits]\nassembly_octets = 150_000")
    begun = message(1, b"q", 90_000 * b"p", b"", 8)
    one, two = bus.connect(PLAIN, begun[:80_000]), bus.connect(PLAIN, begun[:60_000])
    two.say(begun[60_000:80_000])
    assert two.held == 0
    bus.wait()
    assert not two.is_connected
    one.say(begun[80_000:])
    assert bus.router.peek(b"q", 2)[0].message.payload == 90_000 * b"p"
    assert bus.connect(PLAIN, begun[:80_000]).is_connected


def test_an_error_is_the_last_word_of_a_client() -> None:
    """Reading 30: it is not answered, and nothing behind it is heard."""
    bus = MemoryBus()
    client = bus.connect()
    client.say(error(b"I cannot go on\n"), message(1, b"q", b"ghost"))
    bus.wait()
    assert client.heard() == []
    assert not client.is_connected
    assert bus.router.queue(b"q") is None


def test_a_client_that_is_lost_keeps_nothing() -> None:
    """Whichever way it goes, what it subscribed and consumed is over."""
    bus = MemoryBus()
    for ending in ("close", "reset", "end_sending"):
        client = bus.connect()
        client.subscribe("topic/t")
        client.subscribe("q")
        client.send(b"q", b"1")
        getattr(client, ending)()
        bus.wait()
        assert bus.router.sessions() == ()
        assert bus.router.subscriptions == 0
    queue = bus.router.queue(b"q")
    assert queue is not None
    assert (queue.consumers, queue.ready, queue.unsettled) == (0, 3, 0)


def test_a_client_that_has_said_all_is_still_told_what_is_owing() -> None:
    """Half-close: it learns what is safe, also of what is not yet on the disk."""
    store = MemoryMessageStore(is_slow=True)
    bus = MemoryBus(store=store)
    client, other = bus.connect(), bus.connect()
    client.send(b"q", b"1", b"2")
    client.end_sending()
    bus.wait()
    assert (client.heard(), client.is_connected) == ([], True)
    other.send(b"topic/t", b"1")
    other.end_sending()
    assert other.heard() == [extension(1, u16(1))]
    bus.wait()
    assert not other.is_connected
    store.write()
    bus.wait()
    assert client.heard() == [extension(1, u16(2))]
    bus.wait()
    assert not client.is_connected


def test_a_client_that_has_said_all_is_told_of_a_failure_too() -> None:
    """And is then closed without further waiting."""
    store = MemoryMessageStore(is_slow=True)
    bus = MemoryBus(store=store)
    client = bus.connect()
    client.send(b"q", b"1")
    client.end_sending()
    store.break_down()
    bus.wait()
    assert client.complaints() == ["message 1: the disk is broken"]
    bus.wait()
    assert not client.is_connected


def test_a_store_that_never_answers_does_not_keep_a_connection() -> None:
    """After `linger_seconds` it is cut off."""
    bus = MemoryBus("[limits]\nlinger_seconds = 1", store=MemoryMessageStore(is_slow=True))
    client = bus.connect()
    client.send(b"q", b"1")
    client.end_sending()
    bus.wait(1)
    bus.wait()
    assert not client.is_connected
    assert bus.router.sessions() == ()


def test_a_bus_with_rules_turns_strangers_away_word_by_word() -> None:
    """Nothing is open by default; MicroMsg2 has no login."""
    bus = MemoryBus()
    stranger = bus.connect(PLAIN, facts=REMOTE)
    stranger.subscribe("topic/t")
    stranger.subscribe("q")
    stranger.send(b"q", b"1")
    stranger.send(b"topic/t", b"2")
    assert stranger.complaints() == [
        "subscribe topic/t: subscribe is not allowed",
        "subscribe q: consume is not allowed",
        "message 1: enqueue is not allowed",
        "message 2: publish is not allowed",
    ]


# the soft stop


def test_in_a_soft_stop_acknowledgements_are_still_heard() -> None:
    """Without them what is on its way could not arrive; all else is ignored, and not acknowledged."""
    bus = MemoryBus()
    client, producer = bus.connect(b"ack;pubsub"), bus.connect(b"ack")
    client.subscribe("topic/t")
    producer.send(b"topic/t", b"1")
    producer.send(b"topic/t", b"2")
    producer.heard()
    bus.stop()
    client.subscribe("q")
    producer.send(b"topic/t", b"3")
    assert client.payloads() == [b"1"]
    client.acknowledge(1)
    assert client.payloads() == [b"2"]
    client.acknowledge(2)
    for _ in range(10):
        bus.wait()
    assert producer.heard() == client.heard() == []
    assert not client.is_connected
    assert bus.has_ended


def test_in_a_soft_stop_a_paused_producer_is_read() -> None:
    """Else its acknowledgements would not be heard."""
    bus = MemoryBus('[queues]\nmax_messages = 1\noverflow = "pause"')
    producer = bus.connect()
    producer.send(b"q", b"1", b"2")
    assert not producer.is_read
    bus.stop()
    assert producer.is_read


def test_what_is_owing_is_acknowledged_before_the_end() -> None:
    """A producer need not say again what is safe."""
    bus = MemoryBus()
    producer = bus.connect()
    producer.send(b"q", b"1")
    bus.stop()
    bus.wait()
    assert producer.heard() == [extension(1, u16(1))]


def test_a_client_that_acknowledges_nothing_does_not_hold_up_the_stop() -> None:
    """Each wait has a limit."""
    bus = MemoryBus("[limits]\ndrain_seconds = 2\nlinger_seconds = 1")
    client = bus.connect(b"ack;pubsub")
    client.subscribe("topic/t")
    client.send(b"topic/t", b"1")
    client.send(b"topic/t", b"2")
    bus.stop()
    bus.clock.pump([0.5] * 20)
    assert bus.has_ended


def test_a_draining_bus_takes_no_more_clients() -> None:
    """It aborts them before any handshake."""
    bus = MemoryBus()
    bus.stop()
    client = bus.dial(handshake())
    bus.wait()
    assert not client.is_connected
    assert client.heard_octets() == b""


def test_nothing_is_left_to_be_done_later_when_all_have_gone() -> None:
    """No timer outlives its connection."""
    store = MemoryMessageStore(is_slow=True)
    bus = MemoryBus(store=store)
    calls = len(bus.clock.getDelayedCalls())
    consumer, producer, young = bus.connect(PLAIN), bus.connect(), bus.dial()
    consumer.subscribe("q")
    producer.send(b"topic/t", b"1")
    producer.send(b"q", b"2")
    for client in (consumer, producer, young):
        client.reset()
    bus.wait()
    assert len(bus.clock.getDelayedCalls()) <= calls


_FRAMES = [vector.octets for vector in VECTORS.values() if not vector.name.startswith("hs_")]


@given(st.lists(st.sampled_from(_FRAMES) | st.binary(max_size=20), max_size=12), st.randoms(use_true_random=False))
def test_no_octets_whatever_do_harm(frames: list[bytes], random: Random) -> None:
    """Vectors and noise, in any pieces: nothing is raised, others are served, and in the end nothing is left."""
    bus = MemoryBus()
    bystander = bus.connect()
    bystander.subscribe("topic/bystander")
    client = bus.connect(b"json;dotnet;batch-ack:max-count=3;pubsub")
    octets = b"".join(frames)
    while octets:
        size = random.randint(1, 30)
        client.say(octets[:size])
        octets = octets[size:]
        bus.wait(random.choice((0, 0.05)))
    bystander.send(b"topic/bystander", b"unharmed")
    assert bystander.payloads() == [b"unharmed"]
    for one in (client, bystander):
        one.close()
    bus.wait()
    assert bus.router.sessions() == ()
    assert bus.router.subscriptions == 0
