"""Who may end the broker by publishing to a topic, and how? (FMQP, section Service topics and subscriptions)

Here is what triggers a signal; what then happens is in test_soft_stop.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.protocols.fmqp.memory_bus import LOCAL, REMOTE, MemoryBus
from tests.protocols.fmqp.packets import CACHE, LAST_WILL, feedback, publication, subscribe, u64, unsubscribe, watch

STOP, TERMINATE = b"$/signals/stop", b"$/signals/terminate"
CLIENTS = b"$/info/clients"


@pytest.mark.parametrize(("topic", "soft"), [(STOP, True), (TERMINATE, False)])
@pytest.mark.parametrize("write", [lambda topic: topic, lambda topic: b"/" + topic + b"//"])
@pytest.mark.parametrize(("body", "flags"), [(b"now", 0), (b"", 0), (b"x", CACHE), (b"x", 0x53)])
def test_any_message_to_a_signal_topic_ends_the_broker(
    topic: bytes, soft: bool, write: Callable[[bytes], bytes], body: bytes, flags: int
) -> None:
    """FMQP, section Service topics; reading 44: the whole process, not only what serves FMQP."""
    bus = MemoryBus()
    bus.connect(publication(write(topic), body, flags))
    assert bus.signals == [soft]


@pytest.mark.parametrize("topic", [STOP, TERMINATE])
def test_a_signal_is_never_handed_on_or_cached(topic: bytes) -> None:
    """FMQP, section Service topics."""
    bus = MemoryBus()
    reader = bus.connect(subscribe(topic), subscribe(b"*/*/*"))
    reader.heard()
    reader.say(publication(topic, b"x", CACHE), subscribe(topic))
    assert reader.heard() == []


@pytest.mark.parametrize(
    "topic", [b"*/signals/stop", b"$/*/stop", b"$/signals/*", b"*/*/*", b"*/signals/terminate", b"$/*/*"]
)
@pytest.mark.parametrize("flags", [0, CACHE, LAST_WILL])
def test_a_wildcard_never_triggers_a_signal(topic: bytes, flags: int) -> None:
    """Reading 42: only the literal topic does."""
    bus = MemoryBus()
    client = bus.connect(publication(topic, b"x", flags))
    client.close()
    bus.connect(subscribe(topic))
    assert bus.signals == []


@pytest.mark.parametrize(
    "topic", [b"$/signals", b"$/signals/stop/now", b"$/signals//stop", b"$/Signals/stop", b"signals/stop"]
)
def test_no_other_topic_is_a_signal(topic: bytes) -> None:
    """Reading 42."""
    bus = MemoryBus()
    bus.connect(publication(topic, b"x"))
    assert bus.signals == []


@pytest.mark.parametrize("topic", [STOP, TERMINATE])
def test_subscribing_to_a_signal_topic_does_not_trigger_it(topic: bytes) -> None:
    """FMQP, section Service topics: publishing does."""
    bus = MemoryBus()
    client = bus.connect(watch(topic), subscribe(topic), unsubscribe(topic))
    assert bus.signals == []
    assert client.heard() == [feedback(topic, 1), feedback(topic, 0)]


def test_without_a_rule_peers_from_elsewhere_cannot_end_the_broker() -> None:
    """Reading 44: nor do anything else; this machine can."""
    bus = MemoryBus()
    remote = bus.connect(publication(STOP, b"x"), publication(TERMINATE, b"x"), facts=REMOTE)
    assert bus.signals == []
    assert bus.drops == {"refused": 2}
    assert remote.is_connected
    bus.connect(publication(TERMINATE, b"x"), facts=LOCAL)
    assert bus.signals == [False]


REMOTE_MAY = '[[access.rules]]\neffect = "allow"\nactions = [{actions}]\nwho = ["remote"]\nnames = ["{names}"]\n'


def test_a_rule_can_let_others_end_the_broker_by_the_one_signal_and_not_by_the_other() -> None:
    """Reading 44: the action is ``control``, the name the topic."""
    bus = MemoryBus(REMOTE_MAY.format(actions='"control"', names="$/signals/stop"))
    bus.connect(publication(TERMINATE, b"x"), publication(STOP, b"x"), facts=REMOTE)
    assert bus.signals == [True]


def test_the_right_to_publish_everything_is_no_right_to_end_the_broker() -> None:
    """Reading 44: a broad rule opens nothing below ``$`` by accident."""
    bus = MemoryBus(REMOTE_MAY.format(actions='"publish", "subscribe", "will", "retain", "control"', names="**"))
    remote = bus.connect(publication(STOP, b"x"), publication(STOP, b"x", LAST_WILL), facts=REMOTE)
    remote.close()
    assert bus.signals == []


def test_signals_can_be_switched_off_for_everybody() -> None:
    """Reading 44: then they are dropped like any other publication below ``$``."""
    bus = MemoryBus("[protocols.fmqp]\nsignals = false")
    client = bus.connect(publication(STOP, b"x"), publication(TERMINATE, b"x"), subscribe(CLIENTS))
    assert bus.signals == []
    assert bus.drops == {"service-topic": 2}
    assert client.heard() == [publication(CLIENTS, u64(1), CACHE)]
