"""What waits for full links, tried by a clock of our own."""

from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from fmqbus.errors import Detached, Overloaded
from fmqbus.transports.zeromq.outboxes import PEERS_AT_ONCE, RETRY_SECONDS, Message, Outboxes
from fmqbus.turns import SHARE_SECONDS, Turns


class Links:
    """Links that take messages as the test says."""

    def __init__(self, most_octets: int = 10_000) -> None:
        self.clock = Clock()
        self.room: dict[bytes, int] = {}
        self.gone: set[bytes] = set()
        self.sent: list[Message] = []
        self.tried: list[bytes] = []
        self.told: list[object] = []
        self.cost = 0.0
        self.outboxes = Outboxes(
            self.clock,
            Turns(self.clock),
            most_octets,
            self.push,
            self.told.append,
            lambda peer, messages: self.told.append((peer, messages)),
        )

    def push(self, message: Message) -> bool:
        peer = message[0]
        self.tried.append(peer)
        self.clock.rightNow += self.cost
        if peer in self.gone:
            raise Detached
        if not self.room.get(peer):
            return False
        self.room[peer] -= 1
        self.sent.append(message)
        return True

    def retry(self) -> None:
        self.clock.advance(RETRY_SECONDS)


def test_messages_leave_in_order_as_far_as_there_is_room() -> None:
    """The others stay."""
    links = Links()
    messages = [(b"a", b"%d" % number) for number in range(3)]
    for message in messages:
        links.outboxes.put(b"a", message)
    links.room[b"a"] = 2
    links.retry()
    assert links.sent == messages[:2]
    assert b"a" in links.outboxes
    assert links.told == []
    links.room[b"a"] = 2
    links.retry()
    assert links.sent == messages
    assert links.told == [b"a"]
    assert b"a" not in links.outboxes


def test_nothing_waiting_means_no_timer() -> None:
    """An idle bus does not wake up."""
    links = Links()
    links.outboxes.put(b"a", (b"a",))
    links.room[b"a"] = 1
    links.retry()
    links.retry()
    assert links.clock.getDelayedCalls() == []
    links.outboxes.put(b"a", (b"a",))
    links.outboxes.close()
    assert links.clock.getDelayedCalls() == []


def test_who_has_gone_is_told_with_what_is_lost() -> None:
    """And keeps nobody else."""
    links = Links()
    for peer in (b"a", b"a", b"b"):
        links.outboxes.put(peer, (peer,))
    links.gone = {b"a"}
    links.room[b"b"] = 1
    links.retry()
    assert links.told == [(b"a", ((b"a",), (b"a",))), b"b"]


def test_many_that_never_read_are_tried_in_turn() -> None:
    """A few at a time, whatever their number."""
    links = Links()
    peers = [b"%d" % number for number in range(3 * PEERS_AT_ONCE)]
    for peer in peers:
        links.outboxes.put(peer, (peer,))
    links.retry()
    assert links.tried == peers[:PEERS_AT_ONCE]
    for _ in range(3):
        links.retry()
    assert links.tried == peers + peers[:PEERS_AT_ONCE]


def test_a_link_with_much_room_does_not_take_the_whole_turn() -> None:
    """It goes on where it was, after the others."""
    links = Links()
    for _ in range(10):
        links.outboxes.put(b"a", (b"a",))
    links.outboxes.put(b"b", (b"b",))
    links.room = {b"a": 10, b"b": 1}
    links.cost = SHARE_SECONDS
    for _ in range(20):
        links.retry()
    assert links.told == [b"b", b"a"]
    assert links.sent.index((b"b",)) < 5


def test_octets_are_bounded_for_each_peer_and_empty_parts_count_too() -> None:
    """Room that was given back can be used again."""
    links = Links(most_octets=1000)
    links.outboxes.put(b"a", (b"a", bytes(800)))
    with pytest.raises(Overloaded):
        links.outboxes.put(b"a", (b"a", bytes(800)))
    links.outboxes.put(b"b", (b"b", bytes(800)))
    with pytest.raises(Overloaded):
        links.outboxes.put(b"b", (b"",) * 4)
    links.room[b"a"] = 1
    links.retry()
    links.outboxes.put(b"a", (b"a", bytes(800)))


def test_one_message_may_wait_whatever_its_size() -> None:
    """Else nothing would tell when there is room for it."""
    links = Links(most_octets=1000)
    links.outboxes.put(b"a", (b"a", bytes(2000)))
    with pytest.raises(Overloaded):
        links.outboxes.put(b"a", (b"a",))
    links.room[b"a"] = 1
    links.retry()
    assert b"a" not in links.outboxes


def test_closed_by_the_one_who_is_told() -> None:
    """The last of a peer's messages may be the end of all."""
    links = Links()
    links.outboxes._cleared = lambda peer: links.outboxes.close()
    for peer in (b"a", b"b"):
        links.outboxes.put(peer, (peer,))
        links.room[peer] = 1
    links.retry()
    assert links.sent == [(b"a",)]
    assert links.clock.getDelayedCalls() == []
