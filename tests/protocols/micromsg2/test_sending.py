"""What becomes of what a client sends, and what is it told? (MicroMsg2, MESSAGE frame, Reliable)"""

from __future__ import annotations

import gc

import pytest

from fmqbus.testing.message_store import MemoryMessageStore
from tests.protocols.micromsg2.memory_bus import PLAIN, MemoryBus
from tests.protocols.micromsg2.written import CONTINUED, extension, message, u16

ACK_1, ACK_2, ACK_3 = (extension(1, u16(number)) for number in (1, 2, 3))


def of_window(count: int) -> bytes:
    """Extensions with such a window."""
    return b"batch-ack:max-count=%d;pubsub" % count


# where messages go


def test_a_message_to_a_topic_goes_to_every_subscriber() -> None:
    """MicroMsg2, Definitions, TOPIC; readings 33 and 52. Each has numbers of its own (reading 36)."""
    bus = MemoryBus()
    one, two, producer = bus.connect(), bus.connect(), bus.connect(b"")
    one.subscribe("topic/domain-events")
    producer.send(b"topic/domain-events", b"first")
    two.subscribe("topic/domain-events")
    producer.send(b"topic/domain-events", b"hello", properties=b"k:N1")
    assert one.heard() == [
        message(1, b"topic/domain-events", b"first"),
        message(2, b"topic/domain-events", b"hello", b"k:N1"),
    ]
    assert two.heard() == [message(1, b"topic/domain-events", b"hello", b"k:N1")]


def test_a_topic_needs_no_extension_to_be_published_to() -> None:
    """Reading 53: the extension is for subscribing."""
    bus = MemoryBus()
    subscriber, producer = bus.connect(), bus.connect(b"json")
    subscriber.subscribe("topic/t")
    producer.send(b"topic/t", b"1")
    assert subscriber.payloads() == [b"1"]


@pytest.mark.parametrize("destination", [b"commands", b"queue/commands", b"/queue/commands/"])
def test_a_message_to_a_queue_goes_to_one_consumer(destination: bytes) -> None:
    """MicroMsg2, Definitions, QUEUE; readings 52 and 54."""
    bus = MemoryBus()
    producer = bus.connect()
    producer.send(destination, b"1", b"2", b"3", b"4")
    one, two = bus.connect(of_window(2)), bus.connect(of_window(2))
    one.subscribe("commands")
    two.subscribe("queue/commands")
    assert one.heard() == [message(1, b"commands", b"1"), message(2, b"commands", b"2")]
    assert two.heard() == [message(1, b"queue/commands", b"3"), message(2, b"queue/commands", b"4")]


def test_a_message_without_a_destination_goes_to_the_default_queue() -> None:
    """Reading 52: as the real client sends."""
    bus = MemoryBus('[protocols.micromsg2]\ndefault_queue = "unsorted"')
    consumer, producer = bus.connect(), bus.connect()
    consumer.subscribe("unsorted")
    producer.send(b"", b"hello")
    assert consumer.payloads() == [b"hello"]


def test_a_message_without_a_payload_is_a_message() -> None:
    """Reading 49; to topics of every kind and to queues."""
    bus = MemoryBus()
    client = bus.connect()
    client.subscribe("topic/*")
    client.subscribe("commands")
    for destination in (b"topic/t", b"topic/*", b"commands"):
        client.send(destination, b"", properties=b"k:v")
    assert client.heard() == [
        message(1, b"topic/t", b"", b"k:v"),
        message(2, b"topic/*", b"", b"k:v"),
        message(3, b"commands", b"", b"k:v"),
    ]


def test_a_message_in_several_frames_arrives_whole() -> None:
    """Reading 45; and MicroMsg2, MESSAGE frame."""
    bus = MemoryBus()
    consumer, producer = bus.connect(), bus.connect()
    consumer.subscribe("commands")
    consumer.subscribe("topic/t")
    producer.say(message(1, b"commands", b"abc", b"k:N1", CONTINUED), message(2, b"", b"def"))
    producer.say(message(3, b"topic/t", b"abc", b"", CONTINUED), message(4, b"", b"def"))
    assert consumer.heard() == [message(1, b"commands", b"abcdef", b"k:N1"), message(2, b"topic/t", b"abcdef")]


def test_what_waits_in_a_queue_is_nothing_to_the_garbage_collector() -> None:
    """It stops everybody while it looks at a million messages, as often as a million more have come."""
    bus = MemoryBus()
    bus.connect().send(b"q", b"1", properties=b"ttl:60;id:T7;weight:N0.5")
    [stored] = bus.router.peek(b"q", 1)
    assert stored.message.properties["id"] == "7"
    assert not any(map(gc.is_tracked, (stored, stored.message, stored.message.properties)))


def test_properties_are_handed_on_as_they_were_written() -> None:
    """Reading 50; MicroMsg2, Example properties: in queues and topics, whatever a property asks for."""
    bus = MemoryBus()
    client = bus.connect()
    client.subscribe("topic/t")
    client.subscribe("q")
    written = b"first_name:jonas;;twitter:T%20;retain:N1;Priority:3;"
    client.send(b"topic/t", b"1", properties=written)
    client.send(b"q", b"2", properties=written)
    assert client.heard() == [message(1, b"topic/t", b"1", written), message(2, b"q", b"2", written)]


# what a producer can ask for


def test_a_retained_message_comes_to_later_subscribers() -> None:
    """An empty one takes it back, and reaches nobody."""
    bus = MemoryBus()
    producer, early = bus.connect(), bus.connect()
    early.subscribe("topic/t")
    producer.send(b"topic/t", b"kept", properties=b"retain:N1")
    producer.send(b"topic/t", b"not kept")
    late = bus.connect()
    late.subscribe("topic/t")
    assert late.payloads() == [b"kept"]
    assert early.payloads() == [b"kept", b"not kept"]
    producer.send(b"topic/t", b"", properties=b"retain:N1")
    last = bus.connect()
    last.subscribe("topic/t")
    assert last.heard() == early.heard() == []


def test_a_will_is_published_when_its_client_has_gone() -> None:
    """And not before."""
    bus = MemoryBus()
    subscriber, client = bus.connect(), bus.connect()
    subscriber.subscribe("topic/t")
    client.send(b"topic/t", b"farewell", properties=b"will:true")
    assert subscriber.heard() == []
    client.reset()
    assert subscriber.payloads() == [b"farewell"]


def test_a_producer_can_ask_for_priority_delay_and_a_time_to_live() -> None:
    """Of a message to a queue."""
    bus = MemoryBus()
    producer = bus.connect()
    producer.send(b"q", b"plain")
    producer.send(b"q", b"urgent", properties=b"priority:N9")
    producer.send(b"q", b"later", properties=b"delay:N500")
    producer.send(b"q", b"mortal", properties=b"ttl:N300;k:v")
    urgent, plain, mortal, later = bus.router.peek(b"q", 4)
    assert [each.message.payload for each in (urgent, plain, mortal, later)] == [
        b"urgent",
        b"plain",
        b"mortal",
        b"later",
    ]
    assert (plain.priority, plain.expires_at, plain.not_before) == (0, None, 0.0)
    assert urgent.priority == 9
    assert mortal.expires_at is not None
    assert later.not_before > 0


# acknowledgements


def test_what_is_safe_is_acknowledged_at_half_the_window_or_after_50_ms() -> None:
    """Reading 39: the client never has to wait for us."""
    bus = MemoryBus()
    producer = bus.connect(of_window(4))
    producer.send(b"q", b"1")
    assert producer.heard() == []
    bus.wait(0.049)
    assert producer.heard() == []
    bus.wait(0.001)
    assert producer.heard() == [ACK_1]
    producer.send(b"topic/t", b"2", b"3")
    assert producer.heard() == [ACK_3]
    bus.wait(1)
    assert producer.heard() == []


def test_a_window_of_one_is_acknowledged_at_once() -> None:
    """Readings 23, 39 and 42; MicroMsg2, Reliable: plain ``ack``."""
    bus = MemoryBus()
    producer = bus.connect(b"ack")
    producer.send(b"q", b"1")
    assert producer.heard() == [ACK_1]
    producer.send(b"q", b"2")
    assert producer.heard() == [ACK_2]


def test_nothing_is_acknowledged_that_was_not_asked_for() -> None:
    """MicroMsg2, Reliable: acknowledgements are off by default."""
    bus = MemoryBus()
    producer = bus.connect(PLAIN)
    producer.send(b"q", b"1")
    bus.wait(1)
    assert producer.heard() == []


def test_frames_of_an_unfinished_message_are_acknowledged_too() -> None:
    """Readings 38 and 45: else a client whose window they fill would wait for ever."""
    bus = MemoryBus()
    producer = bus.connect(of_window(2))
    producer.say(message(1, b"q", b"a", b"", CONTINUED), message(2, b"", b"b", b"", CONTINUED))
    assert producer.heard() == [ACK_1, ACK_2]
    assert bus.router.queue(b"q") is None
    producer.say(message(3, b"", b"c"))
    assert producer.heard() == [ACK_3]


def test_a_durable_message_is_acknowledged_when_it_is_on_the_disk() -> None:
    """And no message behind it before; topics and other queues wait their turn."""
    store = MemoryMessageStore(is_slow=True)
    bus = MemoryBus('[[queues.rules]]\npattern = "light"\ndurable = false', store=store)
    producer = bus.connect(b"ack:count=1")
    producer.send(b"heavy", b"1")
    producer.send(b"light", b"2")
    producer.send(b"topic/t", b"3")
    bus.wait(1)
    assert producer.heard() == []
    store.write()
    bus.wait()
    assert producer.heard() == [ACK_3]


def test_a_message_that_a_consumer_has_accepted_is_safe() -> None:
    """Whatever the disk does."""
    store = MemoryMessageStore(is_slow=True)
    bus = MemoryBus(store=store)
    producer, consumer = bus.connect(b"ack"), bus.connect()
    consumer.subscribe("q")
    producer.send(b"q", b"1")
    assert (consumer.payloads(), producer.heard()) == ([b"1"], [])
    consumer.acknowledge(1)
    bus.wait()
    assert producer.heard() == [ACK_1]


def test_numbers_go_on_at_one_after_65535() -> None:
    """MicroMsg2, MESSAGE frame; reading 37; also for what is acknowledged."""
    bus = MemoryBus()
    consumer, producer = bus.connect(PLAIN), bus.connect(b"batch-ack:max-count=30000")
    consumer.subscribe("topic/t")
    for _ in range(7):
        producer.send(b"topic/t", *(10_000 * [b"x"]))
    bus.wait(1)
    frames = consumer.heard()
    assert [frame[1:3] for frame in frames] == [u16(number % 65_535 + 1) for number in range(70_000)]
    assert producer.heard()[-1] == extension(1, u16(70_000 - 65_535))


# what cannot be taken


FULL = '[queues]\nmax_messages = 2\ndead_letter = ""'


def test_a_message_that_cannot_be_taken_ends_a_connection_with_acknowledgements() -> None:
    """MicroMsg2, batch-ack: a number stands for all up to it, so nothing behind could be acknowledged. What came before
    is told first, and nothing behind is taken."""
    bus = MemoryBus(FULL)
    producer = bus.connect(of_window(10))
    producer.send(b"q", b"1", b"2", b"3", b"4")
    producer.send(b"topic/t", b"5")
    acknowledgement, error = producer.heard()
    assert acknowledgement == ACK_2
    assert error[2:] == b"message 3: the queue is full"
    bus.wait()
    assert not producer.is_connected
    assert bus.drops == {"queue-full": 1}
    assert [stored.message.payload for stored in bus.router.peek(b"q", 9)] == [b"1", b"2"]


def test_without_acknowledgements_the_client_is_told_and_goes_on() -> None:
    """Reading 30: an ERROR after the handshake is not the end."""
    bus = MemoryBus(FULL)
    producer = bus.connect(PLAIN)
    producer.send(b"q", b"1", b"2", b"3", b"4")
    producer.send(b"other", b"5")
    assert producer.complaints() == ["message 3: the queue is full", "message 4: the queue is full"]
    assert producer.is_connected
    assert bus.router.queue(b"other") is not None


@pytest.mark.parametrize("destination", [b"topic/", b"a/*", b"$/manage", b"\xff", b"topic/$/signals/none"])
@pytest.mark.parametrize("is_acknowledged", [True, False])
def test_a_message_to_nowhere_is_refused(destination: bytes, is_acknowledged: bool) -> None:
    """Reading 52: no such name, or nobody there."""
    bus = MemoryBus()
    producer = bus.connect(b"ack" if is_acknowledged else b"")
    producer.send(destination, b"x")
    [complaint] = producer.complaints()
    assert complaint.startswith("message 1: ")
    bus.wait()
    assert producer.is_connected is not is_acknowledged


def test_what_came_before_is_waited_for() -> None:
    """A message that cannot be taken behind one that is not safe yet: first the one, then the other."""
    store = MemoryMessageStore(is_slow=True)
    bus = MemoryBus("[queues]\nmax_messages = 1", store=store)
    producer = bus.connect(b"batch-ack")
    producer.send(b"q", b"1", b"2")
    bus.wait(1)
    assert (producer.heard(), producer.is_connected) == ([], True)
    producer.send(b"other", b"3")
    store.write()
    bus.wait()
    acknowledgement, error = producer.heard()
    assert (acknowledgement, error[2:]) == (ACK_1, b"message 2: the queue is full")
    assert bus.router.queue(b"other") is None


@pytest.mark.parametrize("is_acknowledged", [True, False])
def test_a_store_that_fails_is_told(is_acknowledged: bool) -> None:
    """To those who wait for it, and to those who come later; never acknowledged."""
    store = MemoryMessageStore(is_slow=True)
    bus = MemoryBus(store=store)
    producer = bus.connect(b"ack" if is_acknowledged else b"")
    producer.send(b"q", b"1")
    store.break_down()
    bus.wait()
    assert producer.complaints() == ["message 1: the disk is broken"]
    bus.wait()
    assert producer.is_connected is not is_acknowledged
    late = bus.connect(b"ack")
    late.send(b"q", b"1")
    assert late.complaints() == ["message 1: the disk is broken"]
    bus.wait(1)
    assert producer.heard() == late.heard() == []


def test_what_the_store_says_after_the_end_of_a_connection_disturbs_nobody() -> None:
    """Neither good news nor bad."""
    store = MemoryMessageStore(is_slow=True)
    bus = MemoryBus(store=store)
    for ending in ("close", "reset"):
        producer = bus.connect(b"ack")
        producer.send(b"q", b"1")
        getattr(producer, ending)()
    store.write()
    bus.wait(1)
    assert bus.router.sessions() == ()


def test_a_queue_that_pauses_its_producers_is_obeyed() -> None:
    """What they send stays in their sockets until it is half empty."""
    bus = MemoryBus('[queues]\nmax_messages = 2\noverflow = "pause"')
    producer, consumer = bus.connect(), bus.connect()
    producer.send(b"q", b"1", b"2", b"3")
    assert not producer.is_read
    consumer.subscribe("q")
    assert consumer.payloads() == [b"1", b"2", b"3"]
    consumer.acknowledge(3)
    assert producer.is_read


def test_a_client_that_does_not_read_what_it_is_told_is_cut_off() -> None:
    """Replies are bounded as all else is."""
    bus = MemoryBus("[limits]\noutbox_octets = 1000")
    client, other = bus.connect(PLAIN), bus.connect(PLAIN)
    client.stop_reading()
    for _ in range(100):
        client.send(b"topic/", b"x")
    bus.wait()
    assert not client.is_connected
    assert other.is_connected
