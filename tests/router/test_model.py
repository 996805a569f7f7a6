"""Does the router do what a router without any cleverness would do, whatever is asked of it in whatever order?

Hypothesis plays clients against the bus, in both lanes and with caches that are always too small, and compares every
client's mail with that of a model that looks through everything each time.
"""

from __future__ import annotations

from typing import Any

import attrs
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule
from twisted.internet.task import Clock
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus import names
from fmqbus.errors import Refused
from fmqbus.interfaces import IAuthorizer
from fmqbus.limits import Limits
from fmqbus.model import Action, Decision, Interest, Message, PeerFacts, Principal
from fmqbus.testing.bus import MemoryClient, make_router
from tests.router.fast_lane import publish_read

LEVELS = (b"a", b"b", b"*", b"$")
NAMES = st.lists(st.sampled_from(LEVELS), min_size=1, max_size=3).map(b"/".join)
#: Publications mostly have no wildcard, so that runs form.
TOPICS = st.one_of(st.lists(st.sampled_from((b"a", b"b")), min_size=1, max_size=2).map(b"/".join), NAMES)
GUARDED = (Action.PUBLISH, Action.SUBSCRIBE, Action.WATCH, Action.RETAIN, Action.WILL)


@attrs.frozen
class Rights:
    """Who is denied what, by the address they come from."""

    denied: frozenset[tuple[str, Action, bytes]] = frozenset()

    def allow(self, principal: Principal, action: Action, name: bytes) -> bool:
        return (principal.facts.address, action, name) not in self.denied


@implementer(IPlugin, IAuthorizer)
class Table:
    """The same, as the bus asks it."""

    rights = Rights()

    def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
        return Decision.ALLOW if self.rights.allow(principal, action, name) else Decision.DENY


@attrs.define(eq=False)
class Known:
    """What the model knows of one client."""

    client: MemoryClient
    principal: Principal
    subscriptions: dict[bytes, bool] = attrs.field(factory=dict)
    watches: set[bytes] = attrs.field(factory=set)
    wills: dict[bytes, bytes] = attrs.field(factory=dict)
    is_paused: bool = False
    expected: list[Message | Interest] = attrs.field(factory=list)
    #: What has come in while the link was full.
    waiting: list[Message | Interest] = attrs.field(factory=list)

    def expect(self, item: Message | Interest) -> None:
        """It gets this, now or when its link has room; of interest that waits, only the last word on each pattern."""
        if not self.is_paused:
            self.expected.append(item)
            return
        if isinstance(item, Interest):
            self.waiting = [
                other for other in self.waiting if not isinstance(other, Interest) or other.pattern != item.pattern
            ]
        self.waiting.append(item)


class BusMachine(RuleBasedStateMachine):
    """The model, and the rules by which both are played."""

    clients = Bundle("clients")

    @initialize(cached_routes=st.sampled_from((1, 3, 1000)), reaches=st.booleans())
    def begin(self, cached_routes: int, reaches: bool) -> None:
        self.table = Table()
        self.reaches_service = reaches
        self.router = make_router(
            Clock(),
            authorizers=[self.table],
            limits=Limits(cached_routes=cached_routes),
            wildcards_reach_service=reaches,
        )
        self.known: list[Known] = []
        self.retained: dict[bytes, Message] = {}

    # clients

    @rule(target=clients, is_blind=st.booleans(), address=st.sampled_from(("192.0.2.1", "192.0.2.2")))
    def connect(self, is_blind: bool, address: str) -> Known:
        principal = Principal("memory", PeerFacts("tcp", address))
        known = Known(MemoryClient(self.router, principal, is_blind), principal)
        self.known.append(known)
        return known

    @rule(known=consumes(clients))
    def close(self, known: Known) -> None:
        self.known.remove(known)
        for pattern, hidden in list(known.subscriptions.items()):
            del known.subscriptions[pattern]
            if not hidden:
                self.tell_interest(pattern)
        for topic, payload in known.wills.items():
            if self.may(known, Action.WILL, topic):
                self.publish_in_model(known, Message(topic, payload, will=True))
        known.client.close()

    @rule(known=clients)
    def pause(self, known: Known) -> None:
        known.is_paused = True
        known.client.pause()

    @rule(known=clients)
    def resume(self, known: Known) -> None:
        known.is_paused = False
        known.expected += known.waiting
        known.waiting = []
        known.client.resume()

    # what they ask for

    @rule(known=clients, pattern=NAMES, hidden=st.booleans())
    def subscribe(self, known: Known, pattern: bytes, hidden: bool) -> None:
        if not self.may(known, Action.SUBSCRIBE, pattern):
            self.refused(known.client.subscribe, pattern, hidden)
            return
        before = self.subscribers(pattern)
        known.subscriptions[pattern] = hidden
        if self.subscribers(pattern) != before:
            self.tell_interest(pattern)
        for message in self.retained.values():
            if names.equivalent(message.topic, pattern) and self.reaches(known, message.topic, pattern):
                known.expect(message)
        known.client.subscribe(pattern, hidden)

    @rule(known=clients, pattern=NAMES)
    def unsubscribe(self, known: Known, pattern: bytes) -> None:
        existed = pattern in known.subscriptions
        if known.subscriptions.pop(pattern, True) is False:
            self.tell_interest(pattern)
        assert known.client.unsubscribe(pattern) is existed

    @rule(known=clients, pattern=NAMES)
    def watch(self, known: Known, pattern: bytes) -> None:
        if not self.may(known, Action.WATCH, pattern):
            self.refused(known.client.watch, pattern)
            return
        known.watches.add(pattern)
        for subscribed in sorted(
            {p for other in self.known for p, hidden in other.subscriptions.items() if not hidden}
        ):
            if self.sees(known, pattern, subscribed):
                known.expect(Interest(subscribed, self.subscribers(subscribed)))
        known.client.watch(pattern)

    @rule(known=clients, pattern=NAMES)
    def unwatch(self, known: Known, pattern: bytes) -> None:
        existed = pattern in known.watches
        known.watches.discard(pattern)
        assert known.client.unwatch(pattern) is existed

    @rule(known=clients, topic=NAMES, payload=st.sampled_from((b"", b"will")))
    def set_will(self, known: Known, topic: bytes, payload: bytes) -> None:
        if not payload:
            known.wills.pop(topic, None)
        elif self.may(known, Action.WILL, topic) and (
            names.is_service(topic) or self.may(known, Action.PUBLISH, topic)
        ):
            known.wills[topic] = payload
        else:
            self.refused(known.client.set_will, topic, payload)
            return
        known.client.set_will(topic, payload)

    @rule(known=clients, topic=NAMES, payload=st.sampled_from((b"", b"1", b"2")), retain=st.booleans())
    def publish(self, known: Known, topic: bytes, payload: bytes, retain: bool) -> None:
        if self.publish_in_model(known, Message(topic, payload, retain)):
            known.client.publish(topic, payload, retain)
        else:
            self.refused(known.client.publish, topic, payload, retain)

    @rule(known=clients, messages=st.lists(st.tuples(TOPICS, st.sampled_from((b"1", b"22"))), min_size=1, max_size=20))
    def publish_many(self, known: Known, messages: list[tuple[bytes, bytes]]) -> None:
        for topic, payload in messages:
            self.publish_in_model(known, Message(topic, payload))
        publish_read(known.client, *messages)

    @rule(address=st.sampled_from(("192.0.2.1", "192.0.2.2")), action=st.sampled_from(GUARDED), name=NAMES)
    def change_policy(self, address: str, action: Action, name: bytes) -> None:
        rights = self.table.rights = Rights(self.table.rights.denied ^ {(address, action, name)})
        for known in self.known:
            forbidden = [p for p in known.subscriptions if not rights.allow(known.principal, Action.SUBSCRIBE, p)]
            for pattern in forbidden:
                if not known.subscriptions.pop(pattern):
                    self.tell_interest(pattern)
            known.watches = {p for p in known.watches if rights.allow(known.principal, Action.WATCH, p)}
        self.router.policy_changed()

    # the model

    def may(self, known: Known, action: Action, name: bytes) -> bool:
        return self.table.rights.allow(known.principal, action, name)

    def refused(self, request: Any, *arguments: Any) -> None:
        try:
            request(*arguments)
        except Refused:
            return
        raise AssertionError("this should have been refused")

    def subscribers(self, pattern: bytes) -> int:
        return sum(other.subscriptions.get(pattern) is False for other in self.known)

    def sees(self, known: Known, watched: bytes, pattern: bytes) -> bool:
        return names.equivalent(watched, pattern) and self.may(known, Action.WATCH, names.meet(watched, pattern))

    def tell_interest(self, pattern: bytes) -> None:
        for known in self.known:
            if any(self.sees(known, watched, pattern) for watched in known.watches):
                known.expect(Interest(pattern, self.subscribers(pattern)))

    def reaches(self, known: Known, topic: bytes, pattern: bytes) -> bool:
        """Whether a client may get this topic by this equivalent subscription."""
        is_service = names.is_service(topic), names.is_service(pattern)
        if is_service == (False, True) or (is_service == (True, False) and not self.reaches_service):
            return False
        return self.may(known, Action.SUBSCRIBE, names.meet(topic, pattern))

    def publish_in_model(self, publisher: Known, message: Message) -> bool:
        """Put the message into everybody's mail. Returns False if it is refused."""
        topic = message.topic
        if names.is_service(topic) or not self.may(publisher, Action.PUBLISH, topic):
            return False
        if message.retain:
            if not self.may(publisher, Action.RETAIN, topic):
                return False
            self.retained.pop(topic, None)
            if message.payload:
                self.retained[topic] = message
        if message.payload or not message.retain:
            for known in self.known:
                if any(
                    self.reaches(known, topic, pattern)
                    and self.may(publisher, Action.PUBLISH, names.meet(topic, pattern))
                    for pattern in known.subscriptions
                    if names.equivalent(topic, pattern)
                ):
                    known.expect(message)
        return True

    # what must hold after every step

    @invariant()
    def everybody_has_the_expected_mail_in_the_expected_order(self) -> None:
        for known in getattr(self, "known", ()):
            assert _in_order_of_patterns(known.client.received) == _in_order_of_patterns(known.expected)

    @invariant()
    def counts_are_right(self) -> None:
        if hasattr(self, "known"):
            assert self.router.subscriptions == sum(len(known.subscriptions) for known in self.known)
            assert len(self.router.sessions()) == len(self.known)
            assert len(self.router.retained) == len(self.retained)


def _in_order_of_patterns(items: list[Message | Interest]) -> list[Message | Interest]:
    """Bring neighbouring changes of interest in the order of their patterns: that of a watch's first answer is not
    promised. Changes of one pattern keep theirs."""
    ordered: list[Message | Interest] = []
    run: list[Interest] = []
    for item in items:
        if isinstance(item, Interest):
            run.append(item)
        else:
            ordered += sorted(run, key=lambda change: change.pattern)
            ordered.append(item)
            run = []
    return ordered + sorted(run, key=lambda change: change.pattern)


BusMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
TestTheRouterAgainstItsModel = BusMachine.TestCase
