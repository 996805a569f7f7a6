"""What does a client receive: of topics, through filters, from queues, within its window? (MicroMsg2, PUB/SUB)"""

from __future__ import annotations

import pytest

from tests.protocols.micromsg2.memory_bus import PLAIN, Client, MemoryBus
from tests.protocols.micromsg2.written import MIB, command, extension, message, split, u16

WINDOW_2 = b"batch-ack:max-count=2;pubsub"


# topics


def test_subscribing_and_unsubscribing_are_not_answered() -> None:
    """Readings 55, 56 and 57; MicroMsg2, SUBSCRIBE frame: messages follow, or follow no more."""
    bus = MemoryBus()
    client, producer = bus.connect(), bus.connect()
    client.say(command(b"SUBSCRIBE;destination=topic%2Ft"))
    producer.send(b"topic/t", b"1")
    client.say(command(b"Unsubscribe;topic=t"))
    producer.send(b"topic/t", b"2")
    assert client.heard() == [message(1, b"topic/t", b"1")]


def test_a_pattern_may_have_wildcards() -> None:
    """Topics are those of the whole bus; one copy, however many subscriptions fit."""
    bus = MemoryBus()
    client, producer = bus.connect(), bus.connect()
    for pattern in ("topic/*/b", "topic/a/*", "topic/a/b"):
        client.subscribe(pattern)
    for topic in (b"topic/a/b", b"topic/a", b"topic/x/b"):
        producer.send(topic, b"1")
    assert client.heard() == [message(1, b"topic/a/b", b"1"), message(2, b"topic/x/b", b"1")]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"subscribe;destination=topic%2F", "subscribe topic/: no level between the slashes"),
        (
            b"subscribe;destination=a%2F*",
            "subscribe a/*: it has a wildcard or is below $, and so names no queue and no method",
        ),
        (
            b"subscribe;queue=q,filter=k%3DT1",
            "subscribe queue/q: a queue has no filters: each message goes to one consumer",
        ),
        (b"subscribe", "exactly one destination is needed"),
        (b"subscribe;topic=t,filter=k", "not a filter: k"),
        (b"unsubscribe;topic=t", "unsubscribe topic/t: there is no such subscription"),
        (b"unsubscribe;queue=q", "unsubscribe queue/q: there is no such subscription"),
        (b"unsubscribe;topic=%00", "unsubscribe topic/?: U+0000 is not allowed"),
        (b"frobnicate", "unknown command: frobnicate"),
    ],
)
def test_what_cannot_be_subscribed_is_told_and_the_connection_goes_on(said: bytes, told: str) -> None:
    """Readings 30, 57 and 59."""
    bus = MemoryBus()
    client = bus.connect()
    client.say(command(said))
    assert client.complaints() == [told]
    assert sum(bus.drops.values()) == 1
    client.subscribe("topic/t")
    client.send(b"topic/t", b"still here")
    assert client.payloads() == [b"still here"]


def test_without_the_extension_nothing_can_be_subscribed() -> None:
    """Reading 24; MicroMsg2, PUB/SUB, Handshake negotiation."""
    client = MemoryBus().connect(b"batch-ack")
    client.subscribe("topic/t")
    assert client.complaints() == ["unknown command: subscribe"]


def test_who_may_not_subscribe_is_told() -> None:
    """Clients of other machines need a rule."""
    bus = MemoryBus()
    client = bus.connect()
    for destination in ("topic/secret", "secret"):
        client.subscribe(destination)
    client.heard()
    rule = '[[access.rules]]\neffect = "deny"\nactions = "*"\nwho = ["*"]\nnames = ["secret"]'
    bus.reload(rule)
    assert client.complaints() == ["topic/secret: ended by the bus: policy", "secret: ended by the bus: policy"]
    client.subscribe("topic/secret")
    client.subscribe("secret")
    client.send(b"topic/secret", b"x")
    told = client.complaints()
    assert told[:2] == ["subscribe topic/secret: subscribe is not allowed", "subscribe secret: consume is not allowed"]
    assert told[2] == "message 1: publish is not allowed"


# filters


def people(producer: Client) -> None:
    """Three messages in one segment, with properties."""
    producer.say(
        message(1, b"topic/t", b"young", b"age:N17;who:Tworld"),
        message(2, b"topic/t", b"both", b"age:N18;who:Thello%20world"),
        message(3, b"topic/t", b"old", b"age:N42"),
    )


@pytest.mark.parametrize(
    ("filters", "payloads"),
    [
        ((), [b"young", b"both", b"old"]),
        (("age%3E%3DN18",), [b"both", b"old"]),
        (("age%3E%3DN18", "who%26Tworld"), [b"both"]),
        (("who~Tworld",), [b"old"]),
        (("age%3CN0",), []),
    ],
)
def test_only_messages_that_pass_all_filters_come(filters: tuple[str, ...], payloads: list[bytes]) -> None:
    """Readings 59, 60 and 61; MicroMsg2, Filters: filtered for each receiver by itself."""
    bus = MemoryBus()
    client, other, producer = bus.connect(), bus.connect(), bus.connect(PLAIN)
    client.subscribe("topic/t", *filters)
    other.subscribe("topic/t")
    people(producer)
    assert client.payloads() == payloads
    assert other.payloads() == [b"young", b"both", b"old"]


def test_numbers_go_up_by_what_passes() -> None:
    """Reading 36: they are the receiver's own."""
    bus = MemoryBus()
    client, producer = bus.connect(), bus.connect(PLAIN)
    client.subscribe("topic/t", "who%26Tworld")
    people(producer)
    assert [frame[:3] for frame in client.heard()] == [b"\0\0\1", b"\0\0\2"]


def test_a_message_comes_if_any_subscription_lets_it_through() -> None:
    """All filters of one subscription must hold, and one subscription is enough."""
    bus = MemoryBus()
    client, producer = bus.connect(), bus.connect(PLAIN)
    client.subscribe("topic/t", "who~Tworld")
    client.subscribe("topic/*", "age%3DN17")
    people(producer)
    assert client.payloads() == [b"young", b"old"]


def test_a_second_subscription_replaces_the_first() -> None:
    """Its filters too."""
    bus = MemoryBus()
    client, producer = bus.connect(), bus.connect(PLAIN)
    client.subscribe("topic/t", "age%3CN0")
    client.subscribe("topic/t", "age%3DN42")
    people(producer)
    assert client.payloads() == [b"old"]
    client.subscribe("topic/t")
    people(producer)
    assert client.payloads() == [b"young", b"both", b"old"]


def test_retained_messages_pass_filters_too() -> None:
    """MicroMsg2, Filters: on every destination."""
    bus = MemoryBus()
    client, producer = bus.connect(), bus.connect()
    producer.send(b"topic/a", b"1", properties=b"retain:1;n:N1")
    producer.send(b"topic/b", b"2", properties=b"retain:1;n:N2")
    client.subscribe("topic/*", "n%3EN1")
    assert client.payloads() == [b"2"]


def test_too_many_filters_are_refused() -> None:
    """Reading 59: filters are bounded."""
    bus = MemoryBus()
    client = bus.connect()
    client.subscribe("topic/t", *(1_000 * ["a"]))
    client.subscribe("topic/t", "a%3DT" + 5000 * "x")
    assert client.complaints() == ["more than 32 filters", "filters of more than 4096 octets"]
    assert client.is_connected


# queues


def test_a_message_that_is_acknowledged_is_done_with() -> None:
    """Readings 41 and 54; MicroMsg2, Definitions, QUEUE: what is not acknowledged goes to somebody else, in order, and
    says so."""
    bus = MemoryBus()
    consumer, producer = bus.connect(), bus.connect()
    consumer.subscribe("q")
    producer.send(b"q", b"1", b"2", b"3", b"4", properties=b"k:v")
    assert consumer.payloads() == [b"1", b"2", b"3", b"4"]
    consumer.acknowledge(2)
    consumer.reset()
    next_one = bus.connect()
    next_one.subscribe("q")
    assert next_one.heard() == [
        message(1, b"q", b"3", b"redelivered:N1;k:v"),
        message(2, b"q", b"4", b"redelivered:N1;k:v"),
    ]
    next_one.reset()
    last = bus.connect()
    last.subscribe("q")
    assert last.heard()[0] == message(1, b"q", b"3", b"redelivered:N2;k:v")


@pytest.mark.parametrize("number", [0, 3, 40_000])
def test_an_acknowledgement_of_what_is_not_outstanding_settles_nothing(number: int) -> None:
    """Reading 40; nor does one that is repeated."""
    bus = MemoryBus()
    consumer = bus.connect()
    consumer.subscribe("q")
    consumer.send(b"q", b"1", b"2")
    consumer.acknowledge(number)
    queue = bus.router.queue(b"q")
    assert queue is not None
    assert (queue.unsettled, queue.accepted) == (2, 0)
    for _ in range(2):
        consumer.acknowledge(1)
        queue = bus.router.queue(b"q")
        assert queue is not None
        assert (queue.unsettled, queue.accepted) == (1, 1)


def test_no_more_comes_than_the_window_lets_through() -> None:
    """Readings 22 and 43; MicroMsg2, batch-ack: the server must stop; nothing is sent again while the connection
    lasts."""
    bus = MemoryBus()
    consumer, producer = bus.connect(WINDOW_2), bus.connect(PLAIN)
    consumer.subscribe("q")
    producer.send(b"q", b"1", b"2", b"3", b"4", b"5")
    assert consumer.payloads() == [b"1", b"2"]
    bus.wait(1000)
    assert consumer.payloads() == []
    consumer.acknowledge(1)
    assert consumer.payloads() == [b"3"]
    consumer.acknowledge(3)
    assert consumer.payloads() == [b"4", b"5"]


def test_the_window_is_for_topics_and_queues_together() -> None:
    """Reading 38: it counts messages of the connection."""
    bus = MemoryBus()
    client, producer = bus.connect(WINDOW_2), bus.connect(PLAIN)
    client.subscribe("q")
    client.subscribe("topic/t")
    producer.send(b"topic/t", b"1", b"2", b"3")
    producer.send(b"q", b"4", b"5")
    producer.send(b"topic/t", b"6")
    heard = client.payloads()
    number = 0
    for _ in range(10):
        if len(heard) > number:
            number = len(heard)
            client.acknowledge(number)
            more = client.payloads()
            assert len(more) <= 2
            heard += more
    assert sorted(heard) == [b"1", b"2", b"3", b"4", b"5", b"6"]
    assert [each for each in heard if each in (b"1", b"2", b"3", b"6")] == [b"1", b"2", b"3", b"6"]


def test_a_large_message_waits_for_room_frame_by_frame() -> None:
    """Reading 45: the window counts frames."""
    bus = MemoryBus()
    consumer = bus.connect(WINDOW_2)
    consumer.subscribe("q")
    consumer.send(b"q", 4 * MIB * b"p")
    consumer.send(b"q", b"next")
    received = 0
    for number in range(2, 8, 2):
        frames = [frame for frame in consumer.heard() if frame[0] != 2]
        received += len(frames)
        assert len(frames) <= 2
        consumer.acknowledge(number)
    assert received == 5


def test_what_arrives_while_the_window_is_full_waits_on_the_bus() -> None:
    """And is bounded there: of topics the oldest are dropped, of queues nothing is taken out."""
    bus = MemoryBus("[limits]\noutbox_octets = 2000")
    client, producer = bus.connect(b"ack;pubsub"), bus.connect(PLAIN)
    client.subscribe("topic/t")
    client.subscribe("q")
    for number in range(50):
        producer.send(b"topic/t", b"%d" % number)
        producer.send(b"q", b"%d" % number)
    assert bus.drops["outbox-full"] > 30
    assert client.payloads() == [b"0"]
    queue = bus.router.queue(b"q")
    assert queue is not None
    assert queue.ready >= 48


def test_a_full_link_and_a_full_window_must_both_clear() -> None:
    """In either order."""
    for order in ("link", "window"), ("window", "link"):
        bus = MemoryBus()
        client, producer = bus.connect(WINDOW_2), bus.connect(PLAIN)
        client.subscribe("topic/t")
        producer.send(b"topic/t", b"1", b"2", b"3")
        client.stop_reading()
        producer.send(b"topic/t", b"4")
        assert client.payloads() == [b"1", b"2"]
        heard = []
        for what in order:
            assert b"4" not in heard
            if what == "link":
                client.read_on()
            else:
                client.acknowledge(2)
            heard += client.payloads()
        assert heard == [b"3", b"4"]


def test_without_acknowledgements_a_message_is_done_with_when_it_is_sent() -> None:
    """MicroMsg2, MESSAGE frame: pushed as soon as it arrives; as many as the link takes."""
    bus = MemoryBus()
    consumer, producer = bus.connect(PLAIN), bus.connect(PLAIN)
    consumer.subscribe("q")
    producer.send(b"q", *(b"%d" % number for number in range(2500)))
    for _ in range(10):
        bus.wait()
    assert consumer.payloads() == [b"%d" % number for number in range(2500)]
    queue = bus.router.queue(b"q")
    assert queue is not None
    assert (queue.accepted, queue.unsettled) == (2500, 0)


def test_what_a_full_link_did_not_take_stays_in_the_queue() -> None:
    """Also without acknowledgements."""
    bus = MemoryBus()
    consumer, producer = bus.connect(PLAIN), bus.connect(PLAIN)
    consumer.subscribe("q")
    consumer.stop_reading()
    producer.send(b"q", b"1")
    bus.wait()
    assert consumer.payloads() == []
    consumer.close()
    late = bus.connect(PLAIN)
    late.subscribe("q")
    assert late.heard() == [message(1, b"q", b"1")]


def test_subscribing_to_a_queue_again_changes_nothing() -> None:
    """One consumer for each queue of a client, by whatever name."""
    bus = MemoryBus()
    consumer = bus.connect(WINDOW_2)
    for destination in ("q", "queue/q", "q"):
        consumer.subscribe(destination)
    queue = bus.router.queue(b"q")
    assert queue is not None
    assert queue.consumers == 1


def test_what_was_sent_before_unsubscribing_can_still_be_acknowledged() -> None:
    """It is not given to others meanwhile, who would do the work twice; and goes back if the client goes."""
    bus = MemoryBus()
    consumer, other = bus.connect(), bus.connect()
    consumer.subscribe("q")
    consumer.send(b"q", b"1", b"2")
    consumer.payloads()
    consumer.unsubscribe("q")
    other.subscribe("q")
    consumer.send(b"q", b"3")
    assert (consumer.payloads(), other.payloads()) == ([], [b"3"])
    consumer.acknowledge(1)
    consumer.close()
    assert other.payloads() == [b"2"]


def test_a_consumer_that_has_settled_all_it_had_is_gone() -> None:
    """And may begin again."""
    bus = MemoryBus()
    consumer, producer = bus.connect(), bus.connect(PLAIN)
    consumer.subscribe("q")
    producer.send(b"q", b"1")
    consumer.unsubscribe("q")
    consumer.acknowledge(1)
    assert bus.router.queue(b"q") is None
    consumer.subscribe("q")
    producer.send(b"q", b"2")
    assert consumer.payloads() == [b"1", b"2"]


def test_a_destination_that_is_too_long_to_be_written_is_written_shorter() -> None:
    """A command has more room than a message's head."""
    bus = MemoryBus()
    consumer = bus.connect()
    consumer.subscribe("queue/" + 255 * "q")
    consumer.send(255 * b"q", b"1")
    consumer.subscribe("topic/" + 255 * "t")
    bus.connect_fmqp(b"\0\xff\0\0\0\1" + 255 * b"t" + b"x")
    assert consumer.heard() == [message(1, 255 * b"q", b"1")]


def test_properties_of_any_length_leave_room_for_the_mark() -> None:
    """What does not fit behind it is left out."""
    bus = MemoryBus()
    consumer = bus.connect()
    consumer.subscribe("q")
    written = b"k:" + 65_533 * b"v"
    consumer.send(b"q", b"1", properties=written)
    assert consumer.heard() == [message(1, b"q", b"1", written)]
    consumer.reset()
    again = bus.connect()
    again.subscribe("q")
    assert again.heard() == [message(1, b"q", b"1", (b"redelivered:N1;" + written)[:65_535])]


def test_dead_letters_say_what_they_died_of() -> None:
    """By properties, as to all protocols."""
    bus = MemoryBus("[queues]\ndelivery_limit = 1")
    consumer = bus.connect()
    consumer.subscribe("q")
    consumer.send(b"q", b"1", properties=b"k:N1")
    consumer.reset()
    undertaker = bus.connect()
    undertaker.subscribe("dead")
    [letter] = undertaker.heard()
    assert b"k:N1;dead-letter-reason:Tdelivery-limit;dead-letter-queue:Tq" in letter


def test_every_frame_is_written_in_one_piece() -> None:
    """Reading 44: the real client misreads an acknowledgement that is split."""
    bus = MemoryBus()
    client = bus.connect(b"batch-ack:max-count=2;pubsub;dotnet")
    written = client.record_writes()
    client.subscribe("topic/t")
    client.subscribe("q")
    for octets in (
        extension(3, b"A"),
        *(message(number, destination, b"x") for number, destination in enumerate([b"q", b"topic/t", b"topic/"], 1)),
    ):
        client.say(octets)
        client.acknowledge(2)
        bus.wait(0.05)
    assert len(written) > 2
    for piece in written:
        list(split(piece))


# types


def test_a_type_is_told_to_those_who_chose_types() -> None:
    """Readings 27, 63 and 64; MicroMsg2, DOTNET: under the receiver's own index, through topics and queues."""
    bus = MemoryBus()
    knows, does_not = bus.connect(b"json;pubsub;dotnet"), bus.connect(PLAIN)
    producer = bus.connect(b"dotnet")
    for client in (knows, does_not):
        client.subscribe("topic/t")
    producer.say(extension(1, b"A.B, C"), message(1, b"topic/t", b"1"), message(2, b"topic/t", b"2"))
    assert knows.heard() == [extension(3, b"A.B, C"), message(1, b"topic/t", b"1"), message(2, b"topic/t", b"2")]
    assert does_not.heard() == [message(1, b"topic/t", b"1"), message(2, b"topic/t", b"2")]
    knows.subscribe("q")
    producer.say(extension(1, b"D"), message(3, b"q", b"3", b"k:v"))
    assert knows.heard() == [extension(3, b"D"), message(3, b"q", b"3", b"k:v")]


def test_payloads_are_never_converted() -> None:
    """Reading 66: whatever serializers the two sides have agreed on."""
    bus = MemoryBus()
    consumer, producer = bus.connect(b"xml;pubsub"), bus.connect(b"json")
    consumer.subscribe("topic/t")
    producer.send(b"topic/t", b"{no json")
    assert consumer.payloads() == [b"{no json"]


def test_an_acknowledgement_may_be_for_another_index() -> None:
    """Readings 15 and 65: indexes are the order of the last handshake; one that was not agreed on is skipped."""
    bus = MemoryBus()
    consumer = bus.connect(b"pubsub;json;ack")
    consumer.subscribe("q")
    consumer.send(b"q", b"1", b"2")
    assert consumer.payloads() == [b"1"]
    for index in (0, 1, 2, 9):
        consumer.say(extension(index, u16(1)))
    assert consumer.payloads() == []
    consumer.acknowledge(1, index=3)
    assert consumer.payloads() == [b"2"]
