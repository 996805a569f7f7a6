"""Is there a way around the authorizers? Every path on which something reaches somebody, with a no on it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from twisted.logger import globalLogPublisher
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.errors import Detached, Refused
from fmqbus.interfaces import IAuthorizer
from fmqbus.limits import Limits
from fmqbus.model import Action, Decision, Message, PeerFacts, Principal
from fmqbus.testing.bus import MemoryClient, OpenPolicy, make_router
from tests.router.fast_lane import publish_read

STRANGER = Principal("memory", PeerFacts("tcp", "192.0.2.1"))


@implementer(IPlugin, IAuthorizer)
class Says:
    """Gives one answer to everybody, and remembers the questions."""

    def __init__(self, answer: Decision | Exception) -> None:
        self.answer = answer
        self.asked: list[tuple[Action, bytes]] = []

    def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
        self.asked.append((action, name))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


REQUESTS: dict[str, Callable[[MemoryClient], object]] = {
    "publish": lambda client: client.publish(b"a", b"x"),
    "publish to a wildcard": lambda client: client.publish(b"*", b"x"),
    "retain": lambda client: client.publish(b"a", b"x", retain=True),
    "forget": lambda client: client.publish(b"a", b"", retain=True),
    "will": lambda client: client.set_will(b"a", b"x"),
    "subscribe": lambda client: client.subscribe(b"a"),
    "subscribe by wildcard": lambda client: client.subscribe(b"*"),
    "watch": lambda client: client.watch(b"a"),
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize(
    "authorizers",
    [
        pytest.param([], id="nobody is asked"),
        pytest.param([Says(Decision.DEFER), Says(Decision.DEFER)], id="all defer"),
        pytest.param([Says(Decision.DENY), Says(Decision.ALLOW)], id="the first denies"),
        pytest.param([Says(Decision.DEFER), Says(Decision.DENY)], id="one defers, one denies"),
    ],
)
def test_without_a_yes_the_answer_is_no(request_: Callable[[MemoryClient], object], authorizers: list[Says]) -> None:
    """Nothing fails open: the request raises `Refused`, and nothing has changed."""
    router = make_router(authorizers=authorizers)
    client = MemoryClient(router)
    with pytest.raises(Refused):
        request_(client)
    client.close()
    assert client.received == []
    assert router.subscriptions == 0
    assert len(router.retained) == 0


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_an_authorizer_that_raises_says_no_and_is_reported(request_: Callable[[MemoryClient], object]) -> None:
    """Even if the next one would have allowed it."""
    logged: list[object] = []
    globalLogPublisher.addObserver(logged.append)
    try:
        client = MemoryClient(make_router(authorizers=[Says(RuntimeError("broken")), Says(Decision.ALLOW)]))
        with pytest.raises(Refused):
            request_(client)
    finally:
        globalLogPublisher.removeObserver(logged.append)
    assert logged


def test_the_first_that_does_not_defer_decides() -> None:
    """The rest are not even asked."""
    last = Says(Decision.DENY)
    client = MemoryClient(make_router(authorizers=[Says(Decision.DEFER), Says(Decision.ALLOW), last]))
    client.subscribe(b"a")
    assert last.asked == []


def test_a_denied_topic_is_denied_in_the_fast_lane_too() -> None:
    """Beside others of the same read that are not."""
    policy = OpenPolicy()
    policy.deny(Action.PUBLISH, b"denied")
    router = make_router(authorizers=[policy])
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"*")
    publish_read(writer, (b"open", b"1"), (b"denied", b"2"), (b"/denied/", b"3"), (b"open", b"4"))
    assert reader.payloads == [b"1", b"4"]
    assert writer.session.statistics.drops == {"refused": 2}


def test_a_wildcard_publication_reaches_only_names_that_may_be_published_to() -> None:
    """Each name that a subscription makes of it is asked for; a literal part of either side counts."""
    policy = OpenPolicy()
    policy.deny(Action.PUBLISH, b"a/secret", b"b/*")
    router = make_router(authorizers=[policy])
    readers = {pattern: MemoryClient(router) for pattern in (b"a/secret", b"a/open", b"*/secret", b"b/*", b"*/*")}
    for pattern, reader in readers.items():
        reader.subscribe(pattern)
    writer = MemoryClient(router)
    writer.publish(b"a/*", b"x")
    assert {pattern for pattern, reader in readers.items() if reader.received} == {b"a/open", b"*/*"}
    writer.publish(b"*/*", b"x")
    assert readers[b"a/secret"].received == readers[b"b/*"].received == []


def test_a_wildcard_subscription_does_not_reach_below_a_denied_name() -> None:
    """Not by a plain publication, by a wildcard one, or by a retained value (threats, rows 13 and 14)."""
    policy = OpenPolicy()
    policy.deny(Action.SUBSCRIBE, b"a/secret")
    router = make_router(authorizers=[policy])
    early, writer, late = (MemoryClient(router) for _ in range(3))
    early.subscribe(b"a/*")
    early.subscribe(b"*/*")
    for topic in (b"a/secret", b"*/secret", b"a/open"):
        writer.publish(topic, topic, retain=True)
        publish_read(writer, (topic, topic))
    late.subscribe(b"a/*")
    assert set(early.payloads) == {b"a/open", b"*/secret"}
    assert late.payloads == [b"a/open"]
    [matched] = {
        matched
        for batch in early.batches
        for publication, matched in batch
        if publication.messages[0].topic == b"*/secret"
    }
    assert [subscription.pattern for subscription in matched] == [b"*/*"]


def test_rights_are_each_readers_own() -> None:
    """Two readers of one pattern, one of whom may read a topic below it."""

    @implementer(IPlugin, IAuthorizer)
    class ByAddress:
        def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
            is_denied = principal == STRANGER and name == b"a/secret"
            return Decision.DENY if is_denied else Decision.ALLOW

    router = make_router(authorizers=[ByAddress()])
    insider, stranger = MemoryClient(router), MemoryClient(router, STRANGER)
    for reader in (insider, stranger):
        reader.subscribe(b"a/*")
    publish_read(insider, (b"a/secret", b"1"), (b"a/open", b"2"))
    publish_read(stranger, (b"a/secret", b"3"), (b"a/open", b"4"))
    assert insider.payloads == [b"1", b"2", b"4"]
    assert stranger.payloads == [b"2", b"4"]


def test_keeping_takes_a_right_beside_publishing() -> None:
    """Without it the message is refused whole, and an empty one removes nothing."""
    policy = OpenPolicy()
    router = make_router(authorizers=[policy])
    reader, writer = MemoryClient(router), MemoryClient(router)
    writer.publish(b"a", b"1", retain=True)
    reader.subscribe(b"a")
    policy.deny(Action.RETAIN, b"a")
    router.policy_changed()
    for payload in (b"2", b""):
        with pytest.raises(Refused):
            writer.publish(b"a", payload, retain=True)
    writer.publish(b"a", b"3")
    assert reader.payloads == [b"1", b"3"]
    assert [message.payload for message in router.retained.matching(b"a")] == [b"1"]


@pytest.mark.parametrize("action", [Action.WILL, Action.PUBLISH])
def test_a_will_takes_both_rights_when_it_is_set(action: Action) -> None:
    """Removing one takes none."""
    policy = OpenPolicy()
    policy.deny(action, b"a")
    client = MemoryClient(make_router(authorizers=[policy]))
    with pytest.raises(Refused):
        client.set_will(b"a", b"x")
    client.set_will(b"a", b"")


def test_a_change_of_policy_ends_what_is_no_longer_allowed_and_only_that() -> None:
    """At once; the peer is told, interest falls, and everything else goes on (threats, row 16)."""
    policy = OpenPolicy()
    router = make_router(authorizers=[policy])
    reader, watcher, writer = (MemoryClient(router) for _ in range(3))
    for pattern in (b"a", b"b"):
        reader.subscribe(pattern)
        watcher.watch(pattern)
    watcher.received.clear()
    publish_read(writer, (b"a", b"1"), (b"b", b"2"))
    policy.deny(Action.SUBSCRIBE, b"a")
    router.policy_changed()
    publish_read(writer, (b"a", b"3"), (b"b", b"4"))
    assert reader.payloads == [b"1", b"2", b"4"]
    assert reader.calls == ["subscription_ended a policy"]
    assert watcher.interest == [(b"a", 0)]
    assert not reader.unsubscribe(b"a")
    assert reader.unsubscribe(b"b")


def test_a_change_of_policy_is_felt_below_a_wildcard_that_stays_allowed() -> None:
    """The subscription lives on, and each topic is asked again."""
    policy = OpenPolicy()
    router = make_router(authorizers=[policy])
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a/*")
    publish_read(writer, (b"a/1", b"1"))
    policy.deny(Action.SUBSCRIBE, b"a/1")
    router.policy_changed()
    publish_read(writer, (b"a/1", b"2"), (b"a/2", b"3"))
    policy.denied.clear()
    router.policy_changed()
    publish_read(writer, (b"a/1", b"4"))
    assert reader.payloads == [b"1", b"3", b"4"]


def test_a_change_of_policy_is_felt_by_publishers_in_either_lane() -> None:
    """No cached yes is left, nor any cached no."""
    policy = OpenPolicy()
    router = make_router(authorizers=[policy])
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a")
    publish_read(writer, (b"a", b"1"))
    policy.deny(Action.PUBLISH, b"a")
    router.policy_changed()
    publish_read(writer, (b"a", b"2"))
    with pytest.raises(Refused):
        writer.publish(b"a", b"3")
    policy.denied.clear()
    router.policy_changed()
    publish_read(writer, (b"a", b"4"))
    assert reader.payloads == [b"1", b"4"]


def test_a_change_of_policy_ends_watches() -> None:
    """Who may not watch any more is told nothing more."""
    policy = OpenPolicy()
    router = make_router(authorizers=[policy])
    watcher, reader = MemoryClient(router), MemoryClient(router)
    watcher.watch(b"a")
    watcher.watch(b"b")
    policy.deny(Action.WATCH, b"a")
    router.policy_changed()
    reader.subscribe(b"a")
    reader.subscribe(b"b")
    assert watcher.interest == [(b"b", 1)]
    assert not watcher.unwatch(b"a")


def test_what_was_accepted_for_a_slow_reader_before_the_change_is_still_delivered() -> None:
    """The reader was allowed to read it when it was published; a change of policy looks forward."""
    policy = OpenPolicy()
    router = make_router(authorizers=[policy])
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a")
    reader.pause()
    writer.publish(b"a", b"before")
    policy.deny(Action.SUBSCRIBE, b"a")
    router.policy_changed()
    writer.publish(b"a", b"after")
    reader.resume()
    assert reader.payloads == [b"before"]


def test_an_authorizer_that_starts_to_raise_ends_subscriptions_when_asked_again() -> None:
    """Nobody keeps what nobody allows."""
    authorizer = Says(Decision.ALLOW)
    router = make_router(authorizers=[authorizer])
    reader, writer = MemoryClient(router), MemoryClient(router)
    reader.subscribe(b"a")
    authorizer.answer = RuntimeError("broken")
    router.policy_changed()
    assert router.subscriptions == 0
    with pytest.raises(Refused):
        writer.session.publish(Message(b"a", b"x"))


ANNA = Principal("memory", STRANGER.facts, "anna")


@implementer(IPlugin, IAuthorizer)
class OnlyAnna:
    """Allows everything to one who has proved to be her."""

    def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
        return Decision.ALLOW if principal.identity == "anna" else Decision.DENY


def test_who_proves_who_he_is_may_from_then_on_what_that_one_may() -> None:
    """Also on the fast lane, which had remembered that he might not."""
    router = make_router(authorizers=[OnlyAnna()])
    client, reader = MemoryClient(router, STRANGER), MemoryClient(router, ANNA)
    reader.subscribe(b"a")
    with pytest.raises(Refused):
        client.publish(b"a", b"1")
    client.session.become(ANNA)
    client.publish(b"a", b"2")
    publish_read(client, (b"a", b"3"))
    assert reader.payloads == [b"2", b"3"]


def test_who_is_somebody_else_loses_what_that_one_may_not_have() -> None:
    """As by a change of policy; others keep what they have (threats, row 16)."""
    router = make_router(authorizers=[OnlyAnna()])
    client, reader = MemoryClient(router, ANNA), MemoryClient(router, ANNA)
    writer = MemoryClient(router, ANNA)
    for each in (client, reader):
        each.subscribe(b"a")
    publish_read(writer, (b"a", b"1"))
    client.session.become(STRANGER)
    publish_read(writer, (b"a", b"2"))
    assert client.payloads == [b"1"]
    assert reader.payloads == [b"1", b"2"]
    assert client.calls == ["subscription_ended a policy"]
    with pytest.raises(Refused):
        client.publish(b"a", b"3")


def test_a_login_costs_others_nothing() -> None:
    """What was remembered for them stays, unless the one who logs in has asked for something before."""
    router = make_router(authorizers=[OnlyAnna()])
    client, writer = MemoryClient(router, STRANGER), MemoryClient(router, ANNA)
    route = writer.session.routes[b"a"]
    client.session.become(ANNA)
    assert writer.session.routes[b"a"] is route


def test_who_has_gone_is_nobody_any_more() -> None:
    """Whatever his login still brings."""
    client = MemoryClient(make_router(authorizers=[OnlyAnna()]), STRANGER)
    client.close()
    with pytest.raises(Detached):
        client.session.become(ANNA)


# wills, schedules and answers: what is done for a client that is not there (threats, rows 14 to 16 and 24)


@pytest.mark.parametrize(
    ("topic", "retain", "action"),
    [(b"a", True, Action.RETAIN), (b"$/signals/stop", False, Action.CONTROL), (b"a", False, Action.WILL)],
)
def test_a_will_takes_all_that_publishing_it_will_take(topic: bytes, retain: bool, action: Action) -> None:
    """When it is set; and again when it is published."""
    policy = OpenPolicy()
    policy.deny(action, topic)
    router = make_router(authorizers=[policy])
    with pytest.raises(Refused):
        MemoryClient(router).set_will(topic, b"x", retain)
    policy.denied.clear()
    router.policy_changed()
    leaving, reader = MemoryClient(router), MemoryClient(router)
    leaving.set_will(topic, b"x", retain)
    policy.deny(action, topic)
    router.policy_changed()
    reader.subscribe(topic)
    leaving.close()
    assert reader.payloads == []
    assert len(router.retained) == 0
    assert "refused" in leaving.session.statistics.drops or "service-topic" in leaving.session.statistics.drops


@implementer(IPlugin, IAuthorizer)
class ByGroup:
    """Allows everything to operators, and to everybody to read."""

    def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
        is_allowed = "ops" in principal.groups or action is Action.SUBSCRIBE
        return Decision.ALLOW if is_allowed else Decision.DENY


OPERATOR = Principal("memory", STRANGER.facts, "anna", frozenset({"ops"}))


@pytest.mark.parametrize(
    ("by_now", "published", "reason"),
    [
        pytest.param(OPERATOR, [b"bye"], None, id="as before"),
        pytest.param(ANNA, [], "refused", id="in no group any more"),
        pytest.param(None, [], "revoked", id="there no more"),
    ],
)
def test_a_will_has_the_rights_that_its_client_has_by_now(
    by_now: Principal | None, published: list[bytes], reason: str | None
) -> None:
    """And not those it had when it logged in: whoever is removed from the file of users is ended, and then his will is
    published (threats, row 15)."""
    router = make_router(authorizers=[ByGroup()], as_of_now=lambda principal: by_now)
    leaving, reader = MemoryClient(router, OPERATOR), MemoryClient(router, STRANGER)
    reader.subscribe(b"a")
    leaving.set_will(b"a", b"bye")
    leaving.close()
    assert reader.payloads == published
    assert leaving.session.statistics.drops == ({} if reason is None else {reason: 1})


def test_answers_are_remembered_denials_too() -> None:
    """Who goes on asking for what he may not have costs no more than others. A change of policy asks anew."""
    authorizer = Says(Decision.DENY)
    router = make_router(authorizers=[authorizer])
    client = MemoryClient(router)
    for _ in range(3):
        with pytest.raises(Refused):
            client.publish(b"a", b"x", retain=True)
    assert len(authorizer.asked) == 1
    authorizer.answer = Decision.ALLOW
    router.policy_changed()
    for _ in range(3):
        client.publish(b"a", b"x", retain=True)
    assert authorizer.asked[1:] == [(Action.PUBLISH, b"a"), (Action.RETAIN, b"a")]


def test_so_many_answers_are_remembered_and_no_more() -> None:
    """Names are the clients' to choose."""
    authorizer = Says(Decision.DENY)
    router = make_router(authorizers=[authorizer], limits=Limits(cached_decisions=2))
    for name in (b"a", b"b", b"b", b"c", b"a"):
        assert not router.authorize(STRANGER, Action.PUBLISH, name)
    assert [name for _, name in authorizer.asked] == [b"a", b"b", b"c", b"a"]


def test_nobody_has_a_stranger_answered() -> None:
    """Where the answer of a job goes is a property of its message, which only its own protocol may set."""
    router = make_router()
    forger, honest = MemoryClient(router), MemoryClient(router, Principal("emqp", STRANGER.facts))
    reader = MemoryClient(router)
    reader.consume(b"q")
    for client in (forger, honest):
        client.session.enqueue(b"q", Message(b"q", b"x", properties={"emqp:client": "frontend 00", "own": "1"}))
        client.session.flush()
    assert [stored.message.properties for _, stored in reader.taken] == [
        {"own": "1"},
        {"emqp:client": "frontend 00", "own": "1"},
    ]
