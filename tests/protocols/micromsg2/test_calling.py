"""How does a client of MicroMsg2 call what others serve? (docs/calls.md)"""

from __future__ import annotations

import pytest

from fmqbus.calls import FailedAttachment, Parcel
from fmqbus.testing.bus import MemoryClient
from tests.protocols.micromsg2.memory_bus import MemoryBus
from tests.protocols.micromsg2.written import message


@pytest.mark.parametrize("reply_to", [b"topic/answers", b"answers", b"queue/answers"])
def test_a_message_to_a_method_is_a_call_and_its_answer_a_message(reply_to: bytes) -> None:
    """To a topic or a queue, with what belongs to it and with the reply's properties."""
    bus = MemoryBus()
    server = MemoryClient(bus.router)
    server.serve(b"kitchen/brew")
    client = bus.connect()
    client.subscribe(reply_to.decode())
    properties = b"reply-to:" + reply_to.replace(b"/", b"%2F") + b";correlation-id:7a;ttl:N5;cup:large"
    client.send(b"method/kitchen/brew", b"tea", properties=properties)
    (call,) = server.asked
    assert (call.method, call.parcel.payload, dict(call.parcel.properties)) == (
        b"kitchen/brew",
        b"tea",
        {"cup": "large"},
    )
    assert call.deadline == bus.clock.seconds() + 5
    server.session.reply(call, Parcel(b"a pot", {"hot": "yes"}, (b"1", FailedAttachment())))
    server.session.flush()
    bus.wait(0)
    said = b"correlation-id:T7a;hot:Tyes;attachments:N2"
    assert client.heard() == [message(1, reply_to, b"a pot", said)]


def test_without_an_address_nobody_hears_of_the_answer() -> None:
    """The call is made all the same."""
    bus = MemoryBus()
    server = MemoryClient(bus.router)
    server.serve(b"brew")
    client = bus.connect()
    client.subscribe("answers")
    client.send(b"method/brew", b"tea")
    (call,) = server.asked
    server.session.reply(call, Parcel(b"a pot"))
    server.session.flush()
    bus.wait(0)
    assert client.heard() == []


@pytest.mark.parametrize(
    ("method", "error"), [(b"nobody", b"7 "), (b"brew", b"418 I am a teapot")], ids=["unserved", "failed"]
)
def test_a_call_that_fails_is_answered_by_its_error(method: bytes, error: bytes) -> None:
    """Its code and its text, and no payload."""
    bus = MemoryBus()
    server = MemoryClient(bus.router)
    server.serve(b"brew")
    client = bus.connect()
    client.subscribe("answers")
    client.send(b"method/" + method, b"coffee", properties=b"reply-to:answers")
    for call in server.asked:
        server.session.fail(call, 418, "I am a teapot")
    server.session.flush()
    bus.wait(0)
    assert [b"error:T" + error.replace(b" ", b"%20") in octets for octets in client.heard()] == [True]


def test_an_answer_that_cannot_be_sent_is_counted() -> None:
    """To a method, or to what is no name; nobody else notices."""
    bus = MemoryBus()
    client = bus.connect()
    client.subscribe("topic/a")
    client.send(b"method/nobody", b"", properties=b"reply-to:topic%2F%24%2Fx")
    bus.wait(0)
    client.send(b"topic/a", b"still here")
    assert client.payloads() == [b"still here"]


def test_a_method_cannot_be_subscribed_to() -> None:
    """It is served in other protocols."""
    bus = MemoryBus()
    client = bus.connect()
    client.subscribe("method/brew")
    assert b"a method is called" in b"".join(client.heard())
