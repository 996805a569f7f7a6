"""`fmqbus.client.micromsg2`: subscriptions with filters, and queues consumed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from twisted.internet.defer import Deferred

from fmqbus.client.events import Message
from fmqbus.client.queue_message import Delivery
from fmqbus.errors import LocalError, Overloaded, PeerError, Refused
from fmqbus.protocols.micromsg2.events import Acknowledged, Subscribe, Unsubscribe
from tests.client.failures import failure_of
from tests.client.micromsg2_bus import MicroMsg2Bus, Served, encode_message

MakeServer = Callable[..., MicroMsg2Bus]


def wishes(connection: Served) -> list[tuple[str, bytes, int]]:
    """What the client wants and no longer wants, with how many filters."""
    return [
        (type(event).__name__, event.destination, len(event.filter.clauses) if isinstance(event, Subscribe) else 0)
        for event in connection.hear()
        if isinstance(event, Subscribe | Unsubscribe)
    ]


def acknowledged(connection: Served) -> list[bytes]:
    """What the client has acknowledged."""
    return [tag for event in connection.hear() if isinstance(event, Acknowledged) for tag in event.tags]


def payloads(deliveries: list[Delivery]) -> list[bytes]:
    """Their payloads."""
    return [delivery.payload for delivery in deliveries]


# topics


def test_messages_come_by_iteration_with_their_properties(server: MicroMsg2Bus) -> None:
    """Until the client stops."""
    got: list[Message] = []

    async def collect() -> None:
        async for message in server.client.subscribe("room/*"):
            got.append(message)

    collecting = Deferred.fromCoroutine(collect())
    connection = server.start()
    assert wishes(connection) == [("Subscribe", b"topic/room/*", 0)]
    connection.send(b"topic/room/temp", b"1", City="Bern")
    connection.send(b"topic/room/temp", b"2", retain="1")
    connection.send(b"topic/hall/temp", b"3")
    connection.send(b"topic///", b"4")
    assert got == [
        Message("room/temp", b"1", properties={"city": "Bern"}),
        Message("room/temp", b"2", retained=True, properties={"retain": "1"}),
    ]
    assert server.client.invalid == 1
    server.client.stopService()
    assert collecting.called


def test_filters_are_told_and_understood_here_too(server: MicroMsg2Bus) -> None:
    """Where those who want a pattern disagree, the server sends all of it, and each gets his own."""
    cheap: list[bytes] = []
    all_of_it: list[bytes] = []
    connection = server.start()
    server.client.subscribe("a", filters=["price<N10", "city=TBern"], callback=lambda m: cheap.append(m.payload))
    assert wishes(connection) == [("Subscribe", b"topic/a", 2)]
    wide = server.client.subscribe("a", callback=lambda m: all_of_it.append(m.payload))
    assert wishes(connection) == [("Subscribe", b"topic/a", 0)]
    connection.send(b"topic/a", b"1", price="5", city="Bern")
    connection.send(b"topic/a", b"2", price="50", city="Bern")
    assert (cheap, all_of_it) == ([b"1"], [b"1", b"2"])
    wide.stop()
    assert wishes(connection) == [("Subscribe", b"topic/a", 2)]


def test_a_filter_that_cannot_be_meant_is_refused(make_server: MakeServer) -> None:
    """Before anything is said."""
    bus = make_server(limits={"filter_clauses": 1})
    with pytest.raises(PeerError):
        bus.client.subscribe("a", filters=["nonsense"])
    with pytest.raises(Overloaded):
        bus.client.subscribe("a", filters=["a=T", "b=T"])
    assert wishes(bus.start()) == []


def test_messages_of_topics_are_acknowledged_before_long(make_server: MakeServer) -> None:
    """At half the window at once, else after a twentieth of a second (reading 39)."""
    bus = make_server(window=4)
    connection = bus.start()
    bus.client.subscribe("a")
    connection.hear()
    connection.send(b"topic/a", b"1")
    assert acknowledged(connection) == []
    bus.clock.advance(0.05)
    assert acknowledged(connection) == [b"1"]
    connection.send(b"topic/a", b"2", b"3")
    assert acknowledged(connection) == [b"2", b"3"]


def test_a_subscription_that_the_server_refuses_ends_with_its_words(server: MicroMsg2Bus) -> None:
    """Others go on."""
    connection = server.start()
    other = server.client.subscribe("room")
    reading = Deferred.fromCoroutine(anext(server.client.subscribe("room/secret")))  # type: ignore[arg-type]
    connection.hear()
    connection.refuse("subscribe topic/room/secret: not allowed")
    refusal = failure_of(reading)
    assert isinstance(refusal, Refused)
    assert str(refusal) == "subscribe topic/room/secret: not allowed"
    assert wishes(connection) == [("Unsubscribe", b"topic/room/secret", 0)]
    connection.refuse("about something else")
    assert not other.is_stopped


# queues


def test_what_is_accepted_in_any_order_is_acknowledged_in_order(make_server: MakeServer) -> None:
    """Acknowledgements are for everything up to a number."""
    bus = make_server(window=4)
    got: list[Delivery] = []
    connection = bus.start()
    bus.client.consume("/a/", callback=got.append)
    assert wishes(connection) == [("Subscribe", b"queue/a", 0)]
    connection.send(b"queue/a", b"1", b"2", b"3", b"4")
    assert payloads(got) == [b"1", b"2", b"3", b"4"]
    got[1].accept()
    got[2].accept()
    bus.clock.advance(0.05)
    assert acknowledged(connection) == []
    got[0].accept()
    assert acknowledged(connection) == [b"1", b"2", b"3"]
    got[0].accept()
    got[3].accept()
    bus.clock.advance(0.05)
    assert acknowledged(connection) == [b"4"]


def test_a_message_of_a_topic_waits_for_the_queue_message_before_it(server: MicroMsg2Bus) -> None:
    """They share one account."""
    got: list[Delivery] = []
    connection = server.start()
    server.client.consume("a", callback=got.append)
    server.client.subscribe("a")
    connection.hear()
    connection.send(b"queue/a", b"1")
    connection.send(b"topic/a", b"2")
    server.clock.advance(0.05)
    assert acknowledged(connection) == []
    got[0].accept()
    server.clock.advance(0.05)
    assert acknowledged(connection) == [b"1", b"2"]


def test_a_delivery_tells_what_the_server_says_of_it(server: MicroMsg2Bus) -> None:
    """How often it may have been handed out before, and all its properties."""
    got: list[Delivery] = []
    connection = server.start()
    server.client.consume("a", callback=got.append)
    connection.hear()
    connection.send(b"a", b"1", city="Bern")
    connection.send(b"queue/a", b"2", redelivered="3")
    connection.send(b"queue/a", b"3", redelivered="often")
    assert (got[0].queue, got[0].properties, got[0].is_redelivered) == ("a", {"city": "Bern"}, False)
    assert [delivery.deliveries for delivery in got] == [1, 4, 2]
    assert [delivery.is_redelivered for delivery in got] == [False, True, True]


def test_what_is_not_accepted_when_the_connection_goes_comes_again(server: MicroMsg2Bus) -> None:
    """Words on what had come before are ignored, and what nobody had looked at is forgotten."""
    connection = server.start()
    consumption = server.client.consume("a")
    connection.hear()
    connection.send(b"queue/a", b"1", b"2")
    (first,) = take(consumption, 1)
    connection.break_off()
    connection = server.come_back()
    assert wishes(connection) == [("Subscribe", b"queue/a", 0)]
    connection.send(b"queue/a", b"1", b"2")
    first.accept()
    server.clock.advance(0.05)
    assert acknowledged(connection) == []
    again = take(consumption, 2)
    assert payloads(again) == [b"1", b"2"]
    for delivery in again:
        delivery.accept()
    server.clock.advance(0.05)
    assert acknowledged(connection) == [b"1", b"2"]


def take(consumption: object, count: int) -> list[Delivery]:
    """So many deliveries that are there."""
    taken: list[Delivery] = []

    async def collect() -> None:
        for _ in range(count):
            taken.append(await anext(consumption))  # type: ignore[call-overload]

    Deferred.fromCoroutine(collect())
    return taken


def test_leaving_a_consumption_gives_back_what_is_not_accepted(server: MicroMsg2Bus) -> None:
    """By leaving the server for a moment, for which it has no other word; what was accepted is acknowledged first."""
    connection = server.start()
    consumption = server.client.consume("a")
    connection.hear()
    connection.send(b"queue/a", b"1", b"2")
    take(consumption, 1)[0].accept()
    sent = server.client.send("queue/b", b"x")
    consumption.stop()
    assert acknowledged(connection) == [b"1"]
    assert connection.disconnecting
    server.clock.advance(0)
    connection = server.come_back()
    assert wishes(connection) == []
    assert not sent.called


def test_leaving_with_nothing_in_hand_only_unsubscribes(server: MicroMsg2Bus) -> None:
    """What was on its way meanwhile goes back."""
    connection = server.start()
    consumption = server.client.consume("a")
    connection.send(b"queue/a", b"1")
    take(consumption, 1)[0].accept()
    connection.hear()
    consumption.stop()
    consumption.stop()
    assert wishes(connection) == [("Unsubscribe", b"queue/a", 0)]
    assert not connection.disconnecting
    connection.send(b"queue/a", b"2")
    assert connection.disconnecting


def test_a_server_that_does_not_read_is_cut_off_when_something_goes_back(make_server: MakeServer) -> None:
    """Else it would never be given to anybody."""
    bus = make_server(limits={"drain_seconds": 3.0})
    connection = bus.start()
    connection.reads = False
    consumption = bus.client.consume("a")
    connection.send(b"queue/a", b"1")
    consumption.stop()
    bus.clock.pump([3.0, 0.0])
    assert connection.is_aborted
    bus.clock.advance(1.0)
    assert len(bus.connections) == 2


def test_a_server_that_keeps_to_no_window_is_left(make_server: MakeServer) -> None:
    """Else it could make us hold without end."""
    bus = make_server(window=2)
    connection = bus.start()
    bus.client.consume("a")
    connection.say(encode_message(1, b"queue/a", b"1"), encode_message(2, b"a", b"2"))
    assert not connection.disconnecting
    connection.say(encode_message(3, b"queue/a", b"3"))
    assert connection.disconnecting
    assert bus.client.invalid == 1


def test_a_callback_may_end_its_consumption(server: MicroMsg2Bus) -> None:
    """What came with the message that it looked at goes back."""
    got: list[Delivery] = []

    def once(delivery: Delivery) -> None:
        got.append(delivery)
        delivery.accept()
        consumption.stop()

    connection = server.start()
    consumption = server.client.consume("a", callback=once)
    connection.hear()
    connection.send(b"queue/a", b"1", b"2")
    connection.hear()
    assert payloads(got) == [b"1"]
    assert connection.disconnecting


def test_stopping_the_client_acknowledges_what_was_accepted(server: MicroMsg2Bus) -> None:
    """And leaves the rest to others."""
    connection = server.start()
    consumption = server.client.consume("a")
    connection.hear()
    connection.send(b"queue/a", b"1", b"2", b"3")
    first, _ = take(consumption, 2)
    first.accept()
    stopped = server.client.stopService()
    assert acknowledged(connection) == [b"1"]
    server.clock.advance(0)
    assert stopped.called
    assert server.clock.getDelayedCalls() == []


def test_a_consumption_that_the_server_refuses_ends_with_its_words(server: MicroMsg2Bus) -> None:
    """Now, or later when the bus ends it; a name is found as the server can write it."""
    connection = server.start()
    for queue, told in (("a b", "subscribe queue/a b: not allowed"), ("ü", "queue/?: ended by the bus: revoked")):
        reading = Deferred.fromCoroutine(anext(server.client.consume(queue)))  # type: ignore[arg-type]
        connection.hear()
        connection.refuse(told)
        assert isinstance(failure_of(reading), Refused)


def test_a_queue_is_consumed_once_by_a_client_that_acknowledges(make_server: MakeServer) -> None:
    """Else nobody could tell whose a message is, or it would be lost with us."""
    bus = make_server()
    bus.client.consume("a")
    with pytest.raises(LocalError):
        bus.client.consume("/a")
    with pytest.raises(LocalError):
        make_server(window=0).client.consume("a")
