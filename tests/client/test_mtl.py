"""What does the MTL client say to its broker, and what reaches the application? The connection: it comes and goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.error import TimeoutError

from fmqbus.client import sasl
from fmqbus.client.events import Message
from fmqbus.client.url import InvalidURL
from fmqbus.errors import Detached, InvalidName, LocalError, Refused
from fmqbus.protocols.mtl.commands import (
    Authorize,
    Command,
    Confirm,
    Content,
    Dismiss,
    Done,
    Failed,
    Lease,
    Open,
    Ping,
    Pong,
    Profile,
    Reader,
    Ready,
    Reject,
    Reply,
    Response,
    Summon,
    Unauthorized,
    Writer,
)
from tests.client.failures import failure_of
from tests.client.mtl_bus import MTLBus, Socket, answer_well

Make = Callable[..., MTLBus]


def instead(**answers: Any) -> Callable[[Socket, Any], Sequence[Reply | Command]]:
    """As a broker that answers everything well, but these kinds of things as it is said here."""

    def answer(socket: Socket, said: Any) -> Sequence[Reply | Command]:
        other = answers.get(type(said).__name__, answer_well)
        found: Any = other(socket, said) if callable(other) else other
        return found if isinstance(found, list | tuple) else [found]

    return answer


def test_a_client_is_connected_when_it_is_let_in(make_mtl_bus: Make) -> None:
    """At the virtual host of the URL (MTL, Client Authentication)."""
    bus = make_mtl_bus("mtl://broker/test-env")
    bus.client.startService()
    assert not bus.client.is_connected
    bus.settle()
    assert bus.client.is_connected
    assert bus.client.profiles == ("topic", "queue", "test")
    assert list(bus.requests()) == [Open("test-env")]
    assert bus.flows == []


def test_a_client_logs_in(make_mtl_bus: Make) -> None:
    """As the URL says, or as the program does."""
    answers = instead(Open=Unauthorized(("ANONYMOUS",)), Authorize=Ready(("topic",)))
    for bus in (
        make_mtl_bus("mtl://broker?login=anonymous", answer=answers),
        make_mtl_bus(answer=answers, credentials=sasl.anonymous()),
    ):
        bus.start()
        assert list(bus.requests()) == [Open(), Authorize("ANONYMOUS", b"")]
        assert bus.client.is_connected


def test_a_refusal_is_told_to_all_who_wait(make_mtl_bus: Make) -> None:
    """And the client goes on trying."""
    bus = make_mtl_bus(answer=instead(Open=Unauthorized(("PLAIN",))))
    bus.client.startService()
    connecting = Deferred.fromCoroutine(bus.client.when_connected(attempts=1))
    publishing = bus.client.publish("a", b"x")
    bus.settle()
    for waiting in (connecting, publishing):
        assert isinstance(failure_of(waiting), Refused)
    bus.answer = answer_well
    bus.come_back()
    assert bus.client.is_connected


def test_a_broker_that_does_not_answer_is_not_there(make_mtl_bus: Make) -> None:
    """There is nothing else that ZeroMQ could tell (MTL, General Operation). Each attempt has a socket of its own."""
    bus = make_mtl_bus(answer_seconds=5.0)
    bus.is_down = True
    bus.client.startService()
    connecting = Deferred.fromCoroutine(bus.client.when_connected(attempts=1))
    bus.clock.advance(5.0)
    bus.settle()
    assert isinstance(failure_of(connecting), TimeoutError)
    bus.is_down = False
    bus.come_back()
    assert bus.client.is_connected
    assert [socket.is_closed for socket in bus.sockets] == [True, False]
    assert len({socket.identity for socket in bus.sockets}) == 2


def test_to_stop_while_connecting_ends_it(make_mtl_bus: Make) -> None:
    """At once."""
    bus = make_mtl_bus()
    bus.is_down = True
    bus.client.startService()
    bus.client.stopService()
    assert all(socket.is_closed for socket in bus.sockets)
    bus.settle()
    assert bus.clock.getDelayedCalls() == []


# readers


def test_a_subscription_is_a_lease_and_a_summon(mtl_bus: MTLBus) -> None:
    """For any topic; the retained ones are marked."""
    got: list[Message] = []
    mtl_bus.client.subscribe("a/*", "/a/b/", callback=got.append)
    mtl_bus.settle()
    assert list(mtl_bus.requests()) == [Open(), Profile("topic"), Reader()]
    flow = mtl_bus.flow
    assert flow.heard() == [Lease(1, b"lease"), Summon(2, b"a/*"), Summon(3, b"a/b")]
    flow.deliver(b"a/b", b"1", table=b"\x06retaint\x01\x04cityS\x00\x00\x00\x04Bern")
    flow.deliver(b"a/c", b"2")
    flow.deliver(b"b", b"3")
    assert got == [Message("a/b", b"1", retained=True, properties={"city": "Bern"}), Message("a/c", b"2")]


def test_subscriptions_share_a_flow_until_they_have_a_pattern_in_common(mtl_bus: MTLBus) -> None:
    """Whoever comes later is to have what the bus keeps, and no resource is summoned twice (MTL, Summoning a
    Resource)."""
    got: list[tuple[str, bytes]] = []
    feeds = [
        mtl_bus.client.subscribe(*patterns.split(), callback=lambda message, of=name: got.append((of, message.payload)))
        for name, patterns in (("one", "a b"), ("two", "c"), ("three", "d a"))
    ]
    mtl_bus.settle()
    first, second = mtl_bus.flows
    assert [each.resource for each in first.heard(Summon)] == [b"a", b"b", b"c"]
    assert [each.resource for each in second.heard(Summon)] == [b"d", b"a"]
    first.deliver(b"a", b"1")
    second.deliver(b"a", b"2")
    first.deliver(b"c", b"3")
    assert got == [("one", b"1"), ("three", b"2"), ("two", b"3")]
    feeds[0].stop()
    feeds[2].stop()
    mtl_bus.settle()
    assert mtl_bus.flow is first
    assert first.heard() == [Dismiss(5, b"a"), Dismiss(6, b"b")]
    mtl_bus.client.subscribe("a")
    mtl_bus.settle()
    assert first.heard(Summon) == [Summon(7, b"a")]


def test_a_summon_that_is_refused_ends_who_wants_it(make_mtl_bus: Make) -> None:
    """And nobody else."""

    def answer(socket: Socket, summon: Summon) -> Response:
        return Response(summon.sequence, 400 if summon.resource == b"secret" else 200)

    bus = make_mtl_bus(answer=instead(Summon=answer)).start()
    other, refused = bus.client.subscribe("open"), bus.client.subscribe("secret", "more")
    bus.settle()
    assert (other.is_stopped, refused.is_stopped) == (False, True)
    with pytest.raises(Refused, match="400 to secret"):
        anext(refused).send(None)
    assert [each.resource for each in bus.flow.heard(Dismiss)] == [b"more"]


@pytest.mark.parametrize("refusal", [Failed(400, "Bad Request"), Failed(501, "Not implemented")])
def test_a_lease_that_is_refused_ends_who_wants_it(make_mtl_bus: Make, refusal: Failed) -> None:
    """Writers fail, and may try again."""
    bus = make_mtl_bus(answer=instead(Reader=refusal, Writer=refusal)).start()
    readers = [bus.client.subscribe("a"), bus.client.consume("a"), bus.client.reader("test")]
    writing = bus.client.publish("a", b"x")
    bus.settle()
    for reader in readers:
        with pytest.raises(Refused, match=str(refusal.code)):
            anext(reader).send(None)  # type: ignore[call-overload]
    assert isinstance(failure_of(writing), Refused)
    bus.answer = answer_well
    bus.client.publish("a", b"x")
    bus.settle()
    assert bus.flow.heard(Content) == [Content(1, b"a", b"", b"x")]


def test_a_message_of_a_queue_is_settled_as_the_application_says(mtl_bus: MTLBus) -> None:
    """In any order, and together where one word will do."""
    got: list[Any] = []
    mtl_bus.client.consume("jobs", window=5, callback=got.append)
    mtl_bus.settle()
    assert list(mtl_bus.requests())[1:] == [Profile("queue"), Reader((), is_confirmed=True, window=5)]
    flow = mtl_bus.flow
    flow.deliver(b"jobs", b"1", b"2", b"3", b"4")
    flow.deliver(b"jobs", b"5", table=b"\x0bredeliveredt\x01\x0adeliveriesl" + (3).to_bytes(8, "big"))
    assert [(each.queue, each.payload, each.is_redelivered, each.deliveries) for each in got[3:]] == [
        ("jobs", b"4", False, 1),
        ("jobs", b"5", True, 3),
    ]
    got[1].accept()
    got[0].accept()
    got[2].reject("why")
    got[4].release()
    got[4].accept()
    mtl_bus.settle()
    assert flow.heard(Confirm, Reject) == [Reject(3), Reject(5, recycle=True), Confirm(2, multiple=True)]
    got[3].accept()
    mtl_bus.settle()
    assert flow.heard(Confirm) == [Confirm(4)]


def test_a_consumption_that_ends_gives_back_what_it_holds(mtl_bus: MTLBus) -> None:
    """And what still comes."""
    deliveries = mtl_bus.client.consume("jobs")
    mtl_bus.settle()
    flow = mtl_bus.flow
    flow.deliver(b"jobs", b"1", b"2")
    deliveries.stop()
    flow.deliver(b"jobs", b"3")
    assert [each.sequence for each in flow.heard(Reject)] == [2, 1, 3]
    mtl_bus.settle()
    assert flow.is_closed
    assert mtl_bus.client.is_connected


def test_a_reader_of_any_profile_has_contents_as_they_came(mtl_bus: MTLBus) -> None:
    """With the fields of their tables; those that cannot be read have none."""
    got: list[Any] = []
    reader = mtl_bus.client.reader("TEST", [b"resource", "other"], callback=got.append)
    mtl_bus.settle()
    assert list(mtl_bus.requests())[1:] == [Profile("test"), Reader((b"resource", b"other"))]
    flow = mtl_bus.flow
    assert [each.resource for each in flow.heard(Summon)] == [b"resource", b"other"]
    flow.deliver(b"resource", b"x", table=b"\x04priol" + (5).to_bytes(8, "big"))
    flow.deliver(b"resource", b"y", table=b"nonsense")
    assert [(each.resource, each.payload, dict(each.properties)) for each in got] == [
        ("resource", b"x", {"prio": 5}),
        ("resource", b"y", {}),
    ]
    got[0].accept()
    reader.dismiss("other")
    reader.summon("third")
    mtl_bus.settle()
    assert flow.heard() == [Dismiss(4, b"other"), Summon(5, b"third")]
    reader.stop()
    mtl_bus.settle()
    assert flow.heard() == [Dismiss(6, b"resource"), Dismiss(7, b"third")]
    assert flow.is_closed


def test_where_nothing_is_confirmed_the_oldest_of_too_many_are_dropped(mtl_bus: MTLBus) -> None:
    """And counted."""
    reader = mtl_bus.client.reader("test", ["resource"], max_queue=2)
    mtl_bus.settle()
    mtl_bus.flow.deliver(b"resource", b"1", b"2", b"3")
    assert reader.dropped == 1


# writers


def test_what_is_published_is_confirmed(mtl_bus: MTLBus) -> None:
    """All of a profile goes over one flow."""
    first = mtl_bus.client.publish("/a/b/", b"1", retain=True, properties={"city": "Bern"})
    second = mtl_bus.client.publish("c", b"2")
    mtl_bus.client.enqueue("jobs", b"3", priority=5, time_to_live=2.5, delay=1)
    mtl_bus.settle()
    assert list(mtl_bus.requests())[1:] == [
        *(Profile("topic"), Writer((), is_confirmed=True)),
        *(Profile("queue"), Writer((), is_confirmed=True)),
    ]
    topics, queues = mtl_bus.flows
    assert topics.heard(Content) == [
        Content(1, b"a/b", b"\x04cityS\0\0\0\x04Bern\x06retaint\x01", b"1"),
        Content(2, b"c", b"", b"2"),
    ]
    (content,) = queues.heard(Content)
    assert content.properties.startswith(b"\x08priorityl\0\0\0\0\0\0\0\x05\x03ttld")
    assert not first.called
    topics.say(Confirm(2, multiple=True))
    assert first.called
    assert second.called


def test_no_more_is_under_way_than_the_window_has_room_for(make_mtl_bus: Make) -> None:
    """Nor than the socket takes."""
    bus = make_mtl_bus(window=2).start()
    for number in range(5):
        bus.client.publish("a", b"%d" % number)
    bus.settle()
    flow = bus.flow
    assert [each.body for each in flow.heard(Content)] == [b"0", b"1"]
    room = bus.client.when_room()
    flow.is_full = True
    flow.say(Confirm(1))
    assert [each.body for each in flow.heard(Content)] == [b"2"]
    flow.say(Confirm(3, multiple=True))
    assert flow.heard(Content) == []
    flow.is_full = False
    flow.clear()
    assert [each.body for each in flow.heard(Content)] == [b"3", b"4"]
    assert not room.called
    flow.say(Confirm(4))
    assert room.called


def test_what_is_rejected_fails_and_what_is_rejected_for_now_is_sent_again(mtl_bus: MTLBus) -> None:
    """A little later, before what waits (reading 49)."""
    first, second = mtl_bus.client.publish("a", b"1"), mtl_bus.client.publish("a", b"2")
    mtl_bus.settle()
    flow = mtl_bus.flow
    flow.heard()
    flow.say(Reject(1), Reject(2, recycle=True))
    assert isinstance(failure_of(first), Refused)
    mtl_bus.client.publish("a", b"3")
    assert flow.heard(Content) == []
    mtl_bus.clock.advance(0.05)
    assert [(each.sequence, each.body) for each in flow.heard(Content)] == [(3, b"2"), (4, b"3")]
    flow.say(Reject(4, recycle=True), Reject(3, recycle=True))
    mtl_bus.clock.advance(0.05)
    assert flow.heard(Content) == []
    mtl_bus.clock.advance(0.05)
    assert len(flow.heard(Content)) == 2
    assert not second.called
    flow.say(Confirm(6, multiple=True))
    assert second.called


def test_at_most_once_nothing_is_sent_again(make_mtl_bus: Make) -> None:
    """Not after a rejection, and not on the next connection."""
    bus = make_mtl_bus(resend=False).start()
    rejected, lost = bus.client.publish("a", b"1"), bus.client.publish("a", b"2")
    bus.settle()
    bus.flow.say(Reject(1, recycle=True))
    assert "no room" in str(failure_of(rejected))
    lose(bus)
    assert "before it was confirmed" in str(failure_of(lost))
    bus.come_back()
    assert bus.client.is_connected
    assert bus.flow.heard(Content) == []


def test_without_confirmations_sent_is_done(make_mtl_bus: Make) -> None:
    """The URL says so. To wait for what was sent the flow itself is asked."""
    bus = make_mtl_bus("mtl://broker?profile=test&confirm=none").start()
    done = bus.client.publish("resource", b"x")
    bus.settle()
    assert list(bus.requests())[1:] == [Profile("test"), Writer()]
    assert done.called
    bus.flow.heard()
    synced = Deferred.fromCoroutine(bus.client.sync())
    assert bus.flow.heard() == [Ping(), Dismiss(2, b"")]
    assert not synced.called
    bus.settle()
    assert synced.called


def test_a_writer_of_any_profile_writes_what_a_table_can_hold(mtl_bus: MTLBus) -> None:
    """Until it is closed; what waits by then fails."""
    writer = mtl_bus.client.writer("test", ["resource"], confirm="full")
    mtl_bus.settle()
    assert list(mtl_bus.requests())[1:] == [Profile("test"), Writer((b"resource",), is_confirmed=True)]
    writing = writer.write("resource", b"x", {"yes": True, "list": [1, {"deep": None}]})
    (content,) = mtl_bus.flow.heard(Content)
    assert content.properties.startswith(b"\x03yest\x01\x04listA")
    with pytest.raises(LocalError, match="not for"):
        writer.write("other", b"x")
    flow = mtl_bus.flow
    writer.close()
    writer.close()
    assert isinstance(failure_of(writing), Detached)
    with pytest.raises(Detached):
        writer.write("resource", b"x")
    mtl_bus.settle()
    assert flow.is_closed


def test_what_cannot_be_said_is_refused_at_once(mtl_bus: MTLBus) -> None:
    """The broker would drop it without a word, and the client wait for an answer."""
    client = mtl_bus.client
    for call in (client.subscribe, client.consume, lambda name: client.publish(name, b"")):
        for name, error in (("/", InvalidName), ("a\nb", LocalError)):
            with pytest.raises(error):
                call(name)  # type: ignore[operator]
    for wrong in (
        lambda: client.reader("test", [""]),
        lambda: client.reader("test", confirm="some"),
        lambda: client.writer("test", ["a" * 256]),
        lambda: client.publish("a", bytes(client._limits.body_octets + 1)),
        lambda: client.publish("a", b"", properties={"name": "x" * client._limits.control_octets}),
        lambda: client.enqueue("a", b"", priority=99),
    ):
        with pytest.raises(LocalError):
            wrong()
    mtl_bus.settle()
    assert not any(flow.heard(Content, Summon) for flow in mtl_bus.flows)


@pytest.mark.parametrize(
    "target", ["fmqp://broker", "mtl://", "mtl://broker?confirm=some", "mtl://broker?x=1", "mtl://a:secret@broker"]
)
def test_a_url_that_cannot_be_meant_is_refused(make_mtl_bus: Make, target: str) -> None:
    """And no password is repeated in what is said about it."""
    with pytest.raises(InvalidURL) as refused:
        MTLBus(target)
    assert "secret" not in str(refused.value)


# the connection comes and goes


def lose(bus: MTLBus) -> None:
    """Let the client find out that the broker has forgotten its flows."""
    flow = bus.flows[0]
    bus.answer, well = instead(Dismiss=lambda socket, dismiss: Response(dismiss.sequence, 403)), bus.answer
    bus.clock.advance(5.0)
    bus.settle()
    assert flow.is_closed
    assert not bus.client.is_connected
    bus.answer = well


def test_everything_is_leased_and_summoned_again(mtl_bus: MTLBus) -> None:
    """And what was not confirmed is sent again, before what waits; what was in hand comes again, to whomever."""
    got: list[Any] = []
    mtl_bus.client.subscribe("a")
    mtl_bus.client.consume("jobs", callback=got.append)
    reader = mtl_bus.client.reader("test", ["resource"])
    publishing = mtl_bus.client.publish("a", b"1")
    mtl_bus.settle()
    jobs = mtl_bus.flows[1]
    jobs.deliver(b"jobs", b"1")
    gone = mtl_bus.client.when_disconnected()
    lose(mtl_bus)
    assert gone.called
    mtl_bus.client.publish("a", b"2")
    mtl_bus.come_back()
    assert list(mtl_bus.requests()) == [
        Open(),
        *(Profile("topic"), Reader()),
        *(Profile("queue"), Reader((), True, 100)),
        *(Profile("test"), Reader((b"resource",))),
        *(Profile("topic"), Writer((), is_confirmed=True)),
    ]
    topics, queue, test, writing = mtl_bus.flows
    assert [flow.heard(Summon) for flow in (topics, queue, test)] == [
        [Summon(2, b"a")],
        [Summon(2, b"jobs")],
        [Summon(2, b"resource")],
    ]
    assert [each.body for each in writing.heard(Content)] == [b"1", b"2"]
    got[0].accept()
    mtl_bus.settle()
    assert queue.heard(Confirm) == []
    writing.say(Confirm(1))
    assert publishing.called
    assert not reader.is_stopped


@pytest.mark.parametrize("which", [0, 1])
def test_all_begins_anew_when_one_connection_has_gone(mtl_bus: MTLBus, which: int) -> None:
    """Whichever it is: what was under way on it may be lost, and nobody could tell."""
    mtl_bus.client.subscribe("a")
    mtl_bus.settle()
    gone = mtl_bus.client.when_disconnected()
    mtl_bus.sockets[which].break_off()
    assert gone.called
    assert all(socket.is_closed for socket in mtl_bus.sockets)
    mtl_bus.come_back()
    assert mtl_bus.flow.heard(Summon) == [Summon(2, b"a")]


def test_a_connection_that_breaks_at_the_beginning_is_tried_again(make_mtl_bus: Make) -> None:
    """Sooner than by waiting for an answer."""
    bus = make_mtl_bus()
    bus.is_down = True
    bus.client.startService()
    bus.sockets[0].break_off()
    bus.is_down = False
    bus.come_back()
    assert bus.client.is_connected


@pytest.mark.parametrize("kind", ["subscribe", "consume"])
def test_a_broker_that_is_silent_has_gone(mtl_bus: MTLBus, kind: str) -> None:
    """It is asked first (MTL, Heartbeating)."""
    getattr(mtl_bus.client, kind)("a")
    mtl_bus.settle()
    flow = mtl_bus.flow
    flow.heard()
    mtl_bus.clock.advance(5.0)
    assert flow.heard() == [Ping(), Dismiss(3, b"")]
    mtl_bus.settle()
    assert mtl_bus.client.is_connected
    mtl_bus.is_down = True
    for _ in range(6):
        mtl_bus.clock.advance(2.5)
    assert not mtl_bus.client.is_connected
    assert flow.is_closed


def test_a_broker_that_says_anything_is_there(mtl_bus: MTLBus) -> None:
    """But it owes an answer to what it was asked."""
    mtl_bus.client.subscribe("a")
    mtl_bus.settle()
    mtl_bus.is_down = True
    mtl_bus.clock.advance(5.0)
    assert mtl_bus.flow.heard(Dismiss) == [Dismiss(3, b"")]
    for _ in range(4):
        mtl_bus.clock.advance(2.4)
        mtl_bus.flow.say(Ping())
    assert len(mtl_bus.flow.heard(Pong)) == 4
    assert mtl_bus.client.is_connected
    mtl_bus.clock.advance(2.5)
    assert not mtl_bus.client.is_connected


def test_what_makes_no_sense_is_counted_and_dropped(mtl_bus: MTLBus) -> None:
    """On either flow."""
    mtl_bus.client.subscribe("a")
    mtl_bus.settle()
    flow = mtl_bus.flow
    for parts in ([], [b"\x08"], [b"\x7f", b""], [b"\x05", b""], [b"", b"200", b"{}"]):
        flow.say_parts(parts)
    flow.say(Response(99, 200), Content(1, b"/"))
    mtl_bus.control.say(Done())
    mtl_bus.control.say_parts([b"nonsense"])
    assert mtl_bus.client.is_connected
    assert mtl_bus.client.invalid == 9


def test_sync_waits_for_all_that_was_said(mtl_bus: MTLBus) -> None:
    """Leases, summons and confirmations."""
    mtl_bus.client.subscribe("a")
    mtl_bus.client.publish("a", b"1")
    synced = Deferred.fromCoroutine(mtl_bus.client.sync())
    mtl_bus.settle()
    assert not synced.called
    mtl_bus.flows[1].say(Confirm(1))
    mtl_bus.settle()
    assert synced.called


def test_to_stop_is_to_leave_in_good_order(mtl_bus: MTLBus) -> None:
    """What is in hand goes back, and the broker's answers are waited for; what is unconfirmed fails. A client that is
    started again is another."""
    got: list[Any] = []
    subscription = mtl_bus.client.subscribe("a")
    mtl_bus.client.consume("jobs", callback=got.append)
    publishing = mtl_bus.client.publish("a", b"1")
    mtl_bus.settle()
    topics, jobs, _ = mtl_bus.flows
    jobs.deliver(b"jobs", b"1", b"2")
    got[0].accept()
    stopping = mtl_bus.client.stopService()
    assert isinstance(failure_of(publishing), Detached)
    with pytest.raises(Detached):
        mtl_bus.client.publish("a", b"2")
    assert subscription.is_stopped
    assert not stopping.called
    mtl_bus.settle()
    assert stopping.called
    assert all(socket.is_closed for socket in mtl_bus.sockets)
    assert topics.heard(Dismiss) == [Dismiss(3, b"a")]
    assert jobs.heard(Dismiss, Confirm, Reject) == [Dismiss(3, b"jobs"), Reject(2, recycle=True), Confirm(1)]
    assert mtl_bus.clock.getDelayedCalls() == []
    mtl_bus.start()
    mtl_bus.client.publish("a", b"3")
    mtl_bus.settle()
    assert [each.body for each in mtl_bus.flow.heard(Content)] == [b"3"]


def test_a_broker_that_does_not_answer_at_the_end_is_not_waited_for_long(mtl_bus: MTLBus) -> None:
    """`Limits.drain_seconds`."""
    mtl_bus.client.subscribe("a")
    mtl_bus.settle()
    mtl_bus.is_down = True
    stopping = mtl_bus.client.stopService()
    mtl_bus.settle()
    assert not stopping.called
    mtl_bus.clock.advance(10.0)
    assert stopping.called
    assert mtl_bus.clock.getDelayedCalls() == []
