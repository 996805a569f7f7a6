"""Does the store in memory give what a dict would, and count right? (Its contract: tests/testing/test_contracts.py.)"""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fmqbus import names
from fmqbus.errors import Overloaded
from fmqbus.limits import Limits
from fmqbus.model import Message
from fmqbus.stores.memory import MemoryRetainedStore

LIMITS = Limits(retained_topics=8, retained_octets=40)
TOPICS = st.lists(st.sampled_from((b"a", b"b", b"*", b"")), min_size=1, max_size=3).map(b"/".join)


class StoreMachine(RuleBasedStateMachine):
    """The store beside a dict, which keeps the order of insertion."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryRetainedStore(LIMITS)
        self.plain: dict[bytes, Message] = {}

    @rule(topic=TOPICS, payload=st.binary(max_size=20))
    def put(self, topic: bytes, payload: bytes) -> None:
        message = Message(topic, payload)
        after = {**self.plain, topic: message}
        octets = sum(len(each.topic) + len(each.payload) for each in after.values())
        if len(after) > LIMITS.retained_topics or octets > LIMITS.retained_octets:
            with pytest.raises(Overloaded):
                self.store.put(message)
            return
        self.store.put(message)
        self.plain.pop(topic, None)
        self.plain[topic] = message

    @rule(topic=TOPICS)
    def remove(self, topic: bytes) -> None:
        assert self.store.remove(topic) is (self.plain.pop(topic, None) is not None)

    @rule(pattern=TOPICS)
    def match(self, pattern: bytes) -> None:
        expected = [message for topic, message in self.plain.items() if names.equivalent(topic, pattern)]
        assert list(self.store.matching(pattern)) == expected

    @invariant()
    def as_many_are_kept(self) -> None:
        assert len(self.store) == len(self.plain)


StoreMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
TestTheStoreAgainstADict = StoreMachine.TestCase


def test_octets_of_topics_and_payloads_are_bounded_and_given_back() -> None:
    """By replacing with less, and by removing."""
    store = MemoryRetainedStore(Limits(retained_octets=10))
    store.put(Message(b"a", b"123456789"))
    with pytest.raises(Overloaded):
        store.put(Message(b"b", b""))
    store.put(Message(b"a", b"1234"))
    store.put(Message(b"b", b"1234"))
    store.remove(b"a")
    store.put(Message(b"c", b"1234"))
    assert [message.topic for message in store.matching(b"*")] == [b"b", b"c"]


def test_a_pattern_that_would_look_at_too_much_is_refused() -> None:
    """A star over very many values; a topic of its own is found whatever else is there."""
    store = MemoryRetainedStore(Limits(replay_visits=10))
    for number in range(100):
        store.put(Message(b"%d" % number, b"x"))
    with pytest.raises(Overloaded):
        store.matching(b"*")
    assert len(store.matching(b"50")) == 1
