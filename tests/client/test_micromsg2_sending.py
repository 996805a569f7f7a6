"""`fmqbus.client.micromsg2`: what is sent is acknowledged, in a window, and not lost with a connection."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionLost

from fmqbus.errors import Detached, InvalidName, LocalError, Overloaded, Refused
from fmqbus.limits import MIB, Limits
from fmqbus.testing.micromsg2 import server as make_end
from tests.client.failures import failure_of
from tests.client.micromsg2_bus import MicroMsg2Bus

MakeServer = Callable[..., MicroMsg2Bus]


def send(bus: MicroMsg2Bus, *payloads: bytes) -> list[Deferred[None]]:
    """Send messages to a queue."""
    return [bus.client.send("queue/a", payload) for payload in payloads]


def called(*sent: Deferred[None]) -> list[bool]:
    """Which of them have fired."""
    return [deferred.called for deferred in sent]


def test_a_message_is_done_when_it_is_acknowledged(server: MicroMsg2Bus) -> None:
    """Not when it is written."""
    connection = server.start()
    sent = send(server, b"1", b"2", b"3")
    assert connection.payloads() == [b"1", b"2", b"3"]
    assert called(*sent) == [False, False, False]
    connection.acknowledge(2)
    assert called(*sent) == [True, True, False]


def test_no_more_than_the_window_is_on_its_way(make_server: MakeServer) -> None:
    """The rest leaves in order as acknowledgements come."""
    bus = make_server(window=2)
    connection = bus.start()
    sent = send(bus, b"1", b"2", b"3", b"4", b"5")
    assert connection.payloads() == [b"1", b"2"]
    connection.acknowledge(1)
    assert connection.payloads() == [b"3"]
    connection.acknowledge(3)
    assert connection.payloads() == [b"4", b"5"]
    assert called(*sent) == [True, True, True, False, False]


def test_a_large_message_takes_several_places_in_the_window(make_server: MakeServer) -> None:
    """Its frames are counted (reading 45), and acknowledged as they come."""
    bus = make_server(window=2)
    connection = bus.start()
    sent = bus.client.send("queue/a", bytes(3 * MIB + 1))
    for _ in range(2):
        messages = connection.messages()
        connection.end.connection.acknowledge_now()
        connection.answer()
    assert [len(message.payload) for message in messages] == [3 * MIB + 1]
    connection.acknowledge(4)
    assert sent.called


def test_whoever_waits_for_room_keeps_to_the_window(make_server: MakeServer) -> None:
    """One message may be in hand, waiting for it."""
    bus = make_server(window=1)
    room = bus.client.when_room()
    assert not room.called
    connection = bus.start()
    assert room.called
    send(bus, b"1", b"2")
    room = bus.client.when_room()
    assert not room.called
    connection.hear()
    connection.acknowledge(1)
    assert room.called
    waiting = (send(bus, b"3"), bus.client.when_room())[1]
    bus.client.stopService()
    assert isinstance(failure_of(waiting), Detached)


def test_what_was_not_acknowledged_is_sent_again(server: MicroMsg2Bus) -> None:
    """In order, before what has never been sent; so it may come twice, but never not at all."""
    connection = server.start()
    sent = send(server, b"1", b"2", b"3")
    connection.hear()
    connection.acknowledge(1)
    connection.break_off()
    sent += send(server, b"4")
    connection = server.come_back()
    assert connection.payloads() == [b"2", b"3", b"4"]
    assert called(*sent) == [True, False, False, False]
    connection.acknowledge(3)
    assert all(called(*sent))


def test_without_resending_it_fails(make_server: MakeServer) -> None:
    """Nobody knows what became of it; what had not been sent still is."""
    bus = make_server(window=1, resend=False)
    connection = bus.start()
    first, second, third = send(bus, b"1", b"2", b"3")
    connection.break_off()
    assert isinstance(failure_of(first), ConnectionLost)
    assert isinstance(failure_of(second), ConnectionLost)
    assert not third.called
    assert bus.come_back().payloads() == [b"3"]


def test_a_server_that_goes_with_an_error_fails_what_it_had(make_server: MakeServer) -> None:
    """With its words: to send that again would bring the same."""
    bus = make_server(window=2)
    connection = bus.start()
    sent = send(bus, b"1", b"2", b"3", b"4")
    connection.hear()
    connection.acknowledge(1)
    connection.hear()
    connection.fail("message 2: queue full")
    assert called(*sent) == [True, True, True, True]
    for failed in sent[1:]:
        refusal = failure_of(failed)
        assert isinstance(refusal, Refused)
        assert str(refusal) == "message 2: queue full"
    later = send(bus, b"5")
    connection = bus.come_back()
    assert connection.payloads() == [b"5"]
    connection.acknowledge(1)
    assert called(*later) == [True]


def test_an_error_about_a_subscription_fails_no_message(server: MicroMsg2Bus) -> None:
    """Even if it was the last word."""
    connection = server.start()
    subscription = server.client.subscribe("secret")
    send(server, b"1")
    connection.hear()
    connection.refuse("subscribe topic/secret: not allowed")
    connection.break_off()
    assert subscription.is_stopped
    assert server.come_back().payloads() == [b"1"]


def test_an_error_that_was_not_the_last_word_fails_nothing(server: MicroMsg2Bus) -> None:
    """The connection has gone on since, and went for another reason."""
    connection = server.start()
    (first, second) = send(server, b"1", b"2")
    connection.hear()
    connection.refuse("something else")
    connection.acknowledge(1)
    connection.break_off()
    assert called(first, second) == [True, False]
    assert server.come_back().payloads() == [b"2"]


def test_a_server_that_cannot_be_understood_is_left(server: MicroMsg2Bus) -> None:
    """It is told, and the message is sent to it again when it makes sense."""
    connection = server.start()
    send(server, b"1")
    connection.hear()
    connection.say(b"\x20")
    assert b"flags" in connection.written()
    assert connection.disconnecting
    assert server.client.invalid == 1
    server.clock.advance(0)
    assert server.come_back().payloads() == [b"1"]


def test_messages_wait_for_the_first_connection_and_for_the_transport(server: MicroMsg2Bus) -> None:
    """In order."""
    send(server, b"1")
    connection = server.start()
    assert connection.payloads() == [b"1"]
    connection.fill()
    send(server, b"2")
    connection.acknowledge(1)
    assert connection.payloads() == []
    connection.drain()
    assert connection.payloads() == [b"2"]


def test_all_that_is_not_acknowledged_is_bounded(make_server: MakeServer) -> None:
    """What has been sent counts too, since it may have to be sent again."""
    bus = make_server(limits={"outbox_octets": 1200})
    connection = bus.start()
    first, _ = send(bus, b"1", b"2")
    with pytest.raises(Overloaded):
        send(bus, b"3")
    connection.hear()
    connection.acknowledge(1)
    assert first.called
    send(bus, b"3")


@pytest.mark.parametrize("is_connected", [False, True])
def test_a_cancelled_message_is_not_sent_again(server: MicroMsg2Bus, is_connected: bool) -> None:
    """If it has left already, it may arrive all the same."""
    if is_connected:
        server.start()
    first, second = send(server, b"1", b"2")
    first.cancel()
    assert isinstance(failure_of(first), CancelledError)
    if is_connected:
        assert server.connection.payloads() == [b"1", b"2"]
        server.connection.break_off()
        connection = server.come_back()
    else:
        connection = server.start()
    assert connection.payloads() == [b"2"]
    connection.acknowledge(1)
    assert second.called


def test_one_failure_may_cancel_another(server: MicroMsg2Bus) -> None:
    """An application that gives up, for instance."""
    server.start()
    first, second = send(server, b"1", b"2")
    first.addErrback(lambda reason: second.cancel())
    server.client.stopService()
    assert isinstance(failure_of(second), CancelledError)


def test_what_is_not_acknowledged_when_the_client_stops_fails(server: MicroMsg2Bus) -> None:
    """Nobody waits for ever."""
    server.start()
    (sent,) = send(server, b"1")
    server.client.stopService()
    assert isinstance(failure_of(sent), Detached)
    with pytest.raises(Detached):
        send(server, b"2")


def test_sync_ends_when_all_that_was_sent_is_done_with(server: MicroMsg2Bus) -> None:
    """Later messages are not waited for; to give up waiting harms none."""
    connection = server.start()
    sent = send(server, b"1", b"2")
    done = Deferred.fromCoroutine(server.client.sync())
    given_up = Deferred.fromCoroutine(server.client.sync())
    given_up.cancel()
    assert isinstance(failure_of(given_up), CancelledError)
    send(server, b"3")
    connection.hear()
    connection.acknowledge(1)
    assert called(done, *sent) == [False, True, False]
    connection.acknowledge(2)
    assert called(done, *sent) == [True, True, True]
    server.client.stopService()
    assert Deferred.fromCoroutine(server.client.sync()).called


def test_terms_are_properties(server: MicroMsg2Bus) -> None:
    """As the server reads them; what is not asked is not said."""
    connection = server.start()
    server.client.send("queue/a", b"", properties={"city": "Bern"}, priority=5, time_to_live=0.0, delay=1.5)
    server.client.publish("/a/", b"", retain=True)
    server.client.send("", b"")
    first, second, third = connection.messages()
    assert (first.destination, first.properties) == (b"queue/a", b"city:TBern;priority:N5;ttl:N0.0;delay:N1.5")
    assert (second.destination, second.properties) == (b"topic/a", b"retain:N1")
    assert (third.destination, third.properties) == (b"", b"")


def test_what_has_no_place_in_a_message_is_refused(make_server: MakeServer) -> None:
    """Before anything is sent; nothing is left out in silence."""
    bus = make_server(limits={"body_octets": 3})
    connection = bus.start()
    for wrong in (
        lambda: bus.client.send("x" * 256, b""),
        lambda: bus.client.send("a", b"four"),
        lambda: bus.client.send("a", b"", properties={"a b": "c"}),
        lambda: bus.client.send("a", b"", properties={"a": "x" * 70_000}),
        lambda: bus.client.send("a", b"", priority=10),
        lambda: bus.client.send("a", b"", delay=-1.0),
        lambda: bus.client.set_will("a", b"four"),
    ):
        with pytest.raises(LocalError):
            wrong()
    with pytest.raises(InvalidName):
        bus.client.publish("//", b"")
    assert connection.hear() == []


def test_wills_are_said_on_every_connection_before_all_else(server: MicroMsg2Bus) -> None:
    """One per topic, from when the server has it; an empty one is forgotten, and removed at the server too."""
    server.client.set_will("a", b"gone", retain=True)
    server.client.set_will("b", b"old")
    server.client.set_will("/b", b"new")
    connection = server.start()
    assert connection.payloads() == [b"gone", b"old", b"new"]
    connection.acknowledge(3)
    removed = server.client.set_will("b", b"")
    (removal,) = connection.messages()
    assert (removal.properties, removal.payload) == (b"will:N1", b"")
    send(server, b"1")
    connection.break_off()
    connection = server.come_back()
    messages = connection.messages()
    assert [message.payload for message in messages] == [b"gone", b"new", b"", b"1"]
    assert messages[0].properties == b"retain:N1;will:N1"
    connection.acknowledge(4)
    assert removed.called
    connection.break_off()
    assert server.come_back().payloads() == [b"gone"]


def test_a_will_that_the_server_refuses_is_not_said_again(server: MicroMsg2Bus) -> None:
    """Else no connection would last."""
    refused = server.client.set_will("a", b"gone")
    connection = server.start()
    connection.hear()
    connection.fail("message 1: not allowed")
    assert isinstance(failure_of(refused), Refused)
    assert server.come_back().payloads() == []


def test_wills_that_fill_the_window_make_messages_wait(make_server: MakeServer) -> None:
    """They wait where they are counted."""
    bus = make_server(window=1)
    bus.client.set_will("a", b"gone")
    bus.client.set_will("b", b"gone")
    connection = bus.start()
    for number in (1, 2):
        connection.hear()
        connection.acknowledge(number)
    send(bus, b"1")
    connection.break_off()
    connection = bus.come_back()
    for number, payload in enumerate((b"gone", b"gone", b"1"), 1):
        assert connection.payloads() == [payload]
        connection.acknowledge(number)


def test_without_acknowledgements_a_message_is_done_when_the_transport_has_it(make_server: MakeServer) -> None:
    """As in the protocol's default."""
    bus = make_server(window=0)
    (first,) = send(bus, b"1")
    connection = bus.start()
    assert connection.payloads() == [b"1"]
    assert first.called
    connection.break_off()
    assert bus.come_back().payloads() == []


def test_a_smaller_window_of_the_server_holds(make_server: MakeServer) -> None:
    """It says so in the handshake."""
    bus = make_server(make_end=lambda: make_end(limits=Limits(window=2)))
    connection = bus.start()
    send(bus, b"1", b"2", b"3")
    assert connection.payloads() == [b"1", b"2"]
