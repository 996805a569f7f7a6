"""`fmqbus.client.umq`: functions that the bus may call back, once each (UMQ, Command B)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from fmqbus.client.umq import Reply
from fmqbus.errors import CallFailed, Overloaded
from fmqbus.protocols.umq.codec import UNKNOWN_CALLBACK
from fmqbus.protocols.umq.events import Answered, Raised
from tests.client.umq_bus import Served, UMQBus

MakeBus = Callable[..., UMQBus]


def call_back(connection: Served, id: str, payload: bytes, attachments: Sequence[bytes] = ()) -> list[Any]:
    """Call a callback, and return what has come of that."""
    connection.end.peer.call_back(int(id, 36), payload, attachments, tag="called")
    connection.tell()
    return list(connection.hear())


def test_a_callback_is_called_once(umq_bus: UMQBus) -> None:
    """With all that the array says, and what is attached; who calls again is told that there is none."""
    got: list[Any] = []

    def function(arguments: Sequence[Any], attachments: Sequence[Any]) -> Reply:
        got.append((arguments, attachments))
        return Reply("done", [b"2"])

    connection = umq_bus.start()
    id = umq_bus.client.add_callback(function)
    umq_bus.client.call("serve", "work", {"callback": id})
    assert connection.calls() == [["serve", "work", {"callback": id}]]
    assert call_back(connection, id, b'["work",1]', [b"1"]) == [Answered("called", b'"done"', [b"2"])]
    assert got == [(["work", 1], [b"1"])]
    (raised,) = call_back(connection, id, b'["work",1]')
    assert raised.code == UNKNOWN_CALLBACK
    assert not umq_bus.client.remove_callback(id)


def test_a_callback_that_fails_says_so_as_what_is_served_does(umq_bus: UMQBus) -> None:
    """With a code and a text of its own; what is no array fails without it."""
    connection = umq_bus.start()

    def function(*_: Any) -> None:
        raise CallFailed("a teapot", 418)

    ids = [umq_bus.client.add_callback(function) for _ in range(3)]
    assert call_back(connection, ids[0], b"[]") == [Raised("called", 418, "a teapot")]
    assert [call_back(connection, id, payload)[0].code for id, payload in ((ids[1], b"{"), (ids[2], b'"x"'))] == [3, 3]


def test_callbacks_outlive_connections(umq_bus: UMQBus) -> None:
    """A call that tells an id may wait for a connection; an id is never used twice. What was in hand is cancelled."""
    cancelled: list[Any] = []
    early = umq_bus.client.add_callback(lambda *_: "early")
    told = umq_bus.client.call("tell", early)
    called = umq_bus.client.add_callback(lambda *_: Deferred(cancelled.append))
    connection = umq_bus.start()
    assert connection.calls() == [["tell", early]]
    assert call_back(connection, called, b"[]") == []
    connection.answer(0)
    assert told.called
    connection.break_off()
    assert len(cancelled) == 1
    connection = umq_bus.come_back()
    later = umq_bus.client.add_callback(lambda *_: "later")
    assert len({early, called, later}) == 3
    assert call_back(connection, early, b"[]") == [Answered("called", b'"early"')]
    assert call_back(connection, later, b"[]") == [Answered("called", b'"later"')]
    (raised,) = call_back(connection, called, b"[]")
    assert raised.code == UNKNOWN_CALLBACK


def test_a_callback_that_is_removed_is_called_no_more(umq_bus: UMQBus) -> None:
    """Not even when the call for it came in the same read as what had it removed."""
    connection = umq_bus.start()
    removed, late = (umq_bus.client.add_callback(lambda *_: 1) for _ in range(2))
    assert umq_bus.client.remove_callback(removed)
    (raised,) = call_back(connection, removed, b"[]")
    assert raised.code == UNKNOWN_CALLBACK
    umq_bus.client.call("a").addCallback(lambda _: umq_bus.client.remove_callback(late))
    connection.calls()
    connection.end.peer.answer(connection.called[0].id, b"null")
    (raised,) = call_back(connection, late, b"[]")
    assert raised.code == UNKNOWN_CALLBACK
    assert not umq_bus.client.remove_callback("no id")


def test_callbacks_are_bounded(make_umq_bus: MakeBus) -> None:
    """Until they are called or removed; a client that stops forgets them."""
    bus = make_umq_bus(limits={"callbacks_per_peer": 2})
    first, _ = (bus.client.add_callback(lambda *_: None) for _ in range(2))
    with pytest.raises(Overloaded):
        bus.client.add_callback(lambda *_: None)
    bus.client.remove_callback(first)
    second = bus.client.add_callback(lambda *_: None)
    bus.start()
    bus.client.stopService()
    assert not bus.client.remove_callback(second)
