"""What do watchers learn of who subscribes? (FMQP, section Feedback topics)"""

from __future__ import annotations

import pytest

from fmqbus.errors import Overloaded
from fmqbus.limits import Limits
from fmqbus.model import Action, Interest, Message
from fmqbus.testing.bus import MemoryClient, OpenPolicy, make_router


def test_every_change_of_the_number_is_told() -> None:
    """The first subscriber, each further one, each that goes, and the last (reading 35)."""
    router = make_router()
    watcher, one, other = (MemoryClient(router) for _ in range(3))
    watcher.watch(b"a")
    one.subscribe(b"a")
    other.subscribe(b"a")
    one.unsubscribe(b"a")
    other.unsubscribe(b"a")
    assert watcher.interest == [(b"a", 1), (b"a", 2), (b"a", 1), (b"a", 0)]


def test_each_pattern_has_a_number_of_its_own() -> None:
    """Told under the very name that was subscribed, stars included (reading 37)."""
    router = make_router()
    watcher, reader = MemoryClient(router), MemoryClient(router)
    watcher.watch(b"a/b")
    for pattern in (b"a/b", b"a/*", b"*/*", b"a/c", b"a"):
        reader.subscribe(pattern)
    assert watcher.interest == [(b"a/b", 1), (b"a/*", 1), (b"*/*", 1)]


def test_a_wildcard_watch_sees_all_equivalent_patterns() -> None:
    """Equivalence holds both ways, as for messages."""
    router = make_router()
    watcher, reader = MemoryClient(router), MemoryClient(router)
    watcher.watch(b"a/*")
    for pattern in (b"a/1", b"a/2", b"*/3", b"b/1", b"a/1/x"):
        reader.subscribe(pattern)
    assert watcher.interest == [(b"a/1", 1), (b"a/2", 1), (b"*/3", 1)]


def test_a_new_watcher_learns_the_present_state_first() -> None:
    """Whatever has visible subscribers now, and nothing of what had (reading 36)."""
    router = make_router()
    watcher, one, other = (MemoryClient(router) for _ in range(3))
    for client in (one, other):
        client.subscribe(b"a/1")
    one.subscribe(b"a/*")
    one.subscribe(b"a/gone")
    one.unsubscribe(b"a/gone")
    one.subscribe(b"a/hidden", hidden=True)
    watcher.watch(b"a/*")
    assert sorted(watcher.interest) == [(b"a/*", 1), (b"a/1", 2)]
    watcher.received.clear()
    watcher.watch(b"a/*")
    assert sorted(watcher.interest) == [(b"a/*", 1), (b"a/1", 2)]


def test_a_hidden_subscription_is_never_told() -> None:
    """Neither its beginning nor its end, but its client gets the messages (FMQP, section Debugging messages)."""
    router = make_router()
    watcher, hidden = MemoryClient(router), MemoryClient(router)
    watcher.watch(b"a")
    hidden.subscribe(b"a", hidden=True)
    watcher.publish(b"a", b"x")
    hidden.unsubscribe(b"a")
    hidden.subscribe(b"a", hidden=True)
    hidden.close()
    assert watcher.received == []
    assert hidden.payloads == [b"x"]


def test_subscribing_again_tells_something_only_where_visibility_changes() -> None:
    """The last one decides on it (reading 20)."""
    router = make_router()
    watcher, reader = MemoryClient(router), MemoryClient(router)
    watcher.watch(b"a")
    for hidden in (False, False, True, True, False):
        reader.subscribe(b"a", hidden=hidden)
    reader.close()
    assert watcher.interest == [(b"a", 1), (b"a", 0), (b"a", 1), (b"a", 0)]
    assert router.subscriptions == 0


def test_a_client_that_goes_has_unsubscribed() -> None:
    """Or publishers would work for nobody (reading 33)."""
    router = make_router()
    watcher, reader = MemoryClient(router), MemoryClient(router)
    watcher.watch(b"*")
    reader.subscribe(b"a")
    reader.subscribe(b"b")
    reader.close()
    assert watcher.interest == [(b"a", 1), (b"b", 1), (b"a", 0), (b"b", 0)]


def test_a_watcher_is_told_once_however_many_of_its_watches_fit() -> None:
    """One packet of feedback a change."""
    router = make_router()
    watcher, reader = MemoryClient(router), MemoryClient(router)
    for pattern in (b"a/b", b"a/*", b"*/*"):
        watcher.watch(pattern)
    reader.subscribe(b"a/b")
    assert watcher.interest == [(b"a/b", 1)]


def test_watching_is_no_interest_and_brings_no_messages() -> None:
    """It is a system of its own beside the topics (reading 38)."""
    router = make_router()
    watcher, other = MemoryClient(router), MemoryClient(router)
    other.watch(b"a")
    watcher.watch(b"a")
    other.publish(b"a", b"x")
    assert watcher.received == other.received == []


def test_a_client_that_watches_its_own_subscriptions_is_told_of_them() -> None:
    """It is a watcher as others are."""
    client = MemoryClient(make_router())
    client.watch(b"a")
    client.subscribe(b"a")
    assert client.interest == [(b"a", 1)]


def test_unwatching_ends_exactly_that_watch() -> None:
    """By the very same name; whatever else fits is still told."""
    router = make_router()
    watcher, reader = MemoryClient(router), MemoryClient(router)
    watcher.watch(b"a")
    watcher.watch(b"*")
    assert not watcher.unwatch(b"b")
    assert watcher.unwatch(b"*")
    assert not watcher.unwatch(b"*")
    reader.subscribe(b"a")
    reader.subscribe(b"b")
    assert watcher.interest == [(b"a", 1)]


def test_a_watcher_that_has_gone_is_told_nothing() -> None:
    """Its watches end with it; those of others stay."""
    router = make_router()
    leaving, staying, reader = (MemoryClient(router) for _ in range(3))
    leaving.watch(b"a")
    staying.watch(b"a")
    leaving.close()
    reader.subscribe(b"a")
    assert leaving.interest == []
    assert staying.interest == [(b"a", 1)]


def test_interest_and_messages_reach_a_watcher_in_the_order_in_which_they_happened() -> None:
    """One queue for both, in one turn as over several."""
    router = make_router()
    watcher, other = MemoryClient(router), MemoryClient(router)
    watcher.watch(b"a")
    watcher.subscribe(b"b")
    other.session.publish(Message(b"b", b"1"))
    other.session.subscribe(b"a")
    other.session.publish(Message(b"b", b"2"))
    other.session.unsubscribe(b"a")
    other.session.flush()
    assert watcher.received == [Message(b"b", b"1"), Interest(b"a", 1), Message(b"b", b"2"), Interest(b"a", 0)]


def test_a_watcher_with_a_full_link_learns_how_matters_stand_when_it_reads_again() -> None:
    """The last number of each pattern, after the messages that came before it."""
    router = make_router()
    watcher, reader = MemoryClient(router), MemoryClient(router)
    watcher.watch(b"*")
    watcher.subscribe(b"x/y")
    watcher.pause()
    reader.publish(b"x/y", b"1")
    reader.subscribe(b"a")
    reader.subscribe(b"b")
    reader.unsubscribe(b"a")
    watcher.resume()
    assert watcher.payloads == [b"1"]
    assert dict(watcher.interest) == {b"a": 0, b"b": 1}
    assert isinstance(watcher.received[0], Message)


def test_only_what_a_watcher_may_watch_is_told() -> None:
    """Asked for each pattern, now and later; a wildcard subscription is told where some of it may be watched."""
    policy = OpenPolicy()
    policy.deny(Action.WATCH, b"a/secret")
    router = make_router(authorizers=[policy])
    watcher, reader, late = (MemoryClient(router) for _ in range(3))
    watcher.watch(b"a/*")
    for pattern in (b"a/secret", b"a/open", b"a/*"):
        reader.subscribe(pattern)
    late.watch(b"a/*")
    assert watcher.interest == [(b"a/open", 1), (b"a/*", 1)]
    assert sorted(late.interest) == [(b"a/*", 1), (b"a/open", 1)]


def test_watches_are_bounded_and_a_refused_one_sees_nothing() -> None:
    """One more than the limit is refused; a repeated one is none more."""
    router = make_router(limits=Limits(watches_per_peer=1))
    watcher, reader = MemoryClient(router), MemoryClient(router)
    watcher.watch(b"a")
    watcher.watch(b"a")
    with pytest.raises(Overloaded):
        watcher.watch(b"b")
    reader.subscribe(b"b")
    assert watcher.interest == []
    watcher.unwatch(b"a")
    watcher.watch(b"b")
    assert watcher.interest == [(b"b", 1)]


def test_a_watch_over_more_names_than_may_be_visited_is_refused_and_begins_nothing() -> None:
    """It would hold up everybody else."""
    router = make_router(limits=Limits(replay_visits=10))
    watcher, reader = MemoryClient(router), MemoryClient(router)
    for number in range(20):
        reader.subscribe(b"a/%d" % number)
    with pytest.raises(Overloaded):
        watcher.watch(b"a/*")
    reader.subscribe(b"a/x")
    watcher.watch(b"a/1")
    assert watcher.interest == [(b"a/1", 1)]


@pytest.mark.parametrize("subscriptions", [1, 2])
def test_many_watchers_do_not_stop_a_subscription(subscriptions: int) -> None:
    """How many may subscribe says nothing about how many may watch."""
    router = make_router(limits=Limits(subscriptions=subscriptions))
    watcher, reader = MemoryClient(router), MemoryClient(router)
    for first in (b"*", b"a"):
        for second in (b"*", b"b"):
            for third in (b"*", b"c"):
                watcher.watch(first + b"/" + second + b"/" + third)
    reader.subscribe(b"a/b/c")
    reader.close()
    assert watcher.interest == [(b"a/b/c", 1), (b"a/b/c", 0)]
