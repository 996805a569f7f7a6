"""Publishing, subscribing and watching by UMQ's calls (UMQ, Commands C, T, D, U)"""

from __future__ import annotations

import json

import pytest
from twisted.internet.task import Clock

from fmqbus.limits import Limits
from fmqbus.model import Action, Overflow
from fmqbus.testing.bus import MemoryClient, OpenPolicy
from tests.protocols.umq.clients import greeted, make_bus


def test_a_message_reaches_subscribers_and_the_answer_goes_first() -> None:
    """UMQ, Command T; reading 32: the subscribing call is answered before anything comes under its id."""
    bus = make_bus()
    reader, writer = greeted(bus), greeted(bus)
    assert reader.ask("1", "subscribe", "a/*", "9A8Z") == ["R1:null"]
    assert writer.ask("2", "publish", "a/b", "grüße") == ["R2:null"]
    assert reader.heard() == ['T9A8Z:{"topic":"a/b","text":"grüße"}']
    assert writer.heard() == []


def test_retained_values_come_after_the_answer_however_many_there_are() -> None:
    """Reading 32."""
    clock = Clock()
    bus = make_bus(clock)
    writer = MemoryClient(bus)
    for number in range(500):
        writer.publish(b"kept/%d" % number, b"%d" % number, retain=True)
    reader = greeted(bus)
    heard = reader.ask("1", "subscribe", "kept/*", "A")
    assert heard[0] == "R1:null"
    clock.advance(1)
    heard += reader.heard()
    updates = [json.loads(str(unit)[3:]) for unit in heard[1:]]
    assert [update["text"] for update in updates] == [str(number) for number in range(500)]
    assert all(update["retain"] for update in updates)


def test_octets_are_attached_and_properties_told() -> None:
    """What is no text comes as the one attachment; both ways (UMQ, Command T)."""
    bus = make_bus()
    reader, writer = greeted(bus), greeted(bus)
    reader.ask("1", "subscribe", "a", "A")
    reader.heard()
    assert writer.ask("1", "publish", "a", None, {"properties": {"k": "v"}}, attachments=(b"\xff\0",)) == ["R1:null"]
    assert reader.heard() == ['A1:TA:{"topic":"a","properties":{"k":"v"}}', b"\xff\0"]
    writer.ask("2", "publish", "a", attachments=(b"text after all",))
    assert reader.heard() == ['TA:{"topic":"a","text":"text after all"}']


def test_each_subscription_has_its_own_topic() -> None:
    """Two patterns that fit one message bring it twice, under either id."""
    bus = make_bus()
    reader, writer = greeted(bus), MemoryClient(bus)
    reader.ask("1", "subscribe", "a", "A")
    reader.ask("2", "subscribe", "*", "B")
    reader.heard()
    writer.publish(b"a", b"x")
    assert sorted(map(str, reader.heard())) == ['TA:{"topic":"a","text":"x"}', 'TB:{"topic":"a","text":"x"}']


def test_subscribing_anew_replaces_the_subscription_and_ends_its_topic() -> None:
    """Retained values come again, under the new id."""
    bus = make_bus()
    writer = MemoryClient(bus)
    writer.publish(b"a", b"1", retain=True)
    reader = greeted(bus)
    reader.ask("1", "subscribe", "a", "A")
    assert reader.ask("2", "subscribe", "a", "B") == ["DA:", "R2:null", 'TB:{"topic":"a","text":"1","retain":true}']
    writer.publish(b"a", b"2")
    assert reader.heard() == ['TB:{"topic":"a","text":"2"}']
    assert reader.say("UB:") == ["DB:"]
    writer.publish(b"a", b"3")
    assert reader.heard() == []


@pytest.mark.parametrize("by_call", [True, False])
def test_unsubscribing_ends_the_topic_and_the_interest(by_call: bool) -> None:
    """By U, answered by D at once (UMQ, Command U; reading 33), or by a call."""
    bus = make_bus()
    watcher = MemoryClient(bus)
    watcher.watch(b"a")
    reader = greeted(bus)
    reader.ask("1", "subscribe", "a", "A")
    heard = reader.ask("2", "unsubscribe", "A") if by_call else reader.say("UA:")
    assert heard == (["DA:", "R2:true"] if by_call else ["DA:"])
    assert watcher.interest == [(b"a", 1), (b"a", 0)]
    assert reader.say("UA:") == []
    assert reader.ask("3", "unsubscribe", "A") == ["R3:false"]
    assert reader.ask("4", "subscribe", "a", "A") == ["R4:null"]


def test_an_id_in_use_is_refused() -> None:
    """Reading 31; what it was used for goes on."""
    bus = make_bus()
    reader, writer = greeted(bus), MemoryClient(bus)
    reader.ask("1", "subscribe", "a", "A")
    (refused,) = reader.ask("2", "subscribe", "b", "0A")
    assert str(refused).startswith("E2:3 ")
    writer.publish(b"a", b"x")
    assert len(reader.heard()) == 1


def test_interest_of_all_protocols_is_told() -> None:
    """Of those who are there already, and of each change; hidden subscriptions do not count."""
    bus = make_bus()
    other = MemoryClient(bus)
    other.subscribe(b"a/b")
    watcher = greeted(bus)
    assert watcher.ask("1", "watch", "a/*", "A") == ["R1:null", 'TA:{"pattern":"a/b","subscribers":1}']
    greeted(bus).ask("1", "subscribe", "a/*", "A")
    assert watcher.heard() == ['TA:{"pattern":"a/*","subscribers":1}']
    greeted(bus).ask("1", "subscribe", "a/*", "A", {"hidden": True})
    other.close()
    assert watcher.heard() == ['TA:{"pattern":"a/b","subscribers":0}']
    assert watcher.say("UA:") == ["DA:"]
    MemoryClient(bus).subscribe(b"a/b")
    assert watcher.heard() == []


def test_two_watches_are_told_what_fits_each() -> None:
    """Watching a pattern again takes the place of the first watch."""
    bus = make_bus()
    watcher = greeted(bus)
    watcher.ask("1", "watch", "a", "A")
    watcher.ask("2", "watch", "b", "B")
    assert watcher.ask("3", "watch", "a", "C") == ["DA:", "R3:null"]
    MemoryClient(bus).subscribe(b"a")
    assert watcher.heard() == ['TC:{"pattern":"a","subscribers":1}']


def test_values_are_retained_and_forgotten() -> None:
    """By ``retain``, or by the option of ``publish``."""
    bus = make_bus()
    writer = greeted(bus)
    writer.ask("1", "retain", "a", "1")
    writer.ask("2", "publish", "b", "2", {"retain": True})
    assert greeted(bus).ask("1", "subscribe", "a", "A")[1] == 'TA:{"topic":"a","text":"1","retain":true}'
    assert greeted(bus).ask("1", "subscribe", "b", "A")[1] == 'TA:{"topic":"b","text":"2","retain":true}'
    writer.ask("3", "retain", "a", "")
    assert greeted(bus).ask("1", "subscribe", "a", "A") == ["R1:null"]


def test_a_will_is_published_when_the_client_has_gone() -> None:
    """And not if it was taken back."""
    bus = make_bus()
    reader = MemoryClient(bus)
    reader.subscribe(b"*")
    client = greeted(bus)
    client.ask("1", "will", "gone", "bye", {"properties": {"k": "v"}})
    client.ask("2", "will", "not", "bye")
    client.ask("3", "will", "not", "")
    client.session.link_lost("gone")
    assert [(message.topic, message.payload) for message in reader.messages] == [(b"gone", b"bye")]


def test_what_may_not_be_is_answered_by_an_error() -> None:
    """Code 1 for rights and limits; nothing has changed, and the id is free."""
    policy = OpenPolicy()
    policy.deny(Action.SUBSCRIBE, b"secret")
    policy.deny(Action.PUBLISH, b"secret")
    bus = make_bus(authorizers=[policy], limits=Limits(subscriptions_per_peer=1))
    client = greeted(bus)
    assert str(client.ask("1", "subscribe", "secret", "A")[0]).startswith("E1:1 ")
    assert str(client.ask("2", "publish", "secret", "x")[0]).startswith("E2:1 ")
    assert client.ask("3", "subscribe", "a", "A") == ["R3:null"]
    assert str(client.ask("4", "subscribe", "b", "B")[0]).startswith("E4:1 ")


def test_a_right_that_is_lost_ends_the_topic() -> None:
    """By D; the connection stays (UMQ, Command D)."""
    policy = OpenPolicy()
    bus = make_bus(authorizers=[policy])
    client = greeted(bus)
    client.ask("1", "subscribe", "a", "A")
    policy.deny(Action.SUBSCRIBE, b"a")
    bus.policy_changed()
    assert client.heard() == ["DA:"]
    assert client.ask("2", "unsubscribe", "A") == ["R2:false"]
    assert client.link.calls == []


def test_a_slow_reader_is_skipped_and_not_cut_off() -> None:
    """Reading 46: updates wait within bounds, then the oldest are left out; or as the subscription asks."""
    bus = make_bus(limits=Limits(outbox_octets=10_000))
    reader, writer = greeted(bus), MemoryClient(bus)
    reader.ask("1", "subscribe", "a", "A", {"overflow": Overflow.DROP_NEWEST.value})
    reader.session.link_full()
    for number in range(100):
        writer.publish(b"a", b"%0500d" % number)
    assert reader.heard() == []
    reader.session.link_clear()
    numbers = [int(json.loads(str(unit)[3:])["text"]) for unit in reader.heard()]
    assert numbers == list(range(len(numbers)))
    assert 5 < len(numbers) < 30
    assert reader.link.calls == []
