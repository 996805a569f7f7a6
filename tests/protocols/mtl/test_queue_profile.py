"""Profile ``queue`` on whole flows."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred

from fmqbus.errors import StoreFailed
from fmqbus.model import Message
from fmqbus.protocols.mtl.commands import Confirm, Content, Dismiss, Reader, Reject, Response, Summon, Writer
from fmqbus.protocols.mtl.field_table import FieldTable, write_table
from tests.protocols.mtl.memory_place import OK, Flow, Place


def filled(place: Place, count: int, queue: bytes = b"q") -> None:
    """Messages ``0``, ``1`` and so on in a queue."""
    bystander = place.bystander()
    for number in range(count):
        bystander.enqueue(queue, b"%d" % number)
    place.wait()


def tables(flow: Flow) -> list[dict[str, Any]]:
    """What the properties of the contents say that have come."""
    return [dict(FieldTable(each.properties)) for each in flow.heard() if isinstance(each, Content)]


class _Instead:
    """A flow whose bus keeps messages as a test wants it."""

    def __init__(self, flow: Any, enqueue: Any) -> None:
        self._flow = flow
        self.bus = self
        self.enqueue = enqueue

    def __getattr__(self, name: str) -> Any:
        return getattr(self._flow, name)


def store_slowly(place: Place) -> list[Deferred[None]]:
    """What the writer that has come last puts into queues is stored when its Deferred fires."""
    stored: list[Deferred[None]] = []

    def enqueue(queue: bytes, message: Message, terms: Any) -> Deferred[None]:
        stored.append(Deferred())
        return stored[-1]

    side: Any = list(place.router.sessions())[-1]
    side.peer._writer._flow = _Instead(side.peer, enqueue)
    return stored


def test_each_content_goes_to_one_reader() -> None:
    """Which calls it as it has summoned it, and counts it as its own. (reading 17)"""
    place = Place()
    one, two = place.reader("queue", b"q", identity=b"1"), place.reader("queue", b"/q", identity=b"2")
    place.writer("queue", b"q").write(b"a", b"b", b"c", b"d")
    place.wait()
    assert one.heard() == [Content(1, b"q", b"", b"a"), Content(2, b"q", b"", b"c")]
    assert two.heard() == [Content(1, b"/q", b"", b"b"), Content(2, b"/q", b"", b"d")]


def test_what_is_confirmed_is_done_and_what_is_not_comes_back() -> None:
    """If its reader goes. (MTL, Content Confirmation; readings 17 and 31)"""
    place = Place()
    filled(place, 3)
    reader = place.reader("queue", b"q", full=True)
    assert reader.bodies() == [b"0", b"1", b"2"]
    reader.say(Confirm(2, multiple=True))
    place.protocol.peer_lost(place.data_socket, b"reader", ())
    place.wait()
    queue = place.router.queue(b"q")
    assert (queue.accepted, queue.ready) == (2, 1)
    last = place.reader("queue", b"q", full=True, identity=b"2")
    assert last.bodies() == [b"2"]
    last.say(Confirm(1), Dismiss(1, b"q"))
    assert place.router.queue(b"q") is None


def test_recycled_it_goes_back_to_the_front() -> None:
    """In its order, marked as handed out before. (MTL, Content Confirmation; reading 17)"""
    place = Place()
    filled(place, 5)
    flow = place.reader("queue", b"q", full=True, window=3)
    assert flow.bodies() == [b"0", b"1", b"2"]
    flow.say(Reject(3, multiple=True, recycle=True))
    contents = [each for each in flow.heard() if isinstance(each, Content)]
    assert [content.body for content in contents] == [b"0", b"1", b"2"]
    assert [content.sequence for content in contents] == [4, 5, 6]
    assert dict(FieldTable(contents[0].properties)) == {"redelivered": True, "deliveries": 2}


def test_rejected_it_is_a_dead_letter() -> None:
    """With what the bus says of it. (MTL, Content Confirmation; reading 17)"""
    place = Place()
    filled(place, 1)
    reader = place.reader("queue", b"q", full=True)
    reader.say(Reject(1))
    [table] = tables(place.reader("queue", b"dead", identity=b"undertaker"))
    assert table == {"dead-letter-reason": "rejected", "dead-letter-queue": "q"}


def test_a_flow_has_one_window_over_all_its_queues() -> None:
    """And one count. (readings 45 and 51)"""
    place = Place("reader-window = 3")
    for queue in (b"a", b"b"):
        filled(place, 5, queue)
    flow = place.reader("queue", b"a", b"b", full=True)
    assert [each.sequence for each in flow.heard() if isinstance(each, Content)] == [1, 2, 3]
    # nothing else is in its hands, where others could not have it
    assert place.router.queue(b"a").unsettled + place.router.queue(b"b").unsettled == 3
    flow.say(Confirm(2, multiple=True))
    assert [each.sequence for each in flow.heard() if isinstance(each, Content)] == [4, 5]
    flow.say(Confirm(5, multiple=True))
    assert len(flow.bodies()) == 3


@pytest.mark.parametrize("full", [True, False])
def test_all_messages_come_once_whatever_waits(full: bool) -> None:
    """While a link fills up and clears. (reading 51)"""
    place = Place("reader-window = 4")
    reader = place.reader("queue", b"q", full=full)
    reader.stop_reading()
    filled(place, 20)
    bodies: list[bytes] = []
    for _ in range(40):
        heard = [each for each in reader.heard() if isinstance(each, Content)]
        bodies += [content.body for content in heard]
        if full:
            reader.say(*[Confirm(content.sequence) for content in heard])
        reader.read_on()
        reader.stop_reading()
    assert bodies == [b"%d" % number for number in range(20)]
    place.wait()
    assert place.router.queue(b"q") is None or place.router.queue(b"q").ready == 0


def test_without_confirmation_a_content_is_done_when_it_is_sent() -> None:
    """What the link has not taken is not; confirmations mean nothing. (readings 50 and 51)"""
    place = Place("reader-window = 2")
    reader = place.reader("queue", b"q")
    filled(place, 3)
    assert reader.bodies() == [b"0", b"1", b"2"]
    reader.say(Reject(1, recycle=True))
    assert reader.heard() == []
    reader.stop_reading()
    filled(place, 3)
    assert len(reader.bodies()) == 1
    place.protocol.peer_lost(place.data_socket, b"reader", ())
    place.wait()
    assert place.router.queue(b"q").ready == 2


def test_a_right_that_is_lost_gives_back_what_was_not_sent() -> None:
    """And the window is free for what else is summoned. (reading 51)"""
    rule = '[[access.rules]]\neffect = "allow"\nactions = "*"\nwho = ["*"]\nnames = ["{}"]\n'
    tables = '[access]\nauthorizers = ["rules"]\n'
    place = Place("reader-window = 3", tables + rule.format("a") + rule.format("b"))
    reader = place.reader("queue", b"a", b"b", full=True)
    reader.stop_reading()
    writer = place.writer("queue")
    writer.write(b"1", b"2", b"3", resource=b"a")
    writer.write(b"4", b"5", b"6", b"7", resource=b"b", first=4)
    assert reader.bodies() == [b"1"]
    place.reload(tables + rule.format("b"))
    assert (place.router.queue(b"a").ready, place.router.queue(b"a").unsettled) == (3, 0)
    reader.read_on()
    assert reader.bodies() == [b"4", b"5"]
    reader.say(Confirm(1))
    assert reader.bodies() == [b"6"]


def test_what_could_not_be_sent_is_not_done() -> None:
    """Also where the one before it in the same turn was. (readings 31 and 51)"""
    place = Place()
    reader, bystander = place.reader("queue", b"q"), place.bystander()
    bystander.enqueue(b"q", b"1")
    reader.vanish()
    bystander.enqueue(b"q", b"2")
    for _ in range(3):
        place.wait()
    queue = place.router.queue(b"q")
    assert (reader.bodies(), queue.accepted, queue.ready) == ([], 1, 1)


def test_what_was_sent_before_a_dismiss_may_still_be_settled() -> None:
    """Nothing new comes, and nothing comes twice. (MTL, Dismissing a Resource; reading 43)"""
    place = Place("reader-window = 2")
    filled(place, 4)
    flow = place.reader("queue", b"q", full=True)
    flow.heard()
    assert flow.tell(Dismiss(2, b"q")) == [Response(2, OK)]
    assert place.router.queue(b"q").unsettled == 2
    flow.say(Confirm(1))
    assert (flow.heard(), place.router.queue(b"q").unsettled) == ([], 1)
    assert place.router.queue(b"q").consumers == 1
    flow.say(Reject(2, recycle=True))
    assert flow.heard() == []
    queue = place.router.queue(b"q")
    assert (queue.ready, queue.accepted, queue.released, queue.consumers) == (3, 1, 1, 0)


def test_what_is_summoned_again_goes_on() -> None:
    """Also while something of before is unsettled. (reading 43)"""
    place = Place("reader-window = 2")
    filled(place, 4)
    flow = place.reader("queue", b"q", full=True)
    flow.heard()
    assert flow.tell(Dismiss(2, b"q"), Summon(3, b"q")) == [Response(2, OK), Response(3, OK)]
    flow.say(Confirm(2, multiple=True))
    assert flow.bodies() == [b"2", b"3"]
    flow.tell(Dismiss(4, b"q"))
    flow.say(Confirm(4, multiple=True))
    assert place.router.queue(b"q") is None
    assert flow.tell(Summon(5, b"q")) == [Response(5, OK)]
    filled(place, 1)
    assert flow.bodies() == [b"0"]


def test_what_waits_for_the_link_goes_to_others_at_a_dismiss() -> None:
    """It was never sent. (MTL, Receiving Content from a Resource)"""
    place = Place()
    reader = place.reader("queue", b"q", full=True)
    reader.stop_reading()
    filled(place, 3)
    assert reader.bodies() == [b"0"]
    assert reader.tell(Dismiss(1, b"q")) == [Response(1, OK)]
    other = place.reader("queue", b"q", identity=b"2")
    place.wait()
    reader.read_on()
    assert reader.heard() == []
    assert other.bodies() == [b"1", b"2"]
    assert place.router.queue(b"q").unsettled == 1


def test_writers_ask_by_properties() -> None:
    """A priority, seconds to live, and seconds to wait; what cannot be meant asks for nothing. (reading 17)"""
    place = Place()
    writer = place.writer("queue", b"q")
    asked: list[tuple[bytes, dict[str, Any]]] = [
        (b"plain", {}),
        (b"late", {"delay": 5}),
        (b"odd", {"priority": 10, "ttl": -1, "delay": "5"}),
        (b"truth", {"priority": True}),
        (b"first", {"priority": 9}),
        (b"short", {"ttl": 1.5, "priority": 1}),
    ]
    for number, (body, fields) in enumerate(asked, start=1):
        writer.write(body, first=number, properties=write_table(fields))
    place.wait(2)
    reader = place.reader("queue", b"q")
    assert reader.bodies() == [b"first", b"plain", b"odd", b"truth"]
    place.wait(3)
    assert reader.bodies() == [b"late"]


def test_contents_are_confirmed_when_they_are_stored() -> None:
    """Not before; and those that could not be are rejected, to be sent again.
    (MTL, Content Confirmation; readings 48 and 49)"""
    place = Place("confirm-delay = 0.5")
    writer = place.writer("queue", b"q", full=True)
    stored: list[Deferred[None]] = []

    def enqueue(queue: bytes, message: Message, terms: Any) -> Deferred[None]:
        stored.append(Deferred())
        return stored[-1]

    [session] = [
        each for each in place.router.sessions() if each.number == max(s.number for s in place.router.sessions())
    ]
    side = session.peer
    side._writer._flow = _Instead(side, enqueue)
    writer.write(b"1", b"2", b"3", b"4")
    assert writer.heard() == []
    stored[0].callback(None)
    stored[1].callback(None)
    assert writer.heard() == []
    place.wait(0.5)
    assert writer.heard() == [Confirm(2, multiple=True)]
    stored[3].callback(None)
    stored[2].errback(StoreFailed("the disk is full"))
    place.wait(0.5)
    assert writer.heard() == [Reject(3, recycle=True), Confirm(4, multiple=True)]


def test_a_full_queue_asks_to_send_again_later() -> None:
    """Without confirmation it is only counted. (MTL, Data Flow Error Handling; readings 47 and 49)"""
    place = Place(tables="[queues]\nmax_messages = 2")
    full, none = place.writer("queue", b"q", full=True), place.writer("queue", b"q", identity=b"2")
    full.write(b"1", b"2", b"3")
    assert full.heard() == [Reject(3, recycle=True), Confirm(2, multiple=True)]
    none.write(b"4")
    assert none.heard() == []
    assert sum(place.drops.values()) == 2


def test_a_writer_that_is_too_fast_is_asked_to_send_again_later() -> None:
    """So many contents wait to be safe, and no more. (reading 49)"""
    place = Place(tables="[limits]\nwindow = 2")
    writer = place.writer("queue", b"q", full=True)
    [session] = [
        each for each in place.router.sessions() if each.number == max(s.number for s in place.router.sessions())
    ]
    side = session.peer
    side._writer._flow = _Instead(side, lambda *_: Deferred())
    writer.write(b"1", b"2", b"3")
    assert writer.heard() == [Reject(3, recycle=True)]


def test_a_table_waits_with_its_message() -> None:
    """As it came, octet by octet. (MTL, Field Encodings; reading 32)"""
    place = Place()
    table = write_table({"name": "x", "deep": {"a": [1, None]}, "raw": b"\xff\x00"})
    place.writer("queue", b"q").write(b"1", properties=table)
    assert place.reader("queue", b"q").heard() == [Content(1, b"q", table, b"1")]


def test_one_who_is_both_may_get_its_own() -> None:
    """As any other reader."""
    place = Place()
    client, flow = place.ready("queue"), place.flow()
    flow.lease(client.lease(Reader((b"q",), True)))
    flow.lease(client.lease(Writer((b"q",), True)))
    heard = flow.tell(Summon(1, b"q"), Content(1, b"", b"", b"x"))
    assert sorted(map(repr, heard)) == sorted(
        map(repr, [Response(1, OK), Content(1, b"q", b"", b"x"), Confirm(1, multiple=True)])
    )
