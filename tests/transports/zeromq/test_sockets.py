"""Does a ZeroMQ socket carry messages both ways, within bounds, and leave everybody else alone?"""

from __future__ import annotations

import socket as sockets
import struct
from collections.abc import Callable
from typing import Any

import pytest
import pytest_twisted
import zmq

from fmqbus.errors import Detached, Overloaded
from fmqbus.interfaces import IPartsSocket
from tests.transports.zeromq.live import Place, received, turn, until

Listen = Callable[..., Place]


@pytest_twisted.ensureDeferred
async def test_a_message_comes_with_its_sender_and_an_answer_goes_back(listen: Listen) -> None:
    """The identity is the peer's own; address and kind of socket are ZeroMQ's word. (eMQP, ROUTER Addressing)"""
    place = listen()
    peer = place.peer(identity=b"me")
    peer.send_multipart([b"", b"hello"])
    await until(lambda: place.protocol.heard)
    ((name, identity, parts, origin),) = place.protocol.heard
    assert (name, identity, parts) == ("frontend", b"me", [b"", b"hello"])
    assert origin.facts.is_local
    assert origin.facts.address == "127.0.0.1"
    assert origin.socket_type == "DEALER"
    assert place.socket().send(b"me", [b"", b"welcome"])
    await until(lambda: peer.poll(0))
    assert received(peer) == [b"", b"welcome"]


@pytest_twisted.ensureDeferred
async def test_binary_identities_and_none_at_all_do(listen: Listen) -> None:
    """Who sets no identity is given one by ZeroMQ. (reading 26)"""
    place = listen()
    binary = place.peer(identity=b"\xff\xfe\x80")
    nameless = place.peer()
    for peer in (binary, nameless):
        peer.send(b"x")
    await until(lambda: len(place.protocol.heard) == 2)
    identities = {identity for _, identity, _, _ in place.protocol.heard}
    assert b"\xff\xfe\x80" in identities
    for identity in identities:
        place.socket().send(identity, [b"y"])
    await until(lambda: binary.poll(0) and nameless.poll(0))


@pytest_twisted.ensureDeferred
async def test_senders_alike_share_what_is_known_of_them(listen: Listen) -> None:
    """So that what they may do is found out once."""
    place = listen()
    for _ in range(2):
        place.peer().send(b"x")
    await until(lambda: len(place.protocol.heard) == 2)
    (_, _, _, first), (_, _, _, second) = place.protocol.heard
    assert first is second


@pytest_twisted.ensureDeferred
async def test_a_req_peer_is_known_as_one(listen: Listen) -> None:
    """It takes one answer only, and ZeroMQ puts the empty part there by itself. (reading 6)"""
    place = listen()
    peer = place.peer(zmq.REQ)
    peer.send(b"question")
    await until(lambda: place.protocol.heard)
    ((_, identity, parts, origin),) = place.protocol.heard
    assert (list(parts), origin.socket_type) == ([b"", b"question"], "REQ")
    place.socket().send(identity, [b"", b"answer"])
    await until(lambda: peer.poll(0))
    assert received(peer) == [b"answer"]


@pytest_twisted.ensureDeferred
async def test_who_is_not_there_is_told_of_at_once(listen: Listen) -> None:
    """As are those that were, once ZeroMQ has noticed. (reading 26)"""
    place = listen()
    with pytest.raises(Detached):
        place.socket().send(b"nobody", [b"x"])
    with pytest.raises(Detached):
        place.socket().send(b"", [b"x"])
    peer = place.peer(identity=b"me")
    peer.send(b"x")
    await until(lambda: place.protocol.heard)
    peer.close()

    def is_gone() -> bool:
        try:
            place.socket().send(b"me", [b"x"])
        except Detached:
            return True
        return False

    await until(is_gone)


@pytest_twisted.ensureDeferred
async def test_who_returns_under_its_identity_takes_it_over(listen: Listen) -> None:
    """The old connection may look alive for a long time after it was lost. (reading 26)"""
    place = listen()
    old = place.peer(identity=b"me", reconnect_ivl=-1)
    old.send(b"old")
    await until(lambda: len(place.protocol.heard) == 1)
    new = place.peer(identity=b"me")
    new.send(b"new")
    await until(lambda: len(place.protocol.heard) == 2)
    place.socket().send(b"me", [b"for you"])
    await until(lambda: new.poll(0))
    assert not old.poll(0)
    old.close()
    await until(lambda: place.listener.connections == 1)


@pytest_twisted.ensureDeferred
async def test_what_a_full_link_does_not_take_waits_in_order(listen: Listen) -> None:
    """And the protocol is told when all of it has left. Others are served meanwhile."""
    place = listen(socket_messages=10)
    peer = place.peer(identity=b"slow", rcvhwm=1)
    other = place.peer(identity=b"other")
    peer.send(b"x")
    other.send(b"x")
    await until(lambda: len(place.protocol.heard) == 2)
    body = bytes(100_000)
    sent = 0
    while place.socket().send(b"slow", [b"%d" % sent, body]):
        sent += 1
        assert sent < 10_000
    for number in range(sent + 1, sent + 51):
        assert place.socket().send(b"slow", [b"%d" % number, body]) is False
    assert place.socket().send(b"other", [b"hello"])
    await until(lambda: other.poll(0))
    assert place.protocol.cleared == []
    got: list[bytes] = []

    def read() -> bool:
        while (parts := received(peer)) is not None:
            got.append(parts[0])
        return len(got) == sent + 51

    await until(read)
    assert got == [b"%d" % number for number in range(sent + 51)]
    await until(lambda: place.protocol.cleared == [b"slow"])
    assert place.socket().send(b"slow", [b"again"])


@pytest_twisted.ensureDeferred
async def test_what_waits_for_a_peer_that_never_reads_is_bounded(listen: Listen) -> None:
    """Beyond the bound it is refused, and when the peer goes it is told what was lost. (reading 45)"""
    place = listen(socket_messages=10, outbox_octets=1_000_000)
    peer = place.peer(identity=b"deaf", rcvhwm=1)
    peer.send(b"x")
    await until(lambda: place.protocol.heard)
    waiting = 0
    with pytest.raises(Overloaded):
        for _ in range(10_000):
            waiting += not place.socket().send(b"deaf", [bytes(100_000)])
    assert waiting == 9
    peer.close()
    await until(lambda: place.protocol.lost)
    assert place.protocol.lost == [(b"deaf", [[bytes(100_000)]] * waiting)]


@pytest_twisted.ensureDeferred
async def test_what_waits_can_be_forgotten(listen: Listen) -> None:
    """When its receiver has said goodbye, for one."""
    place = listen(socket_messages=10)
    peer = place.peer(identity=b"deaf", rcvhwm=1)
    peer.send(b"x")
    await until(lambda: place.protocol.heard)
    while place.socket().send(b"deaf", [bytes(100_000)]):
        pass
    assert place.socket().forget(b"deaf") == [[bytes(100_000)]]
    assert place.socket().forget(b"nobody") == []
    await turn(0.05)
    assert place.protocol.cleared == []


@pytest_twisted.ensureDeferred
async def test_a_flood_of_one_peer_starves_nobody(listen: Listen) -> None:
    """Reading goes on in later turns; timers and other sockets have theirs. (eMQP, Topology)"""
    place = listen()
    flood = place.peer(identity=b"flood", sndhwm=0)
    light = place.peer(identity=b"light", name="backend")
    for number in range(20_000):
        flood.send_multipart([b"", b"%d" % number])
    light.send(b"x")
    await until(lambda: any(name == "backend" for name, *_ in place.protocol.heard))
    heard_before = len(place.protocol.heard)
    assert heard_before < 20_000
    await until(lambda: len(place.protocol.heard) == 20_001)
    in_order = [int(parts[1]) for name, _, parts, _ in place.protocol.heard if name == "frontend"]
    assert in_order == list(range(20_000))
    assert place.protocol.turns > 3


@pytest_twisted.ensureDeferred
async def test_peers_of_one_socket_are_heard_in_turn(listen: Listen) -> None:
    """However much one of them has to say. (eMQP, Topology)"""
    place = listen()
    flood, light = place.peer(identity=b"flood", sndhwm=0), place.peer(identity=b"light")
    place.socket().pause_reading()
    for number in range(20_000):
        flood.send(b"%d" % number)
    light.send(b"x")
    await turn(0.1)
    place.socket().resume_reading()
    await until(lambda: len(place.protocol.heard) == 20_001)
    assert [peer for _, peer, *_ in place.protocol.heard].index(b"light") < 10_000


@pytest_twisted.ensureDeferred
async def test_answers_given_while_reading_do_not_lose_messages(listen: Listen) -> None:
    """Each send may swallow the sign that something came."""
    place = listen()
    place.protocol.answer = lambda socket, peer, parts: socket.send(peer, parts)
    peers = [place.peer(identity=b"%d" % number) for number in range(3)]
    for number in range(500):
        for peer in peers:
            peer.send(b"%d" % number)
            await turn(0)
            while not peer.poll(0):
                await turn(0)
            assert received(peer) == [b"%d" % number]


@pytest_twisted.ensureDeferred
async def test_a_message_of_ten_thousand_parts_is_thrown_away(listen: Listen) -> None:
    """It is read to its end, in steps, and the next one is heard."""
    place = listen()
    peer = place.peer()
    peer.send_multipart([b"p"] * 10_000)
    peer.send_multipart([b"p"] * 63)
    await until(lambda: place.protocol.heard)
    assert place.protocol.discards == [("frontend", "parts")]
    assert place.protocol.parts == [[b"p"] * 63]


@pytest_twisted.ensureDeferred
async def test_a_message_of_too_many_octets_is_thrown_away(listen: Listen) -> None:
    """Even where each of its parts is allowed."""
    place = listen(body_octets=1000, control_octets=100)
    peer = place.peer(identity=b"me")
    peer.send_multipart([bytes(1000), bytes(99)])
    peer.send_multipart([bytes(1000), bytes(98)])
    await until(lambda: place.protocol.heard)
    assert place.protocol.discards == [("frontend", "octets")]
    assert place.protocol.parts == [[bytes(1000), bytes(98)]]


@pytest_twisted.ensureDeferred
async def test_a_part_above_the_limit_ends_the_connection(listen: Listen) -> None:
    """ZeroMQ does that, before it takes memory for it."""
    place = listen(body_octets=1000)
    peer = place.peer(identity=b"me", reconnect_ivl=-1)
    peer.send(bytes(1000))
    await until(lambda: place.protocol.heard)
    assert place.listener.connections == 1
    peer.send(bytes(1001))
    await until(lambda: place.listener.connections == 0)
    assert len(place.protocol.heard) == 1


@pytest_twisted.ensureDeferred
async def test_paused_sockets_leave_messages_in_zeromq(listen: Listen) -> None:
    """And the reactor is not kept busy by that."""
    place = listen()
    place.socket().pause_reading()
    place.socket().pause_reading()
    peer = place.peer()
    peer.send(b"1")
    await turn(0.05)
    peer.send(b"2")
    await turn(0.05)
    assert place.protocol.heard == []
    place.socket().resume_reading()
    place.socket().resume_reading()
    await until(lambda: place.protocol.parts == [[b"1"], [b"2"]])


@pytest_twisted.ensureDeferred
async def test_a_socket_that_is_paused_by_a_message_reads_no_further(listen: Listen) -> None:
    """Back pressure takes hold at once."""
    place = listen()
    place.protocol.answer = lambda socket, peer, parts: socket.pause_reading()
    peer = place.peer()
    for number in range(3):
        peer.send(b"%d" % number)
    await until(lambda: place.protocol.heard)
    await turn(0.05)
    assert place.protocol.parts == [[b"0"]]
    place.socket().resume_reading()
    await until(lambda: len(place.protocol.heard) == 2)


@pytest_twisted.ensureDeferred
async def test_what_a_protocol_raises_goes_no_further(listen: Listen, errors: list[str]) -> None:
    """It is logged once in a while, and the next messages are heard. (reading 27)"""

    def fail(socket: IPartsSocket, peer: bytes, parts: Any) -> None:
        raise ValueError("a mistake of the protocol")

    place = listen()
    place.protocol.answer = fail
    peer = place.peer()
    for _ in range(100):
        peer.send(b"x")
    await until(lambda: len(place.protocol.heard) == 100)
    assert len(errors) == 1
    assert "a mistake of the protocol" in errors.pop()


@pytest_twisted.ensureDeferred
async def test_subscribers_get_what_begins_as_they_asked(listen: Listen) -> None:
    """The protocol is told of the first that wants something and of the last that no longer does. (reading 55)"""
    place = listen()
    subscriber, other = (place.peer(zmq.SUB, "pubout") for _ in range(2))
    subscriber.subscribe(b"to")
    await until(lambda: place.protocol.parts == [[b"\x01to"]])
    other.subscribe(b"to")
    other.subscribe(b"x")
    await until(lambda: place.protocol.parts == [[b"\x01to"], [b"\x01x"]])
    assert place.protocol.heard[0][1] == b""
    assert place.socket("pubout").send(b"", [b"topic", b"body"])
    assert place.socket("pubout").send(b"", [b"other", b"body"])
    await until(lambda: subscriber.poll(0) and other.poll(0))
    assert received(subscriber) == received(other) == [b"topic", b"body"]
    subscriber.close()
    other.unsubscribe(b"x")
    await until(lambda: place.protocol.parts[2:] == [[b"\x00x"]])
    other.close()
    await until(lambda: place.protocol.parts[3:] == [[b"\x00to"]])
    assert place.socket("pubout").send(b"", [b"topic", b"to nobody"])


@pytest_twisted.ensureDeferred
async def test_a_subscriber_that_never_reads_costs_no_more_than_its_share(listen: Listen) -> None:
    """It misses messages; the others get all of them."""
    place = listen(socket_messages=100)
    deaf = place.peer(zmq.SUB, "pubout", rcvhwm=1)
    reader = place.peer(zmq.SUB, "pubout", rcvhwm=0)
    for peer in (deaf, reader):
        peer.subscribe(b"")
    await until(lambda: place.listener.connections == 2 and place.protocol.heard)
    await turn(0.1)
    got = 0
    for _ in range(300):
        assert place.socket("pubout").send(b"", [bytes(100_000)])
        await until(lambda: reader.poll(0))
        while received(reader) is not None:
            got += 1
    assert got == 300


def connection(place: Place, octets: bytes) -> sockets.socket:
    """A peer that is a mere TCP connection, and says this."""
    end = sockets.create_connection(("127.0.0.1", place.port()))
    end.sendall(octets)
    return end


def dealer(place: Place, octets: bytes) -> sockets.socket:
    """A peer that says this when it has shaken hands."""
    end = connection(place, DEALER)
    heard = b""
    while b"READY" not in heard:
        heard += end.recv(100)
    end.sendall(octets)
    return end


def part(octets: int) -> bytes:
    """A part of a message, of zeros, which is not the last one."""
    return b"\x03" + struct.pack(">Q", octets) + bytes(octets)


LAST_PART = b"\x00\x00"


#: ZMTP 3.0, NULL, as a DEALER.
DEALER = (
    b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
    + b"\x04\x1c\x05READY\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER"
)  # fmt: skip
#: ZMTP 2.0, without an identity, as a DEALER.
DEALER_OF_OLD = b"\xff" + bytes(7) + b"\x01\x7f" + b"\x01\x05" + b"\x00\x00"


@pytest_twisted.ensureDeferred
async def test_peers_of_old_of_whom_nothing_is_known_are_not_heard(listen: Listen) -> None:
    """Without their address nobody could say what they may do."""
    place = listen()
    with connection(place, DEALER_OF_OLD + b"\x00\x05hello"):
        await until(lambda: place.protocol.discards == [("frontend", "zmtp")])
    assert place.protocol.heard == []


@pytest_twisted.ensureDeferred
async def test_noise_instead_of_zmtp_ends_its_connection_only(listen: Listen) -> None:
    """Half greetings, HTTP, messages before the handshake, and commands that nobody knows."""
    place = listen()
    peer = place.peer(identity=b"me")
    noises = [b"", b"\xff", b"GET / HTTP/1.1\r\n\r\n" * 9, DEALER[:40], DEALER + part(10), bytes(500)]
    ends = [*(connection(place, noise) for noise in noises), dealer(place, b"\x04\x05\x04NOPE")]
    peer.send(b"x")
    await until(lambda: place.protocol.parts == [[b"x"]])
    for end in ends:
        end.close()
    await until(lambda: place.listener.connections == 1)
    place.socket().send(b"me", [b"y"])
    await until(lambda: peer.poll(0))


@pytest_twisted.ensureDeferred
async def test_a_message_without_end_ends_its_connection(listen: Listen) -> None:
    """ZeroMQ would keep its parts without any bound. Who is merely slow, or silent, is left alone."""
    place = listen(body_octets=100_000, control_octets=1000)
    silent = place.peer()
    silent.send(b"x")
    with dealer(place, part(10_000) * 9) as slow, dealer(place, part(10_000) * 20) as endless:
        await until(lambda: place.listener.connections == 3)
        await until(lambda: place.listener.connections == 2)
        while endless.recv(1000):
            """The rest of ZeroMQ's own handshake."""
        await turn(0.3)
        slow.sendall(LAST_PART)
        await until(lambda: len(place.protocol.heard) == 2)
        assert len(place.protocol.parts[1]) == 10


@pytest_twisted.ensureDeferred
async def test_who_sends_much_that_is_not_read_yet_is_no_suspect(listen: Listen) -> None:
    """Neither while the socket is paused, nor when it is read again."""
    place = listen(body_octets=100_000, control_octets=1000)
    place.socket().pause_reading()
    peer = place.peer()
    for _ in range(20):
        peer.send(bytes(100_000))
    await turn(0.3)
    place.socket().resume_reading()
    await until(lambda: len(place.protocol.heard) == 20)
    peer.send(b"x")
    await until(lambda: len(place.protocol.heard) == 21)
    assert place.listener.connections == 1


@pytest_twisted.ensureDeferred
async def test_unfinished_messages_together_are_bounded(listen: Listen) -> None:
    """The one that grows beyond the bound of all is cut off; when they are finished, there is room again."""
    place = listen(body_octets=100_000, assembly_octets=150_000)

    def has_room_for(octets: int) -> bool:
        return place.listener.hold(octets) and place.listener.hold(-octets)

    with dealer(place, part(90_000)) as first:
        await until(lambda: not has_room_for(70_000))
        with dealer(place, part(90_000)):
            await until(lambda: place.listener.connections == 2)
            await until(lambda: place.listener.connections == 1)
        first.sendall(LAST_PART)
        await until(lambda: place.protocol.heard)
        await until(lambda: has_room_for(150_000))
