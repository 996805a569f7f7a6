"""What becomes of a call, wherever it stands and whatever happens? Exactly one end each time."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest
from twisted.internet.task import Clock

from fmqbus.calls import DEFAULT_METHOD_SETTINGS, Call, FailedAttachment, MethodSettings, Parcel, Service
from fmqbus.errors import CallFailed, Detached, LocalError
from fmqbus.limits import Limits
from fmqbus.model import Action
from fmqbus.router.service import Router
from fmqbus.testing.bus import LOCAL, MemoryClient, MemoryPeer, OpenPolicy, make_router

DEADLINE = DEFAULT_METHOD_SETTINGS.deadline


class Scene:
    """One server that takes one call at a time, and one call of one caller at a certain stage."""

    def __init__(self, stage: str) -> None:
        self.clock = Clock()
        self.policy = OpenPolicy()
        self.router = make_router(self.clock, authorizers=[self.policy])
        self.caller, self.server, self.other = (MemoryClient(self.router) for _ in range(3))
        self.service = self.server.serve(b"m", window=1)
        if stage == "waiting":
            self.other.call(b"m", b"other")
        self.call = self.caller.session.call(b"m", Parcel(b"hi"))
        if stage != "chosen":
            self.caller.session.flush()
        if stage == "orphaned":
            self.caller.abandon(self.call)
        if stage == "ended":
            self.server.reply(self.call, b"ho")
        self.server.let_off.clear()

    def deny(self, action: Action) -> None:
        """A right is lost."""
        self.policy.deny(action, b"m")
        self.router.policy_changed()


EVENTS: dict[str, Callable[[Scene], object]] = {
    "reply": lambda scene: scene.server.reply(scene.call, b"ho"),
    "failure": lambda scene: scene.server.fail(scene.call, 418, "teapot"),
    "stranger's reply": lambda scene: scene.other.reply(scene.call, b"forged"),
    "caller's reply": lambda scene: scene.caller.reply(scene.call, b"forged"),
    "abandon": lambda scene: scene.caller.abandon(scene.call),
    "stranger's abandon": lambda scene: scene.other.abandon(scene.call),
    "deadline": lambda scene: scene.clock.advance(DEADLINE),
    "caller gone": lambda scene: scene.caller.close(),
    "unserve": lambda scene: scene.server.unserve(scene.service),
    "server gone": lambda scene: scene.server.close(),
    "link full": lambda scene: (scene.server.pause(), scene.router.flush(None)),
    "call denied": lambda scene: scene.deny(Action.CALL),
    "serve denied": lambda scene: scene.deny(Action.SERVE),
    "drain": lambda scene: scene.router.drain(),
}


@attrs.frozen
class Outcome:
    """What is seen of an event."""

    #: How the call has ended for its caller; None if it has not been told.
    told: bytes | str | None = None
    #: The server has got the call, by then.
    handed: bool = False
    #: The server is told that nobody waits any more.
    let_off: bool = False
    #: Calls that the server still has in hand.
    in_hand: int = 0


WAITS = Outcome(in_hand=1)
OVER = Outcome(handed=True)
HELD = Outcome(handed=True, in_hand=1)
ORPHANED = Outcome(handed=True, in_hand=1)

TABLE: dict[str, dict[str, Outcome]] = {
    "waiting": {
        "reply": WAITS,
        "failure": WAITS,
        "abandon": WAITS,
        "deadline": Outcome("expired"),
        "caller gone": WAITS,
        "unserve": Outcome("unserved", in_hand=1),
        "server gone": Outcome("unserved"),
        "link full": WAITS,
        "call denied": Outcome("refused", in_hand=1),
        "serve denied": Outcome("unserved"),
        "drain": Outcome("ending", in_hand=1),
    },
    "chosen": {
        "reply": HELD,
        "failure": HELD,
        "abandon": Outcome(),
        "deadline": Outcome("expired"),
        "caller gone": Outcome(),
        "unserve": Outcome("unserved"),
        "server gone": Outcome("unserved"),
        "link full": Outcome(),
        "call denied": Outcome("refused"),
        "serve denied": Outcome("unserved"),
        "drain": Outcome("ending"),
    },
    "handed": {
        "reply": Outcome(b"ho", handed=True),
        "failure": Outcome("failed", handed=True),
        "abandon": Outcome(None, handed=True, let_off=True, in_hand=1),
        "deadline": Outcome("expired", handed=True, let_off=True),
        "caller gone": Outcome(None, handed=True, let_off=True, in_hand=1),
        "unserve": HELD,
        "server gone": Outcome("server-lost", handed=True),
        "link full": HELD,
        "call denied": HELD,
        "serve denied": Outcome("server-lost", handed=True),
        "drain": Outcome("ending", handed=True, let_off=True, in_hand=1),
    },
    "orphaned": {
        "reply": OVER,
        "failure": OVER,
        "abandon": ORPHANED,
        "deadline": OVER,
        "caller gone": ORPHANED,
        "unserve": ORPHANED,
        "server gone": OVER,
        "link full": ORPHANED,
        "call denied": ORPHANED,
        "serve denied": OVER,
        "drain": ORPHANED,
    },
    "ended": dict.fromkeys(EVENTS, Outcome(b"ho", handed=True)),
}
ROWS = [
    (stage, event, row.get(event, {"waiting": WAITS, "chosen": HELD, "handed": HELD}.get(stage, ORPHANED)))
    for stage, row in TABLE.items()
    for event in EVENTS
]


@pytest.mark.parametrize(("stage", "event", "outcome"), ROWS, ids=[f"{stage}-{event}" for stage, event, _ in ROWS])
def test_each_event_at_each_stage(stage: str, event: str, outcome: Outcome) -> None:
    """As the table says; what it does not name (strangers' words) changes nothing."""
    scene = Scene(stage)
    EVENTS[event](scene)
    scene.caller.session.flush()
    told = scene.caller.replies
    assert told == ([] if outcome.told is None else [outcome.told])
    assert (scene.call in scene.server.asked) is outcome.handed
    assert (scene.call in scene.server.let_off) is outcome.let_off
    assert scene.service.in_hand == outcome.in_hand


@pytest.mark.parametrize("stage", TABLE)
@pytest.mark.parametrize("event", EVENTS)
def test_there_is_one_end_whatever_follows(stage: str, event: str) -> None:
    """The caller is told once, or never if it did not want to be; the account adds up, and nothing stays behind."""
    scene = Scene(stage)
    EVENTS[event](scene)
    for each in ("reply", "abandon", "deadline", "unserve", "server gone", "caller gone", "reply"):
        EVENTS[each](scene)
    assert len(scene.caller.replies) <= 1
    assert scene.service.in_hand == 0
    assert scene.router.methods() == []
    scene.clock.advance(2 * DEADLINE)
    assert scene.clock.getDelayedCalls() == []


def pair(**options: object) -> tuple[Router, MemoryClient, MemoryClient]:
    """A bus, a server of ``m`` and a caller."""
    router = make_router(**options)  # type: ignore[arg-type]
    caller, server = MemoryClient(router), MemoryClient(router)
    server.serve(b"m")
    return router, caller, server


def test_a_call_brings_all_that_its_caller_said_and_who_that_is() -> None:
    """And a reply all that the server says; tags come back to those who gave them."""
    _, caller, server = pair()
    parcel = Parcel(b"\0\xff", {"k": "v"}, (b"one", FailedAttachment("lost")))
    call = caller.session.call(b"m", parcel, tag="mine")
    caller.session.flush()
    [asked] = server.asked
    assert asked is call
    assert (asked.method, asked.parcel, asked.caller) == (b"m", parcel, LOCAL)
    assert isinstance(asked.service, Service)
    reply = Parcel(b"", {"r": "w"}, (FailedAttachment(),))
    assert server.session.reply(asked, reply)
    server.session.flush()
    [answer] = caller.answers
    assert (answer.call, answer.call.tag, answer.result) == (call, "mine", reply)


def test_a_failure_has_the_servers_own_code_and_text() -> None:
    """Nobody else can say that it was the server."""
    _, caller, server = pair()
    server.fail(caller.call(b"m"), 418, "I am a teapot")
    [answer] = caller.answers
    failure = answer.result
    assert isinstance(failure, CallFailed)
    assert (failure.reason, failure.code, str(failure)) == ("failed", 418, "I am a teapot")


def test_a_method_that_nobody_serves_cannot_be_called() -> None:
    """It is said at once; a service of the same name under another level does not count."""
    router, caller, server = pair()
    for name in (b"n", b"m/n", b"M"):
        with pytest.raises(CallFailed) as refusal:
            caller.call(name)
        assert refusal.value.reason == "unserved"
    server.close()
    with pytest.raises(CallFailed):
        caller.call(b"m")
    assert router.methods() == []


def test_calls_are_handed_over_together_at_the_end_of_the_turn() -> None:
    """In the order in which they were asked, and so are their answers told."""
    _, caller, server = pair()
    batches: list[list[Call]] = []
    server.called = lambda calls: batches.append(list(calls))  # type: ignore[method-assign,assignment]
    calls = [caller.session.call(b"m", Parcel(b"%d" % number)) for number in range(3)]
    assert batches == []
    caller.session.flush()
    assert batches == [calls]
    for number, call in enumerate(reversed(calls)):
        server.session.reply(call, Parcel(b"%d" % number))
    assert caller.replies == []
    server.session.flush()
    assert [(answer.call, answer.result) for answer in caller.answers] == [
        (call, Parcel(b"%d" % number)) for number, call in enumerate(reversed(calls))
    ]


def test_one_client_may_call_itself() -> None:
    """And leave with the call in its hands."""
    router = make_router()
    client = MemoryClient(router)
    client.serve(b"m")
    client.reply(client.call(b"m"), b"me")
    assert client.replies == [b"me"]
    client.call(b"m")
    client.close()
    assert router.methods() == []


def test_a_server_that_comes_gets_what_waits() -> None:
    """And one whose hands become free; the oldest first."""
    router, caller, server = pair()
    other = MemoryClient(router)
    service = other.serve(b"n", window=1)
    for number in range(4):
        caller.call(b"n", b"%d" % number)
    assert other.asked_payloads == [b"0"]
    other.reply(other.asked[0])
    assert other.asked_payloads == [b"0", b"1"]
    server.serve(b"n", window=2)
    assert server.asked_payloads == [b"2", b"3"]
    assert service.in_hand == 1


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_a_deadline_is_some_number_of_seconds(seconds: float) -> None:
    """Anything else is a mistake of the caller's protocol."""
    _, caller, _ = pair()
    with pytest.raises(LocalError):
        caller.call(b"m", seconds=seconds)


@pytest.mark.parametrize(
    ("seconds", "usual", "wait"),
    [(None, 5.0, 5.0), (2.0, 5.0, 2.0), (7.0, 5.0, 7.0), (1e9, 5.0, 60.0), (None, 1e9, 60.0)],
)
def test_a_deadline_is_as_the_caller_says_or_the_method_is_set_within_bounds(
    seconds: float | None, usual: float, wait: float
) -> None:
    """It is kept to by the clock."""
    clock = Clock()
    settings = MethodSettings(deadline=usual)
    _, caller, server = pair(clock=clock, limits=Limits(call_seconds=60.0), method_settings=settings)
    call = caller.call(b"m", seconds=seconds)
    assert call.deadline == wait
    clock.advance(wait - 0.001)
    assert caller.replies == []
    clock.advance(0.002)
    assert caller.replies == ["expired"]
    assert not server.reply(call)


def test_deadlines_of_many_calls_are_kept_in_their_order() -> None:
    """Whatever the order in which they were asked."""
    clock = Clock()
    _, caller, _ = pair(clock=clock)
    for seconds in (5.0, 1.0, 3.0, 2.0, 4.0):
        caller.call(b"m", b"%d" % seconds, seconds=seconds)
    for second in range(1, 6):
        clock.advance(1.0)
        assert [answer.call.parcel.payload for answer in caller.answers][second - 1 :] == [b"%d" % second]


def test_callers_that_go_do_not_give_a_server_more_than_it_takes() -> None:
    """What it has in hand it works on, whether it is wanted or not, until it answers or has had the usual time."""
    clock = Clock()
    router, _, server = pair(clock=clock)
    server.serve(b"n", window=2)
    for _ in range(5):
        impatient = MemoryClient(router)
        impatient.call(b"n", seconds=1.0)
        impatient.close()
    waiting = MemoryClient(router)
    waiting.call(b"n", b"mine")
    assert len(server.asked) == 2
    assert len(server.let_off) == 2
    clock.advance(1.5)
    assert len(server.asked) == 2
    assert not server.reply(server.asked[0])
    assert server.asked_payloads == [b"", b"", b"mine"]
    MemoryClient(router).call(b"n", b"later")
    assert len(server.asked) == 3
    clock.advance(DEADLINE - 1.5)
    assert server.asked_payloads == [b"", b"", b"mine", b"later"]


def test_a_server_that_stops_serving_answers_what_it_has() -> None:
    """Others get what comes from then on."""
    router, caller, server = pair()
    heir = MemoryClient(router)
    service = server.serve(b"n")
    call = caller.call(b"n", b"1")
    heir.serve(b"n")
    server.unserve(service)
    server.unserve(service)
    caller.call(b"n", b"2")
    caller.call(b"n", b"3")
    assert heir.asked_payloads == [b"2", b"3"]
    assert server.reply(call, b"done")
    assert caller.replies == [b"done"]


@pytest.mark.parametrize("event", ["unserve", "server gone", "link full"])
def test_a_call_on_its_way_goes_to_another_server(event: str) -> None:
    """When its own can no longer be given it in this turn."""
    scene = Scene("chosen")
    heir = MemoryClient(scene.router)
    heir.session.serve(b"m", 1)
    EVENTS[event](scene)
    scene.caller.session.flush()
    assert heir.asked == [scene.call]
    assert scene.server.asked == []
    heir.reply(scene.call, b"done")
    assert scene.caller.replies == [b"done"]


def test_a_call_that_ends_on_its_way_goes_nowhere() -> None:
    """Even if the link to which it was going fills up in the same turn."""
    scene = Scene("chosen")
    scene.other.session.serve(b"m", 1)
    scene.caller.session.abandon(scene.call)
    scene.server.pause()
    scene.router.flush(None)
    assert scene.server.asked == scene.other.asked == []
    assert scene.service.in_hand == 0


@pytest.mark.parametrize("event", ["unserve", "server gone", "link full", "serve denied"])
def test_a_call_in_hand_never_goes_to_another_server(event: str) -> None:
    """Half of it may have been done."""
    scene = Scene("handed")
    heir = MemoryClient(scene.router)
    heir.session.serve(b"m", 1)
    EVENTS[event](scene)
    scene.caller.session.flush()
    assert heir.asked == []


def test_a_client_that_has_gone_can_ask_and_serve_no_more() -> None:
    """Nor anybody on a bus that ends."""
    router, caller, server = pair()
    call = caller.call(b"m")
    caller.close()
    with pytest.raises(Detached):
        caller.call(b"m")
    with pytest.raises(Detached):
        caller.serve(b"m")
    caller.abandon(call)
    caller.unserve(Service(b"m", 1))
    other = MemoryClient(router)
    router.drain()
    with pytest.raises(CallFailed) as refusal:
        other.call(b"m")
    assert refusal.value.reason == "ending"
    assert not server.reply(call)


def test_a_soft_stop_tells_callers_before_it_ends_them() -> None:
    """Also one that is slow: it is waited for."""
    router, caller, _ = pair()
    slow = MemoryClient(router)
    slow.call(b"m")
    slow.pause()
    caller.call(b"m")
    router.drain()
    assert caller.replies == ["ending"]
    assert "ending drained" not in caller.calls
    slow.resume()
    assert slow.replies == ["ending"]
    assert caller.calls == slow.calls == ["stop_listening", "ending drained"]


def test_a_caller_that_comes_back_gets_the_answers_that_came_meanwhile() -> None:
    """A detached client is still there; a detached server is passed over."""
    router, caller, server = pair()
    call = caller.call(b"m")
    token = caller.session.detach(60.0)
    server.reply(call, b"done")
    peer = MemoryPeer()
    router.resume(token, peer, LOCAL).resume_delivery()
    assert peer.replies == [b"done"]
    other = MemoryClient(router)
    server.session.detach(60.0)
    call = other.call(b"m")
    assert call not in server.asked
    assert router.methods()[0].waiting == 1


def test_a_peer_that_fails_to_take_calls_is_cut_off_and_they_fail() -> None:
    """Others are unharmed."""

    class Failing(MemoryClient):
        def called(self, calls: object) -> None:
            raise RuntimeError("out of order")

    router = make_router()
    server, caller = Failing(router), MemoryClient(router)
    server.serve(b"m")
    caller.call(b"m")
    assert server.calls == ["abort failed"]
    server.close()
    assert caller.replies == ["server-lost"]


def test_the_numbers_of_a_method_add_up() -> None:
    """They are told by name, and go when nobody serves it any more."""
    clock = Clock()
    router, caller, server = pair(clock=clock)
    server.serve(b"n", window=5)
    calls = [caller.call(b"n", seconds=1.0 if number == 4 else None) for number in range(7)]
    server.reply(calls[0])
    server.fail(calls[1])
    caller.abandon(calls[2])
    clock.advance(1.0)
    [m, n] = router.methods()
    assert (m.name, n.name, m.called) == (b"m", b"n", 0)
    assert (n.servers, n.called, n.refused) == (1, 7, 0)
    assert n.ended == {"replied": 1, "failed": 1, "abandoned": 1, "expired": 1}
    assert n.called == n.waiting + n.in_hand + sum(n.ended.values())
    assert (n.waiting, n.in_hand) == (0, 3)
    assert router.methods(after=b"m") == router.methods()[1:]
    assert router.methods(most=1) == router.methods()[:1]
