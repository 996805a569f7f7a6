"""What do clients and the broker say to each other below ``$``? (FMQP, section Service topics and subscriptions)"""

from __future__ import annotations

import pytest
from zope.interface import implementer

from fmqbus.interfaces import IServiceContext, IServiceTopic
from fmqbus.model import Message, PeerFacts, Principal
from fmqbus.testing.bus import MemoryClient
from tests.protocols.fmqp.memory_bus import MemoryBus
from tests.protocols.fmqp.packets import CACHE, publication, subscribe, u64, unsubscribe, watch

CLIENTS, EACH_SECOND = b"$/info/clients", b"$/info/messages/second"


def number(topic: bytes, value: int, flags: int = CACHE) -> bytes:
    """What the broker tells under a service topic."""
    return publication(topic, u64(value), flags)


# $/info/clients


def test_the_number_of_clients_is_told_on_every_change() -> None:
    """FMQP, section Service topics; reading 46: in 8 octets, big-endian, with the cache bit."""
    bus = MemoryBus()
    observer = bus.connect(subscribe(CLIENTS))
    assert observer.heard() == [b"\x04\x0e\0\0\0\x08$/info/clients\0\0\0\0\0\0\0\1"]
    one, two = bus.connect(), bus.connect()
    one.close()
    two.reset()
    assert observer.heard() == [number(CLIENTS, 2), number(CLIENTS, 3), number(CLIENTS, 2), number(CLIENTS, 1)]


def test_the_number_of_clients_is_cached() -> None:
    """FMQP, section Service topics; reading 46: a client that connects counts itself."""
    bus = MemoryBus()
    bus.connect()
    assert bus.connect(subscribe(CLIENTS)).heard() == [number(CLIENTS, 2)]


def test_only_clients_of_this_protocol_are_counted() -> None:
    """Reading 46: sessions that an embedding application or another protocol has are none."""
    bus = MemoryBus()
    observer = bus.connect(subscribe(CLIENTS))
    MemoryClient(bus.router)
    assert observer.heard()[-1] == number(CLIENTS, 1)


# $/info/messages/second


def test_the_messages_of_each_second_are_told() -> None:
    """FMQP, section Service topics; reading 47: every second, zero too, and not cached."""
    bus = MemoryBus()
    observer = bus.connect(subscribe(EACH_SECOND))
    assert observer.heard() == []
    bus.wait(1)
    assert observer.heard() == [b"\0\x16\0\0\0\x08$/info/messages/second\0\0\0\0\0\0\0\1"]
    observer.say(publication(b"a", b"1"), publication(b"a", b"2"), publication(b"b", b"", CACHE))
    bus.connect(subscribe(b"a"), watch(b"a"))
    assert observer.heard() == []
    bus.wait(1)
    bus.wait(1)
    assert observer.heard() == [number(EACH_SECOND, 5, 0), number(EACH_SECOND, 0, 0)]
    assert bus.connect(subscribe(EACH_SECOND)).heard() == []


def test_incorrect_packets_are_not_counted_as_messages() -> None:
    """Reading 47: only well-formed ones. One that is refused was well formed."""
    bus = MemoryBus("[limits]\nbody_octets = 8")
    observer = bus.connect(subscribe(EACH_SECOND))
    bus.wait(1)
    observer.heard()
    observer.say(publication(b"/", b"x"), publication(b"a", 9 * b"x"), publication(b"\xff", b"x"))
    observer.say(publication(b"a", b"x", 0x20), publication(b"$/info/clients", b"x"))
    bus.wait(1)
    assert observer.heard() == [number(EACH_SECOND, 1, 0)]


def test_messages_of_other_protocols_are_not_counted_as_received() -> None:
    """Reading 49: on this protocol's wire they were never messages."""
    bus = MemoryBus()
    observer = bus.connect(subscribe(EACH_SECOND))
    bus.wait(1)
    observer.heard()
    foreigner = MemoryClient(bus.router)
    foreigner.publish(b"a", b"1")
    bus.wait(1)
    assert observer.heard() == [number(EACH_SECOND, 0, 0)]


# ours


def test_the_time_since_the_start_is_told_every_second() -> None:
    """FMQP, section Service topics lets brokers have topics of their own; this one is cached."""
    bus = MemoryBus()
    bus.wait(1)
    bus.wait(1)
    observer = bus.connect(subscribe(b"$/info/uptime"))
    bus.wait(1)
    assert observer.heard() == [number(b"$/info/uptime", 2), number(b"$/info/uptime", 3)]


def test_the_octets_received_and_sent_are_told_every_second() -> None:
    """Of all protocols; cached."""
    bus = MemoryBus()
    said = subscribe(b"a") + publication(b"a", b"12345678")
    bus.connect(said)
    bus.wait(1)
    observer = bus.connect(subscribe(b"$/info/bytes/received"), subscribe(b"$/info/bytes/sent"))
    assert observer.heard() == [
        number(b"$/info/bytes/received", len(said)),
        number(b"$/info/bytes/sent", len(publication(b"a", b"12345678"))),
    ]


def test_the_messages_dropped_are_told_every_second() -> None:
    """Those discarded as incorrect, those refused, and those lost on the way to a slow subscriber."""
    bus = MemoryBus("[limits]\noutbox_octets = 7")
    slow = bus.connect(subscribe(b"a"), publication(b"/", b"incorrect"), publication(b"$/nobody", b"refused"))
    slow.stop_reading()
    bus.connect(publication(b"a", 8 * b"x"), publication(b"a", 8 * b"y"))
    bus.wait(1)
    assert bus.connect(subscribe(b"$/info/messages/dropped")).heard() == [number(b"$/info/messages/dropped", 4)]


def test_the_number_of_subscriptions_is_told_every_second() -> None:
    """All, hidden ones too."""
    bus = MemoryBus()
    client = bus.connect(subscribe(b"a"), subscribe(b"*", 0x10), subscribe(b"b"), unsubscribe(b"b"))
    bus.wait(1)
    client.say(subscribe(b"$/info/subscriptions"))
    bus.wait(1)
    assert client.heard() == [number(b"$/info/subscriptions", 2), number(b"$/info/subscriptions", 3)]


def test_nothing_is_told_any_more_once_the_broker_has_ended() -> None:
    """No timer outlives the bus."""
    bus = MemoryBus()
    bus.stop()
    bus.wait()
    assert bus.has_ended
    assert bus.clock.getDelayedCalls() == []


# what clients publish below $


@pytest.mark.parametrize("topic", [CLIENTS, EACH_SECOND, b"$/info/uptime", b"$/nobody/answers", b"$", b"$/*/clients"])
@pytest.mark.parametrize("flags", [0, CACHE])
def test_what_clients_publish_below_the_dollar_level_is_not_forwarded(topic: bytes, flags: int) -> None:
    """FMQP, section Service topics; reading 43: nor cached, so that nobody can forge the broker's own word."""
    bus = MemoryBus()
    reader = bus.connect(subscribe(topic), subscribe(b"*"), subscribe(b"*/*/*"))
    forger = bus.connect()
    reader.heard()
    forger.say(publication(topic, b"forged", flags))
    forger.say(publication(b"/" + topic + b"/", b"forged", flags))
    forger.say(publication(topic, b"", flags))
    assert reader.heard() == []
    assert forger.is_connected
    reader.say(subscribe(topic))
    assert not [packet for packet in reader.heard() if packet.endswith(b"forged")]


@pytest.mark.parametrize("topic", [b"$sys/a", b"a/$", b"$$/a", b"a$/b"])
def test_only_a_first_level_that_is_just_a_dollar_sign_is_the_brokers(topic: bytes) -> None:
    """Reading 40: all others are ordinary topics."""
    bus = MemoryBus()
    client = bus.connect(publication(topic, b"1", CACHE), subscribe(topic), publication(topic, b"2"))
    assert client.heard() == [publication(topic, b"1", CACHE), publication(topic, b"2")]


def test_wildcard_subscriptions_reach_service_topics() -> None:
    """Reading 41: by the letter, a star is equivalent to any level, also to ``$``."""
    bus = MemoryBus()
    client = bus.connect(subscribe(b"*/*/clients"))
    other = bus.connect()
    assert client.heard() == [number(CLIENTS, 1), number(CLIENTS, 2)]
    other.close()
    assert client.heard() == [number(CLIENTS, 1)]


def test_service_topics_can_be_hidden_from_patterns_that_begin_with_a_star() -> None:
    """Reading 41, with ``wildcards_reach_service = false``: neither what is cached nor what is new."""
    bus = MemoryBus("wildcards_reach_service = false")
    hidden, shown = bus.connect(subscribe(b"*/*/clients"), subscribe(b"*/*/*")), bus.connect(subscribe(b"$/*/clients"))
    assert shown.heard() == [number(CLIENTS, 2)]
    bus.connect()
    assert shown.heard() == [number(CLIENTS, 3)]
    assert hidden.heard() == []


# a vendor's


@implementer(IServiceTopic)
class Bell:
    """A service topic of somebody else's: answers each ring with the ringer's carrier."""

    topic = b"$/bell"
    summary = "who rang"

    def start(self, context: IServiceContext) -> None:
        context.publish(b"ready", cached=True)

    def stop(self, context: IServiceContext) -> None: ...

    def clients_changed(self, context: IServiceContext) -> None: ...

    def received(self, context: IServiceContext, principal: Principal, message: Message) -> None:
        if message.payload == b"break":
            raise RuntimeError("broken")
        context.publish(principal.facts.carrier.encode(), cached=False)


def test_a_vendor_can_add_a_service_topic() -> None:
    """FMQP, section Service topics: brokers may have more than the specification's."""
    bus = MemoryBus(service_topics=[Bell()])
    client = bus.connect(subscribe(b"$/bell"), publication(b"$/bell", b"ring"))
    bus.connect(publication(b"$/bell", b"ring"), facts=PeerFacts("pigeon", is_local=True))
    assert client.heard() == [
        publication(b"$/bell", b"ready", CACHE),
        publication(b"$/bell", b"memory"),
        publication(b"$/bell", b"pigeon"),
    ]


def test_a_vendors_service_topic_that_fails_harms_nobody() -> None:
    """Reported in the log; the client stays, and so does the topic."""
    bus = MemoryBus(service_topics=[Bell()])
    client = bus.connect(publication(b"$/bell", b"break"), subscribe(b"$/bell"), publication(b"$/bell", b"ring"))
    assert client.heard() == [publication(b"$/bell", b"ready", CACHE), publication(b"$/bell", b"memory")]
