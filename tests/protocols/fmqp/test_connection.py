"""How do connections begin and end, and what can one client cost the others?"""

from __future__ import annotations

import pytest

from fmqbus.router.outbox import ITEM_OCTETS
from tests.protocols.fmqp.memory_bus import REMOTE, MemoryBus
from tests.protocols.fmqp.packets import CACHE, feedback, packet, publication, subscribe, u32, watch


def test_a_packet_that_the_end_of_the_connection_cuts_off_is_dropped() -> None:
    """Reading 52; FMQP, section Processing of incorrect messages: wherever it is cut."""
    whole = publication(b"a", b"body")
    for at in range(len(whole)):
        bus = MemoryBus()
        subscriber = bus.connect(subscribe(b"a"))
        bus.connect(publication(b"a", b"whole"), whole[:at]).close()
        assert subscriber.heard() == [publication(b"a", b"whole")]


def test_packets_may_come_in_any_pieces() -> None:
    """FMQP works on streams: segments mean nothing."""
    bus = MemoryBus()
    subscriber = bus.connect(subscribe(b"*"), watch(b"*"))
    subscriber.heard()
    said = [subscribe(b"a"), publication(b"a", b"1"), publication(b"b", 300 * b"x", CACHE), packet(0xFF, b"c", b"?")]
    client = bus.connect()
    for octet in b"".join(said):
        client.say(bytes([octet]))
    assert subscriber.heard() == [feedback(b"a", 1), publication(b"a", b"1"), publication(b"b", 300 * b"x", CACHE)]
    assert client.heard() == [publication(b"a", b"1")]


def test_incorrect_packets_are_discarded_and_those_around_them_are_not() -> None:
    """FMQP, section Processing of incorrect messages: skipped by their lengths, counted, the connection stays."""
    bus = MemoryBus("[limits]\nbody_octets = 8")
    client = bus.connect(subscribe(b"a"))
    incorrect = {
        "topic-empty": publication(b"//", b"x"),
        "topic-nul": publication(b"\0", b"x"),
        "topic-utf8": subscribe(b"\xff"),
        "feedback-publication": packet(0x20, b"a", b"x"),
        "oversize": publication(b"a", 9 * b"x"),
    }
    for number, wrong in enumerate(incorrect.values()):
        client.say(wrong, publication(b"a", bytes([number])), wrong)
    assert client.heard() == [publication(b"a", bytes([number])) for number in range(5)]
    assert bus.drops == dict.fromkeys(incorrect, 2)


def test_a_client_that_has_said_all_still_gets_the_answers() -> None:
    """Shutting one direction is how a client of one request ends: what is on its way to it is sent first."""
    bus = MemoryBus()
    bus.connect(publication(b"a", b"kept", CACHE))
    client = bus.connect()
    client.stop_reading()
    client.say(subscribe(b"a"), publication(b"a", b"new"))
    client.end_sending()
    bus.wait()
    assert client.is_connected
    client.read_on()
    assert client.heard() == [publication(b"a", b"kept", CACHE), publication(b"a", b"new")]
    bus.wait()
    assert not client.is_connected


def test_a_client_that_has_said_all_and_reads_nothing_is_cut_off() -> None:
    """After `linger_seconds`; until then it counts as connected."""
    bus = MemoryBus("[limits]\nlinger_seconds = 5")
    client = bus.connect(subscribe(b"a"))
    client.stop_reading()
    client.say(publication(b"a", b"1"))
    client.end_sending()
    bus.wait(4)
    assert client.is_connected
    bus.wait(1)
    bus.wait()
    assert not client.is_connected
    assert bus.router.sessions() == ()


def test_nothing_is_read_from_a_client_after_its_end() -> None:
    """What comes after a half-close came from nowhere."""
    bus = MemoryBus()
    subscriber, client = bus.connect(subscribe(b"a")), bus.connect()
    client.end_sending()
    client.say(publication(b"a", b"ghost"))
    bus.wait()
    assert subscriber.heard() == []


def test_a_connection_too_many_is_closed_and_the_others_stay() -> None:
    """Of one address; this machine's are not counted."""
    bus = MemoryBus("[limits]\nconnections_per_address = 1")
    first, second = bus.connect(facts=REMOTE), bus.connect(subscribe(b"a"), facts=REMOTE)
    bus.wait()
    assert first.is_connected
    assert not second.is_connected
    assert bus.connect().is_connected
    assert bus.router.subscriptions == 0
    first.close()
    assert bus.connect(facts=REMOTE).is_connected


def test_peers_from_elsewhere_may_do_nothing_without_a_rule() -> None:
    """FMQP, section Authentication and access control leaves it to what lies below; nothing is open by default."""
    bus = MemoryBus()
    local = bus.connect(subscribe(b"a"), publication(b"b", b"secret", CACHE))
    remote = bus.connect(
        subscribe(b"a"), subscribe(b"b"), watch(b"a"), publication(b"a", b"x"), packet(8, b"a", b"x"), facts=REMOTE
    )
    local.say(publication(b"a", b"1"))
    remote.close()
    assert remote.heard() == []
    assert local.heard() == [publication(b"a", b"1")]
    assert bus.drops == {"refused": 5}


def test_announcements_of_4_gib_cost_nothing() -> None:
    """Reading 5: a thousand clients announce, and begin to send."""
    bus = MemoryBus()
    announcement = b"\0\1" + u32(0xFFFF_FFFF) + b"a"
    clients = [bus.connect(announcement, bytes(1000)) for _ in range(1000)]
    assert sum(client.held for client in clients) == 0
    assert bus.drops == {"oversize": 1000}


def test_half_received_packets_of_all_clients_together_are_bounded() -> None:
    """Reading 5: the one that passes the bound is cut off, the others are read on, and its room is free again."""
    bus = MemoryBus("[limits]\nbody_octets = 100_000\nassembly_octets = 150_000")
    begun = packet(0, b"a", bytes(90_000))
    subscriber = bus.connect(subscribe(b"a"))
    one, two = bus.connect(begun[:80_000]), bus.connect(begun[:60_000])
    assert two.is_connected
    two.say(begun[60_000:80_000])
    bus.wait()
    assert not two.is_connected
    one.say(begun[80_000:])
    assert subscriber.heard() == [begun]
    for _ in range(10):
        again = bus.connect(begun[:80_000])
        assert again.is_connected
        again.close()


#: Four messages of 16 octets in an outbox, with what keeping each costs.
ROOM_FOR_FOUR = 4 * (16 + ITEM_OCTETS)


def flood(bus: MemoryBus, count: int) -> list[bytes]:
    """Publish so many messages, each in a read of its own; 16 octets each."""
    said = [publication(b"flood", bytes([0, 0, 0, 0, number])) for number in range(count)]
    publisher = bus.connect()
    for packet_ in said:
        publisher.say(packet_)
    return said


def test_a_slow_reader_loses_the_oldest_and_harms_nobody() -> None:
    """Reading 50: FMQP is for data that ages. What is lost is counted."""
    bus = MemoryBus(f"[limits]\noutbox_octets = {ROOM_FOR_FOUR}")
    slow, quick = bus.connect(subscribe(b"flood")), bus.connect(subscribe(b"flood"))
    slow.stop_reading()
    said = flood(bus, 10)
    assert quick.heard() == said
    assert bus.drops == {"outbox-full": 6}
    slow.read_on()
    assert slow.heard() == said[-4:]


def test_a_slow_reader_never_loses_feedback() -> None:
    """Reading 50: a publisher that missed the end of a subscription would work for nobody."""
    bus = MemoryBus(f"[limits]\noutbox_octets = {ROOM_FOR_FOUR}")
    slow = bus.connect(subscribe(b"flood"), watch(b"flood"), watch(b"a"))
    slow.heard()
    slow.stop_reading()
    listener = bus.connect(subscribe(b"a"))
    flood(bus, 10)
    slow.read_on()
    assert feedback(b"a", 1) in slow.heard()
    slow.stop_reading()
    listener.close()
    flood(bus, 10)
    slow.read_on()
    assert feedback(b"a", 0) in slow.heard()


@pytest.mark.parametrize(
    ("policy", "kept"), [("drop-oldest", [6, 7, 8, 9]), ("drop-newest", [0, 1, 2, 3]), ("conflate", [9])]
)
def test_what_a_slow_reader_loses_is_the_operators_choice(policy: str, kept: list[int]) -> None:
    """Reading 50: dropping the oldest is only the default."""
    bus = MemoryBus(f'[limits]\noutbox_octets = {ROOM_FOR_FOUR}\n[outbox]\npolicy = "{policy}"')
    slow = bus.connect(subscribe(b"flood"))
    slow.stop_reading()
    said = flood(bus, 10)
    slow.read_on()
    assert slow.heard() == [said[number] for number in kept]


def test_a_slow_reader_may_be_closed_instead() -> None:
    """Reading 50, with the policy ``disconnect``."""
    bus = MemoryBus(f'[limits]\noutbox_octets = {ROOM_FOR_FOUR}\n[outbox]\npolicy = "disconnect"')
    slow = bus.connect(subscribe(b"flood"))
    slow.stop_reading()
    flood(bus, 10)
    bus.wait()
    assert not slow.is_connected


def test_a_slow_reader_may_hold_up_its_publishers_instead() -> None:
    """Reading 50, with the policy ``pause``: what they send stays in their sockets, and nothing is lost."""
    bus = MemoryBus(f'[limits]\noutbox_octets = {ROOM_FOR_FOUR // 2}\n[outbox]\npolicy = "pause"')
    slow, publisher, other = bus.connect(subscribe(b"flood")), bus.connect(), bus.connect(publication(b"else", b"1"))
    slow.stop_reading()
    said = [publication(b"flood", bytes([0, 0, 0, 0, 0])) for _ in range(4)]
    for packet_ in said:
        publisher.say(packet_)
    assert (publisher.is_read, other.is_read) == (False, True)
    slow.read_on()
    assert slow.heard() == said
    assert publisher.is_read
