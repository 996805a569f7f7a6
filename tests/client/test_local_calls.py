"""`LocalClient.call` and `serve`: functions of the application answer, and Deferreds wait."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from twisted.internet.defer import CancelledError, Deferred, fail, succeed
from twisted.internet.task import Clock
from twisted.logger import globalLogPublisher

from fmqbus.calls import Call, FailedAttachment, Parcel
from fmqbus.client.local import LocalClient
from fmqbus.errors import CallFailed, Detached, InvalidName, Refused
from fmqbus.model import Action
from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient, OpenPolicy, make_router


class Scene:
    """A bus with two local clients: one asks, one serves."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.policy = OpenPolicy()
        self.router: Router = make_router(self.clock, authorizers=[self.policy])
        self.caller, self.server = LocalClient(self.router), LocalClient(self.router)

    def turn(self) -> None:
        """All that is to be called soon is called."""
        self.clock.pump([0.0] * 3)

    def result(self, answer: Deferred[Parcel]) -> Parcel | Exception:
        """What has come of a call by now."""
        self.turn()
        got: list[Parcel | Exception] = []
        answer.addCallbacks(got.append, lambda failure: got.append(failure.value))
        [result] = got
        return result


@pytest.fixture
def scene() -> Scene:
    """A bus and its two clients."""
    return Scene()


async def _later(payload: bytes) -> bytes:
    return await succeed(payload)


@pytest.mark.parametrize(
    ("function", "parcel"),
    [
        (lambda call: b"octets", Parcel(b"octets")),
        (lambda call: None, Parcel(b"")),
        (lambda call: Parcel(b"p", {"k": "v"}, (b"a",)), Parcel(b"p", {"k": "v"}, (b"a",))),
        (lambda call: succeed(b"deferred"), Parcel(b"deferred")),
        (lambda call: _later(b"coroutine"), Parcel(b"coroutine")),
        (lambda call: call.parcel, Parcel(b"hi", {"k": "v"}, (b"a", FailedAttachment("lost")))),
        (lambda call: call.method, Parcel(b"sum/up")),
    ],
)
def test_what_a_function_returns_is_the_reply(scene: Scene, function: Callable[[Call], object], parcel: Parcel) -> None:
    """Now or later; it gets all that the caller said."""
    scene.server.serve("/sum/up", function)
    attachments = (b"a", FailedAttachment("lost"))
    answer = scene.caller.call("sum/up", b"hi", properties={"k": "v"}, attachments=attachments)
    assert not answer.called
    assert scene.result(answer) == parcel


def test_a_function_may_fail_with_a_code_and_a_text(scene: Scene) -> None:
    """Raised or by a Deferred."""
    for function in (_raise(CallFailed("teapot", 418)), lambda call: fail(CallFailed("teapot", 418))):
        service = scene.server.serve("m", function)
        failure = scene.result(scene.caller.call("m"))
        assert isinstance(failure, CallFailed)
        assert (failure.reason, failure.code, str(failure)) == ("failed", 418, "teapot")
        scene.server.unserve(service)


def _raise(error: Exception) -> Callable[[Call], object]:
    def function(call: Call) -> object:
        raise error

    return function


@pytest.mark.parametrize("function", [_raise(ValueError("a secret")), lambda call: "no octets"])
def test_what_goes_wrong_in_a_function_is_logged_and_not_told(scene: Scene, function: Callable[[Call], object]) -> None:
    """The caller learns that it failed."""
    logged: list[object] = []
    globalLogPublisher.addObserver(logged.append)
    try:
        scene.server.serve("m", function)
        failure = scene.result(scene.caller.call("m", b"x"))
    finally:
        globalLogPublisher.removeObserver(logged.append)
    assert isinstance(failure, CallFailed)
    assert (failure.reason, failure.code, str(failure)) == ("failed", 0, "the server has failed")
    assert len([event for event in logged if "answers calls has failed" in str(event)]) == 1


def test_what_cannot_begin_is_said_at_once(scene: Scene) -> None:
    """As with everything that a local client says."""
    with pytest.raises(CallFailed):
        scene.caller.call("nobody")
    with pytest.raises(InvalidName):
        scene.caller.call("*")
    scene.policy.deny(Action.SERVE, b"m")
    with pytest.raises(Refused):
        scene.server.serve("m", bytes)


def test_a_call_that_nobody_answers_fails_in_time(scene: Scene) -> None:
    """The function is told, as its Deferred is cancelled; the next one in the line is then asked."""
    works: list[Deferred[bytes]] = []

    def function(call: Call) -> Deferred[bytes]:
        works.append(Deferred())
        return works[-1]

    scene.server.serve("m", function, window=1)
    answers = [scene.caller.call("m", deadline_seconds=seconds) for seconds in (1.0, 9.0)]
    scene.turn()
    assert len(works) == 1
    scene.clock.advance(1.0)
    failure = scene.result(answers[0])
    assert isinstance(failure, CallFailed)
    assert failure.reason == "expired"
    assert works[0].called
    works[1].callback(b"done")
    assert scene.result(answers[1]) == Parcel(b"done")


def test_cancelling_abandons_the_call(scene: Scene) -> None:
    """Its function is cancelled too, and nothing comes of an answer that was already on its way."""
    work: Deferred[bytes] = Deferred()
    stopped: list[bool] = []
    work.addErrback(lambda failure: stopped.append(bool(failure.trap(CancelledError))))
    scene.server.serve("m", lambda call: work)
    answer = scene.caller.call("m")
    scene.turn()
    answer.cancel()
    assert isinstance(scene.result(answer), CancelledError)
    assert stopped == [True]
    quick = MemoryClient(scene.router)
    quick.serve(b"n")
    late = scene.caller.call("n")
    quick.reply(quick.asked[0], b"done")
    late.cancel()
    assert isinstance(scene.result(late), CancelledError)


def test_leaving_ends_what_is_under_way(scene: Scene) -> None:
    """On both sides; nobody waits for ever."""
    works: list[Deferred[bytes]] = []

    def function(call: Call) -> Deferred[bytes]:
        works.append(Deferred())
        return works[-1]

    scene.server.serve("m", function)
    answer = scene.caller.call("m")
    other = MemoryClient(scene.router)
    other.call(b"m")
    scene.turn()
    scene.caller.close()
    scene.caller.close()
    assert isinstance(scene.result(answer), Detached)
    scene.server.close()
    assert other.replies == ["server-lost"]
    assert [work.called for work in works] == [True, True]


def test_a_soft_stop_fails_what_is_under_way(scene: Scene) -> None:
    """The application is told why."""
    scene.server.serve("m", lambda call: Deferred())
    answer = scene.caller.call("m")
    scene.turn()
    drained = scene.router.drain()
    failure = scene.result(answer)
    assert isinstance(failure, CallFailed)
    assert failure.reason == "ending"
    assert drained.called


def test_a_function_may_call_and_serve_itself(scene: Scene) -> None:
    """It runs in a turn of its own."""

    async def function(call: Call) -> bytes:
        scene.server.serve("inner", lambda inner: inner.parcel.payload.upper())
        reply = await scene.server.call("inner", call.parcel.payload)
        return reply.payload

    scene.server.serve("m", function)
    answer = scene.caller.call("m", b"hi")
    scene.turn()
    assert scene.result(answer) == Parcel(b"HI")
