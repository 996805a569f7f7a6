"""A broker that says anything at any time: the MTL client goes on, or begins anew, and nothing of it is our error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fmqbus.protocols.mtl.commands import (
    Challenged,
    Confirm,
    Content,
    DataLease,
    Dismiss,
    Done,
    Failed,
    Lease,
    Ping,
    Pong,
    Ready,
    Reject,
    Response,
    Summon,
    Unauthorized,
)
from tests.client.mtl_bus import MTLBus

_small = st.integers(0, 6)
_names = st.sampled_from([b"a", b"a/b", b"", b"/", b"*", b"resource"])
_replies = st.sampled_from(
    [
        Done(),
        Ready(("topic",)),
        Ready(()),
        DataLease(6000, b"x"),
        DataLease(0, b""),
        Unauthorized(("PLAIN",)),
        Challenged("PLAIN", b""),
        Failed(400, "Bad Request"),
        Failed(501, "Not implemented"),
    ]
)
_commands = st.one_of(
    st.builds(Response, _small, st.sampled_from([200, 400, 403, 599])),
    st.builds(Content, _small, _names, st.sampled_from([b"", b"\x06retaint\x01", b"nonsense"]), st.just(b"x")),
    st.builds(Confirm, _small, st.booleans()),
    st.builds(Reject, _small, st.booleans(), st.booleans()),
    st.builds(Lease, _small, _names),
    st.builds(Summon, _small, _names),
    st.builds(Dismiss, _small, _names),
    st.sampled_from([Ping(), Pong()]),
)
_parts = st.lists(st.binary(max_size=20), max_size=4)

#: What the application does meanwhile.
_DEEDS: list[Callable[[Any], object]] = [
    lambda client: client.subscribe("a", "a/*"),
    lambda client: client.subscribe("*").stop(),
    lambda client: client.consume("a", window=1, callback=lambda message: message.accept()),
    lambda client: client.consume("a", callback=lambda message: message.release()).stop(),
    lambda client: client.reader("test", ["resource"], callback=lambda content: content.reject()),
    lambda client: client.publish("a", b"x").addErrback(lambda _: None),
    lambda client: client.enqueue("a", b"x").addErrback(lambda _: None),
    lambda client: client.writer("test", ["resource"]).close(),
]
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("do"), st.sampled_from(_DEEDS)),
        st.tuples(st.just("reply"), _replies),
        st.tuples(st.just("command"), st.tuples(_small, _commands)),
        st.tuples(st.just("parts"), st.tuples(_small, _parts)),
        st.tuples(st.just("wait"), st.sampled_from([0.0, 0.05, 1.0, 5.0, 30.0])),
        st.tuples(st.just("full"), st.tuples(_small, st.booleans())),
        st.tuples(st.just("down"), st.booleans()),
        st.tuples(st.just("break"), st.tuples(_small, st.none())),
    ),
    max_size=30,
)


@settings(deadline=None)
@given(_steps)
def test_whatever_a_broker_says_the_client_can_go_on(steps: list[tuple[str, Any]]) -> None:
    """And in the end it stops, and leaves nothing behind."""
    bus = MTLBus().start()
    for kind, what in steps:
        if kind == "do":
            what(bus.client)
        elif kind == "reply":
            bus.control.say(what)
        elif kind == "wait":
            bus.clock.advance(what)
        elif kind == "down":
            bus.is_down = what
        else:
            index, argument = what
            socket = bus.sockets[index % len(bus.sockets)]
            if kind == "command":
                socket.say(argument)
            elif kind == "break":
                socket.break_off()
            elif kind == "parts":
                socket.say_parts(argument)
            elif socket.clear is not None and not socket.is_closed:
                socket.is_full = argument
                if not argument:
                    socket.clear()
        bus.settle()
    bus.is_down = False
    for _ in range(50):
        bus.clock.advance(1.0)
        bus.settle()
    assert bus.client.is_connected
    stopping = bus.client.stopService()
    bus.settle()
    bus.clock.advance(30.0)
    assert stopping.called
    assert bus.clock.getDelayedCalls() == []
    assert all(socket.is_closed for socket in bus.sockets)
