"""`fmqbus.client.umq`: calls have exactly one end, and what is served is served on each connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.error import ConnectionLost
from twisted.logger import LogLevel, capturedLogs

from fmqbus.calls import EXPIRED, FailedAttachment
from fmqbus.client.umq import Reply
from fmqbus.errors import CallFailed, Detached, LocalError, Overloaded, PeerError, Refused
from fmqbus.protocols.umq.codec import VERSION_UNKNOWN
from fmqbus.protocols.umq.events import Answered, Greeted, Raised
from tests.client.failures import failure_of
from tests.client.umq_bus import Served, UMQBus

MakeBus = Callable[..., UMQBus]


def test_a_call_and_its_result(umq_bus: UMQBus) -> None:
    """Attachments go both ways, those that failed too."""
    connection = umq_bus.start()
    value = umq_bus.client.call("sum", 1, 2)
    reply = umq_bus.client.request("all", attachments=[b"1", FailedAttachment("lost")])
    assert connection.calls() == [["sum", 1, 2], ["all"]]
    assert connection.called[1].attachments == [b"1", FailedAttachment("lost")]
    connection.answer(0, 3)
    connection.answer(1, {"a": None}, [b"\xff"])
    assert value.result == 3
    assert reply.result == Reply({"a": None}, [b"\xff"])


def test_an_error_has_the_code_and_the_text_of_the_other_side(umq_bus: UMQBus) -> None:
    """It is a `CallFailed`."""
    connection = umq_bus.start()
    failed = umq_bus.client.call("a")
    connection.calls()
    connection.refuse(0, 418, "a teapot")
    failure = failure_of(failed)
    assert isinstance(failure, CallFailed)
    assert (failure.code, str(failure)) == (418, "a teapot")


@pytest.mark.parametrize("payload", [b"{", b"[" * 100_000, b'"\\ud800"'], ids=lambda payload: payload[:9])
def test_a_result_that_cannot_be_read_is_a_mistake_of_the_other_side(umq_bus: UMQBus, payload: bytes) -> None:
    """Its call fails, and the connection stays; so it is with news of a topic."""
    connection = umq_bus.start()
    unreadable = umq_bus.client.call("a")
    connection.calls()
    connection.end.peer.answer(connection.called[0].id, payload)
    connection.tell()
    assert isinstance(failure_of(unreadable), PeerError)
    umq_bus.client.subscribe("a")
    connection.hear()
    connection.end.peer.open_topic(2, "2")
    connection.end.peer.update(2, payload)
    connection.tell()
    assert umq_bus.client.invalid == 2
    assert umq_bus.client.is_connected


def test_what_is_in_flight_fails_with_the_connection_and_what_waits_does_not(umq_bus: UMQBus) -> None:
    """Only the caller knows whether to ask again."""
    connection = umq_bus.start()
    in_flight = umq_bus.client.call("a")
    connection.break_off()
    assert isinstance(failure_of(in_flight), ConnectionLost)
    waiting = umq_bus.client.call("b")
    assert umq_bus.come_back().calls() == [["b"]]
    umq_bus.connection.answer(0, "done")
    assert waiting.result == "done"


def test_when_the_bus_says_why_it_goes_calls_tell(umq_bus: UMQBus) -> None:
    """Its last word is the failure's text."""
    connection = umq_bus.start()
    call = umq_bus.client.call("a")
    connection.hear()
    connection.end.peer.fail(3, "no more")
    connection.tell()
    umq_bus.clock.advance(0)
    assert "no more" in str(failure_of(call))


def test_a_call_that_is_cancelled_is_not_sent_or_not_waited_for(umq_bus: UMQBus) -> None:
    """A late answer is for nobody."""
    withdrawn = umq_bus.client.call("a")
    withdrawn.cancel()
    connection = umq_bus.start()
    given_up = umq_bus.client.call("b")
    assert connection.calls() == [["b"]]
    given_up.cancel()
    connection.answer(0)
    for deferred in (withdrawn, given_up):
        assert isinstance(failure_of(deferred), CancelledError)
    assert umq_bus.client.is_connected


def test_a_call_has_so_much_time(umq_bus: UMQBus) -> None:
    """Counted from when it is asked, connected or not."""
    call = umq_bus.client.call("a", timeout=5.0)
    umq_bus.start()
    umq_bus.clock.advance(5.0)
    failure = failure_of(call)
    assert isinstance(failure, CallFailed)
    assert failure.reason == EXPIRED


def test_so_many_calls_have_no_answer_and_others_wait(make_umq_bus: MakeBus) -> None:
    """Each answer lets one more go, in order; so does giving one up."""
    bus = make_umq_bus(limits={"calls_per_peer": 2})
    connection = bus.start()
    calls = [bus.client.call(name) for name in "abcd"]
    room = bus.client.when_room()
    assert connection.calls() == [["a"], ["b"]]
    connection.answer(0)
    assert connection.calls() == [["c"]]
    calls[1].cancel()
    failure_of(calls[1])
    assert connection.calls() == [["d"]]
    assert not room.called
    connection.answer(0)
    assert room.called


def test_attachments_wait_for_room(umq_bus: UMQBus) -> None:
    """What has none passes them."""
    connection = umq_bus.start()
    connection.fill()
    umq_bus.client._link.ask("with", attachments=[b"1", b"2"])  # type: ignore[union-attr]
    umq_bus.client._link.ask("without")  # type: ignore[union-attr]
    assert connection.calls() == [["without"]]
    connection.drain()
    assert connection.calls() == [["with"]]


def test_what_waits_is_bounded(make_umq_bus: MakeBus) -> None:
    """In octets."""
    bus = make_umq_bus(limits={"outbox_octets": 2000})
    call = bus.client.call("a", "b" * 1000)
    with pytest.raises(Overloaded):
        bus.client.call("a", "b" * 1000)
    call.addErrback(lambda reason: reason.trap(Detached))


@pytest.mark.parametrize(
    ("arguments", "attachments"), [([object()], []), (["\ud800"], []), (["a" * 1000], []), ([], [b"a" * 1001])]
)
def test_what_cannot_be_said_is_the_callers_mistake(
    make_umq_bus: MakeBus, arguments: Sequence[Any], attachments: Sequence[bytes]
) -> None:
    """At once."""
    bus = make_umq_bus(limits={"body_octets": 1000})
    with pytest.raises(LocalError):
        bus.client.call("a", *arguments, attachments=attachments)


def test_the_greeting_has_credentials_and_is_waited_for(make_umq_bus: MakeBus) -> None:
    """A connection is made when the bus has welcomed us."""
    bus = make_umq_bus(credentials={"token": "secret"})
    bus.client.startService()
    (greeted,) = bus.connection.hear()
    assert isinstance(greeted, Greeted)
    assert greeted.payload == b'{"token":"secret"}'
    assert not bus.client.is_connected
    bus.connection.end.peer.welcome()
    bus.connection.tell()
    assert bus.client.is_connected


def test_a_bus_that_refuses_is_a_failed_attempt_with_its_own_words(umq_bus: UMQBus) -> None:
    """What waits is told too; the client goes on trying."""
    waiting = umq_bus.client.call("a")
    umq_bus.client.startService()
    connected = Deferred.fromCoroutine(umq_bus.client.when_connected(attempts=1))
    umq_bus.connection.hear()
    umq_bus.connection.end.peer.fail(VERSION_UNKNOWN, "Unsupported version")
    umq_bus.connection.tell()
    umq_bus.clock.advance(0)
    for failed in (connected, waiting):
        failure = failure_of(failed)
        assert isinstance(failure, Refused)
        assert "Unsupported version" in str(failure)
    umq_bus.clock.advance(1.0)
    assert umq_bus.attempts == 2


def test_sync_waits_for_all_that_was_asked(umq_bus: UMQBus) -> None:
    """Whether it comes to a result or not."""
    waiting, failing = umq_bus.client.call("a"), umq_bus.client.call("b")
    connection = umq_bus.start()
    done = Deferred.fromCoroutine(umq_bus.client.sync())
    connection.calls()
    connection.answer(0)
    assert waiting.called
    assert not done.called
    connection.refuse(1, 1, "no")
    assert done.called
    failure_of(failing)


# serving


def serve(bus: UMQBus, function: Callable[..., Any]) -> tuple[Served, Deferred[None]]:
    """Serve a method on a new connection, which the bus agrees to."""
    agreed = bus.client.serve("m", function, window=2)
    connection = bus.start()
    assert connection.calls() == [["serve", "m", {"window": 2, "weight": 1}]]
    connection.answer(0)
    return connection, agreed


def ask(connection: Served, payload: bytes, attachments: Sequence[bytes] = ()) -> Sequence[Any]:
    """Call the client, and return what has come of that."""
    connection.end.peer.call(payload, attachments, tag="asked")
    connection.tell()
    return connection.hear()


def test_functions_answer_calls(umq_bus: UMQBus) -> None:
    """At once or later, with attachments or without."""
    later: Deferred[Any] = Deferred()
    results = iter([3, Reply("x", [b"1"]), later, None])
    got: list[Any] = []

    def function(arguments: Sequence[Any], attachments: Sequence[Any]) -> Any:
        got.append((arguments, attachments))
        return next(results)

    connection, agreed = serve(umq_bus, function)
    assert agreed.called
    assert ask(connection, b'["m",1,[2]]', [b"a"]) == [Answered("asked", b"3")]
    assert ask(connection, b'["m"]') == [Answered("asked", b'"x"', [b"1"])]
    assert ask(connection, b'["m"]') == []
    assert ask(connection, b'["m"]') == [Answered("asked", b"null")]
    later.callback({})
    assert connection.hear() == [Answered("asked", b"{}")]
    assert got[0] == ([1, [2]], [b"a"])


def test_functions_that_fail(umq_bus: UMQBus) -> None:
    """What they say on purpose is told, and all else is the log's."""
    errors = iter([CallFailed("a teapot", 418), ZeroDivisionError()])

    def function(*_: Any) -> None:
        raise next(errors)

    connection, _ = serve(umq_bus, function)
    assert ask(connection, b'["m"]') == [Raised("asked", 418, "a teapot")]
    with capturedLogs() as logs:
        assert ask(connection, b'["m"]') == [Raised("asked", 0, "the server has failed")]
    assert [each["log_level"] for each in logs] == [LogLevel.critical]


@pytest.mark.parametrize(
    ("payload", "code"),
    [(b"{", 3), (b"[]", 3), (b"[" * 100_000, 3), (b'"m"', 3), (b'["other"]', 7), (b"[7]", 7)],
)
def test_calls_that_nobody_can_answer(umq_bus: UMQBus, payload: bytes, code: int) -> None:
    """They do no harm."""
    connection, _ = serve(umq_bus, lambda *_: None)
    (raised,) = ask(connection, payload)
    assert raised.code == code


def test_what_is_served_is_served_again_and_what_was_worked_on_is_cancelled(umq_bus: UMQBus) -> None:
    """The bus has told the caller that the server is lost."""
    cancelled: list[Any] = []
    connection, _ = serve(umq_bus, lambda *_: Deferred(cancelled.append))
    ask(connection, b'["m"]')
    connection.break_off()
    assert len(cancelled) == 1
    assert umq_bus.come_back().calls() == [["serve", "m", {"window": 2, "weight": 1}]]


def test_what_may_not_be_served(umq_bus: UMQBus) -> None:
    """The Deferred tells, and it is not tried again."""
    agreed = umq_bus.client.serve("m", lambda *_: None)
    with pytest.raises(LocalError):
        umq_bus.client.serve("m", lambda *_: None)
    connection = umq_bus.start()
    connection.calls()
    connection.refuse(0, 1, "no right")
    assert isinstance(failure_of(agreed), Refused)
    connection.break_off()
    assert umq_bus.come_back().calls() == []


def test_what_is_served_no_more(umq_bus: UMQBus) -> None:
    """Calls that cross the word for it find nobody."""
    connection, _ = serve(umq_bus, lambda *_: None)
    told = umq_bus.client.unserve("m")
    assert connection.calls() == [["unserve", "m"]]
    connection.answer(0, True)
    assert told.result is True
    assert [raised.code for raised in ask(connection, b'["m"]')] == [7]
