"""When does a last will go out, and which? (FMQP, section Last will)"""

from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from fmqbus.errors import Overloaded
from fmqbus.limits import Limits
from fmqbus.model import Action, Interest, Message
from fmqbus.testing.bus import MemoryClient, OpenPolicy, make_router


def test_a_will_is_published_when_its_client_has_gone_and_not_before() -> None:
    """Marked as a will, to those who subscribe then."""
    router = make_router()
    reader, leaving = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a")
    leaving.set_will(b"a", b"bye")
    leaving.publish(b"a", b"alive")
    assert reader.payloads == [b"alive"]
    leaving.close()
    assert reader.messages[-1] == Message(b"a", b"bye", will=True)
    leaving.close()
    assert reader.payloads == [b"alive", b"bye"]


def test_wills_go_out_in_the_order_in_which_their_topics_were_first_set() -> None:
    """One per topic: a later one takes the place of the earlier (reading 28)."""
    router = make_router()
    reader, leaving = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"*")
    for topic, payload in ((b"a", b"1"), (b"b", b"2"), (b"c", b"3"), (b"a", b"4")):
        leaving.set_will(topic, payload)
    leaving.close()
    assert reader.payloads == [b"4", b"2", b"3"]


def test_an_empty_will_removes_the_one_of_its_topic() -> None:
    """And does nothing where there is none (reading 29)."""
    router = make_router()
    reader, leaving = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"*")
    leaving.set_will(b"a", b"")
    leaving.set_will(b"a", b"1")
    leaving.set_will(b"b", b"2")
    leaving.set_will(b"a", b"")
    leaving.close()
    assert reader.payloads == [b"2"]


def test_to_remove_what_is_not_there_makes_no_room() -> None:
    """The bound is of octets that are there."""
    leaving = MemoryClient(make_router(limits=Limits(wills_octets_per_peer=3)))
    leaving.set_will(b"a", b"123")
    for _ in range(5):
        leaving.set_will(b"none", b"")
    with pytest.raises(Overloaded):
        leaving.set_will(b"b", b"4")


def test_wills_go_out_after_the_clients_subscriptions_have_ended() -> None:
    """Interest falls first, then wills come (reading 32); the client's own subscriptions do not see them."""
    router = make_router()
    watcher, leaving = MemoryClient(router), MemoryClient(router)
    watcher.subscribe(b"a")
    leaving.subscribe(b"a")
    watcher.watch(b"a")
    leaving.set_will(b"a", b"bye")
    watcher.received.clear()
    leaving.close()
    assert watcher.received == [Interest(b"a", 1), Message(b"a", b"bye", will=True)]
    assert leaving.received == []


def test_a_retained_will_is_kept_from_then_on() -> None:
    """As any retained message (reading 30)."""
    router = make_router()
    leaving = MemoryClient(router)
    leaving.set_will(b"a", b"bye", retain=True)
    early, late = MemoryClient(router), MemoryClient(router)
    early.subscribe(b"a")
    assert early.received == []
    leaving.close()
    late.subscribe(b"a")
    assert late.messages == early.messages == [Message(b"a", b"bye", retain=True, will=True)]


def test_a_wildcard_will_reaches_every_equivalent_subscription() -> None:
    """A will is published as any other message is."""
    router = make_router()
    reader, leaving = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a/b")
    leaving.set_will(b"*/b", b"bye")
    leaving.close()
    assert reader.payloads == [b"bye"]


def test_a_detached_client_has_gone_only_when_its_time_is_over() -> None:
    """Its wills wait as long as it may come back."""
    clock = Clock()
    router = make_router(clock)
    reader, leaving = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a")
    leaving.set_will(b"a", b"bye")
    leaving.session.detach(30.0)
    clock.advance(29.0)
    assert reader.payloads == []
    clock.advance(1.0)
    assert reader.payloads == [b"bye"]


def test_a_drain_publishes_all_wills_once() -> None:
    """Those of detached clients too, and not again when the clients then close."""
    router = make_router()
    reader, present, detached = (MemoryClient(router) for _ in range(3))
    reader.subscribe(b"*")
    present.set_will(b"a", b"of the present")
    detached.set_will(b"b", b"of the detached")
    detached.session.detach(30.0)
    router.drain()
    for client in (present, reader):
        client.close()
    assert reader.payloads == [b"of the present", b"of the detached"]


def test_a_client_that_is_cut_off_leaves_its_will() -> None:
    """The bus ends it by its link; when that has gone, the will goes out."""
    router = make_router()
    reader, leaving = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a")
    leaving.set_will(b"a", b"bye")
    leaving.session.kick("outbox-full")
    leaving.close("link lost")
    assert reader.payloads == [b"bye"]


@pytest.mark.parametrize("action", [Action.WILL, Action.PUBLISH])
def test_a_will_needs_its_rights_again_when_it_is_published(action: Action) -> None:
    """What its client may no longer do, its will does not do either; other wills are unharmed (threats, row 15)."""
    policy = OpenPolicy()
    router = make_router(authorizers=[policy])
    reader, leaving = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"*")
    leaving.set_will(b"a", b"no longer")
    leaving.set_will(b"b", b"still")
    policy.deny(action, b"a")
    router.policy_changed()
    leaving.close()
    assert reader.payloads == [b"still"]
    assert leaving.session.statistics.drops == {"refused": 1}


def test_wills_are_bounded_in_number_and_in_octets() -> None:
    """One more is refused; replacing stays possible within the bounds, and the wills set before go out."""
    router = make_router(limits=Limits(wills_per_peer=2, wills_octets_per_peer=10))
    reader, leaving = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"*")
    leaving.set_will(b"a", b"1234")
    leaving.set_will(b"b", b"5678")
    for topic, payload in ((b"c", b"x"), (b"a", b"1234567")):
        with pytest.raises(Overloaded):
            leaving.set_will(topic, payload)
    leaving.set_will(b"a", b"123456")
    leaving.close()
    assert reader.payloads == [b"123456", b"5678"]


def test_a_will_that_cannot_be_kept_harms_no_other() -> None:
    """A full store refuses it; it is counted, and the client still closes."""
    router = make_router(limits=Limits(retained_topics=0))
    reader, leaving = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"*")
    leaving.set_will(b"a", b"1", retain=True)
    leaving.set_will(b"b", b"2")
    leaving.close()
    assert reader.payloads == [b"2"]
    assert leaving.session.statistics.drops == {"overloaded": 1}
    assert list(router.sessions()) == [reader.session]
