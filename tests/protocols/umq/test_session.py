"""How a UMQ conversation with the bus begins and ends, and what it is bounded by (UMQ, Commands H, W, F)"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from twisted.internet.task import Clock
from zope.interface.verify import verifyObject

from fmqbus.errors import ConfigError
from fmqbus.interfaces import IBusProtocol, IPeer, IUMQCaller, IUnitLink, IUnitProtocol
from fmqbus.limits import Limits
from fmqbus.model import PeerFacts
from fmqbus.protocols.umq.plug import UMQ
from fmqbus.testing.bus import MemoryClient
from tests.protocols.umq.clients import Client, greeted, make_bus


def test_it_keeps_its_contracts() -> None:
    """With the router, the link and the methods."""
    client = Client(make_bus())
    for interface in (IPeer, IUnitProtocol, IUMQCaller):
        assert verifyObject(interface, client.session)
    assert verifyObject(IUnitLink, client.link)


def test_a_client_that_greets_is_welcomed_whatever_it_says_of_itself() -> None:
    """Readings 16 and 19: the payload is for credentials, which a bus without users does not ask for."""
    for hello in ("H1:", "HZ:", 'H1:{"user":"u","password":"p"}', 'H1:{"mechanism":"PLAIN"}'):
        assert Client(make_bus()).say(hello) == ["W1:"]


def test_a_client_that_does_not_greet_is_told_and_closed() -> None:
    """In time (reading 17)."""
    clock = Clock()
    client = Client(make_bus(clock, limits=Limits(handshake_seconds=5)))
    clock.advance(4.9)
    assert client.heard() == []
    clock.advance(0.1)
    assert client.heard() == ["F0:3 no hello in time"]
    assert client.link.calls == ["lose handshake 1002"]


def test_one_that_has_greeted_may_be_silent() -> None:
    """For as long as it likes; the carrier asks whether it is there."""
    clock = Clock()
    client = greeted(make_bus(clock))
    clock.advance(10_000)
    assert client.heard() == []
    assert client.link.calls == []


@pytest.mark.parametrize(
    ("said", "code", "reason"),
    [
        ("C7", 3, "protocol"),
        ("Q1:x", 4, "protocol"),
        ("H1:again", 3, "protocol"),
        ("-:nothing", 3, "attachments"),
        (b"\0", 3, "attachments"),
        ("S:key", 3, "protocol"),
        ("A1:A1:C6:x", 3, "protocol"),
        ("A10000000000:C6:x", 3, "attachments"),
        ("A" + "Z" * 100_000 + ":C6:x", 3, "protocol"),
        ("C" + "1" * 100_000 + ":x", 3, "protocol"),
        ("B1:" + "1" * 100_000 + ":x", 3, "protocol"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_the_protocol_does_not_bear_is_the_end(said: str | bytes, code: int, reason: str) -> None:
    """F, then the link is closed with 1002 (UMQ, Command F; reading 20); it is counted, and nothing else notices."""
    bus = make_bus()
    client, other = greeted(bus), greeted(bus)
    (last,) = client.say(said)
    assert str(last).startswith(f"F0:{code} ")
    assert client.link.calls == [f"lose {reason} 1002"]
    assert client.say('C1:["publish","a","x"]') == []
    assert bus.traffic_of("umq").drops[reason] == 1
    assert other.ask("1", "publish", "a", "x") == ["R1:null"]


def test_a_client_that_says_it_is_the_end_is_closed_and_told_nothing() -> None:
    """With 1000 (reading 20)."""
    client = greeted(make_bus())
    assert client.say("F0:123 Authorization failed") == []
    assert client.link.calls == ["lose fatal 1000"]


@pytest.mark.parametrize("last", ["F0:1 no", "C7"])
def test_nothing_is_done_of_what_comes_after_the_end(last: str) -> None:
    """Whoever has said that it is (reading 20): in the same read, in a later one, or once the connection has gone."""
    bus = make_bus()
    reader, client = greeted(bus), greeted(bus)
    reader.ask("1", "subscribe", "a", "1")
    more: Sequence[str | bytes] = ('C1:["publish","a","x"]', "S:a=b", "F0:1 no", "H1:", b"?", "A1:C2:x")
    client.say(last, *more)
    assert client.say(*more) == []
    client.session.link_lost("gone")
    assert client.say(*more) == []
    assert client.session.attributes == {}
    assert len(client.link.calls) == 1
    assert reader.heard() == []


@pytest.mark.parametrize("said", ["C1:x", "B1:1:x", "R1:x", "T1:x", "U1:", "S:a=b", "W1:", "-:x", "A1:C1:x", b"?"])
def test_before_its_greeting_a_client_says_nothing(said: str | bytes) -> None:
    """Else it is the end (reading 17), and what follows is not heard."""
    client = Client(make_bus())
    (last,) = client.say(said, "H1:")
    assert str(last).startswith("F0:3 ")
    assert [call.rpartition(" ")[2] for call in client.link.calls] == ["1002"]


def test_attachments_that_do_not_come_are_the_end() -> None:
    """Reading 12: each has its time; those that come keep the message alive."""
    clock = Clock()
    client = greeted(make_bus(clock, limits=Limits(attachment_seconds=5)))
    client.say('A3:C1:["publish","a"]', b"1")
    clock.advance(4)
    client.say(b"2")
    clock.advance(4)
    assert client.heard() == []
    clock.advance(10)
    (last,) = client.heard()
    assert str(last).startswith("F0:3 ")
    assert client.link.calls == ["lose attachments 1002"]


def test_the_end_of_the_link_is_the_end_of_the_client() -> None:
    """Its subscriptions end, and no timer is left behind."""
    clock = Clock()
    bus = make_bus(clock)
    watcher = MemoryClient(bus)
    watcher.watch(b"a")
    client = greeted(bus)
    client.ask("1", "subscribe", "a", "A")
    client.say("A1:C2:x")
    client.session.link_lost("gone")
    assert watcher.interest == [(b"a", 1), (b"a", 0)]
    assert bus.connected("umq") == 0
    clock.advance(100)
    assert client.heard() == []


def test_a_full_link_holds_deliveries_back() -> None:
    """They wait on the bus, within its bounds, and come in their order when the link is clear."""
    bus = make_bus()
    reader, writer = greeted(bus), MemoryClient(bus)
    reader.ask("1", "subscribe", "a", "A")
    reader.session.link_full()
    writer.publish(b"a", b"1")
    writer.publish(b"a", b"\xff")
    writer.publish(b"a", b"2")
    assert reader.heard() == []
    reader.session.link_clear()
    assert reader.heard() == [
        'TA:{"topic":"a","text":"1"}',
        'A1:TA:{"topic":"a"}',
        b"\xff",
        'TA:{"topic":"a","text":"2"}',
    ]


def test_a_soft_stop_says_goodbye() -> None:
    """What was published is still told."""
    clock = Clock()
    bus = make_bus(clock)
    bus.startService()
    reader = greeted(bus)
    reader.ask("1", "subscribe", "a", "A")
    bus.drain()
    assert "stop_listening" in reader.link.calls
    clock.advance(20)
    clock.advance(20)
    assert any(call.startswith("lose ") for call in reader.link.calls)


def test_facts_of_the_carrier_are_the_clients() -> None:
    """For access rules."""
    facts = PeerFacts("tcp", "192.0.2.1")
    client = Client(make_bus(), facts=facts)
    assert client.session.bus.principal.protocol == "umq"
    assert client.session.bus.principal.facts is facts


def test_attributes_of_a_client_can_be_read() -> None:
    """By the application; they are bounded, and what is beyond is counted (UMQ, Command S; readings 41, 43)."""
    bus = make_bus(limits=Limits(attributes_per_peer=1))
    client = greeted(bus)
    assert client.say("A1:S:file=duck.png", b"\xff", "S:more=x", "X:unknown") == []
    assert client.session.attributes["file"].attachments == [b"\xff"]
    assert list(client.session.attributes) == ["file"]
    assert bus.traffic_of("umq").drops["attributes"] == 1


def test_the_plug_knows_its_options() -> None:
    """And names a wrong one."""
    assert verifyObject(IBusProtocol, UMQ)
    assert list(UMQ.service_topics({"websocket": {"path": "/bus"}})) == []
    for options, key in (({"colour": 1}, "colour"), ({"websocket": {"path": "bus"}}, "websocket")):
        with pytest.raises(ConfigError, match=key):
            UMQ.service_topics(options)
