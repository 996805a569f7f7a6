"""Are extensions parts that anybody can add? (MicroMsg2, Extensions)"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from twisted.plugin import IPlugin
from zope.interface import implementer
from zope.interface.verify import verifyObject

from fmqbus.app.plugs import find_plugs
from fmqbus.errors import PeerError
from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.limits import Limits
from fmqbus.model import Message, Publication
from fmqbus.protocols.micromsg2.codec import Run
from fmqbus.protocols.micromsg2.events import Event, Refused, Released, Unsubscribe
from fmqbus.protocols.micromsg2.fields import Pairs
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.protocols.micromsg2.hooks import Hooks
from fmqbus.protocols.micromsg2.numbers import Numbers
from fmqbus.testing.micromsg2 import BUILT_IN, End, Pair, server
from tests.protocols.micromsg2.written import (
    CONTINUED,
    LARGE_PAYLOAD,
    MIB,
    command,
    error,
    extension,
    handshake,
    message,
)


def test_those_of_the_specification_are_installed_parts() -> None:
    """MicroMsg2, Extensions: registered as a vendor's would be."""
    assert set(find_plugs().of(IMicroMsg2Extension).values()) >= set(BUILT_IN)


@pytest.mark.parametrize("part", BUILT_IN, ids=lambda part: part.name)
def test_each_provides_what_its_interface_demands(part: IMicroMsg2Extension) -> None:
    """And leaves as it is what the other side says of it, if that is nothing special."""
    verifyObject(IMicroMsg2Extension, part)
    assert part.answer({"x-whatever": "1"}, Limits()) == {}
    assert isinstance(part.activate({}, Numbers(), Limits()), Hooks)


@pytest.mark.parametrize("name", ["json", "xml", "protobuf"])
def test_serializers_change_nothing(name: str) -> None:
    """MicroMsg2, Extensions; reading 66: the broker never converts."""
    pair = Pair(name)
    pair.client.connection.send(b"d", b"\0{<anything>")
    assert pair.client.written() == message(1, b"d", b"\0{<anything>")


@implementer(IPlugin, IMicroMsg2Extension)
class Vendors:
    """Does a little of everything that an extension can."""

    name = "x-vendor"
    aliases = ("x-seller",)
    choice = ""
    summary = "for tests"

    def __init__(self) -> None:
        self.seen: list[Any] = []
        #: How many frames may be sent, from the first one on.
        self.allowed = 10
        self.numbers = Numbers()

    def answer(self, properties: Mapping[str, str], limits: Limits) -> Mapping[str, str]:
        if properties.get("version") == "0":
            raise PeerError("version 0 is not made any more", "vendor")
        return {"version": "1", "also": "this"} if properties else {}

    def activate(self, properties: Mapping[str, str], numbers: Numbers, limits: Limits) -> Hooks:
        self.numbers = numbers
        self.seen.append(dict(properties))
        return Hooks(
            frame_received=self.frame_received,
            commands={"x-forget": self.forget},
            message_received=self.message_received,
            before_message=self.before_message,
            room=lambda: self.allowed - numbers.sent,
        )

    def frame_received(self, payload: bytes) -> Iterable[Event]:
        if payload == b"bad":
            raise PeerError("a bad frame", "vendor")
        self.seen.append(payload)
        self.allowed += 10 * len(payload)
        return ()

    def forget(self, arguments: Pairs) -> Iterable[Event]:
        return [Unsubscribe(name.encode()) for name, _ in arguments]

    def message_received(self, number: int) -> Mapping[str, str]:
        return {"x-vendor:number": str(number)}

    def before_message(self, number: int, properties: Mapping[str, str]) -> bytes | None:
        text = properties.get("x-vendor:number")
        return None if text is None else f"{number}<{text}".encode()


@pytest.fixture
def vendors() -> Vendors:
    return Vendors()


@pytest.fixture
def end(vendors: Vendors) -> End:
    """A server whose client chose the vendor's extension."""
    end = server(extensions=[*BUILT_IN, vendors])
    end.hear(2 * handshake(b"json;x-seller"))
    end.written()
    return end


def test_a_vendor_takes_part_in_the_negotiation(vendors: Vendors) -> None:
    """MicroMsg2, Extensions: it changes properties, adds some, has another name too, and is told what came of it."""
    end = server(extensions=[vendors])
    end.hear(handshake(b"X-Seller:Version=7,Kept=a%2Cb"))
    assert end.written() == handshake(b"x-seller:Version=1,Kept=a%2Cb,also=this", b"", b"fmqbus")
    end.hear(handshake(b"x-seller:kept=c"))
    assert vendors.seen == [{"kept": "c", "version": "1", "also": "this"}]


def test_a_vendor_can_refuse(vendors: Vendors) -> None:
    """Left out where it is suggested, no connection where it is required."""
    end = server(extensions=[vendors])
    end.hear(handshake(b"", b"x-vendor:version=0"))
    assert end.written() == handshake(b"", b"", b"fmqbus")
    end = server(extensions=[vendors])
    end.hear(handshake(b"x-vendor:version=0"))
    assert end.written() == error(b"version 0 is not made any more")


def test_a_vendor_gets_its_frames_and_makes_room(vendors: Vendors, end: End) -> None:
    """It can hold the sender and release it."""
    vendors.allowed = 0
    end.connection.send(b"d", b"1")
    end.connection.send(b"d", b"2")
    assert end.written() == b""
    assert end.hear(extension(2, b"x")) == [Released()]
    assert end.written() == message(1, b"d", b"1") + message(2, b"d", b"2")
    assert vendors.seen[-1] == b"x"


def test_a_vendor_refuses_a_frame_and_the_connection_goes_on(end: End) -> None:
    """As it does a command."""
    assert end.hear(extension(2, b"bad")) == [Refused("vendor")]
    assert end.written() == error(b"a bad frame")


def test_a_vendor_has_commands(end: End) -> None:
    """What they mean is told by events that any extension can use."""
    assert end.hear(command(b"X-Forget;a=,b=")) == [Unsubscribe(b"a"), Unsubscribe(b"b")]


def test_a_vendor_sees_messages_and_numbers(vendors: Vendors, end: End) -> None:
    """What it knows of a message goes with it over the bus, and comes to be said at the other side."""
    first, second = end.hear(message(5, b"topic/a") + message(6, b"topic/a"))
    assert isinstance(first, Received)
    assert isinstance(second, Received)
    assert (first.annotations, second.annotations) == ({"x-vendor:number": "5"}, {"x-vendor:number": "6"})
    assert vendors.numbers.received == 6
    end.connection.deliver([Publication.of(Message(b"a", b"", properties=first.annotations))])
    assert end.written() == extension(2, b"1<5") + message(1, b"topic/a")
    assert vendors.numbers.sent == 1


def test_what_goes_before_a_message_goes_there_once(vendors: Vendors, end: End) -> None:
    """Also where the message takes several frames, and these have to wait."""
    vendors.allowed = 1
    end.connection.send(b"d", 2 * MIB * b"p", {"x-vendor:number": "7"})
    first = message(1, b"d", MIB * b"p", b"", CONTINUED | LARGE_PAYLOAD)
    assert end.written() == extension(2, b"1<7") + first
    end.hear(extension(2, b"x"))
    assert end.written() == message(2, b"", MIB * b"p", b"", LARGE_PAYLOAD)


def test_what_several_extensions_know_goes_with_a_message_together(vendors: Vendors) -> None:
    """Each under its own name."""
    end = server(extensions=[*BUILT_IN, vendors])
    end.hear(2 * handshake(b"dotnet;x-vendor"))
    [received] = end.hear(extension(1, b"T") + message(1))
    assert isinstance(received, Received)
    assert received.annotations == {"dotnet:type": "T", "x-vendor:number": "1"}


def test_messages_take_the_fast_lane_where_no_extension_looks_at_them() -> None:
    """What an extension leaves out costs nothing."""
    end = server()
    end.hear(2 * handshake(b"json;batch-ack;pubsub"))
    [run] = end.hear(message(1, b"a") + message(2, b"a"))
    assert isinstance(run, Run)
