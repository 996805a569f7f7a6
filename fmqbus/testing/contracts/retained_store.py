"""Does a part keep what `IRetainedStore` promises?"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from twisted.internet.defer import Deferred, inlineCallbacks
from zope.interface.verify import verifyObject

from fmqbus.errors import Overloaded
from fmqbus.interfaces import IRetainedStore
from fmqbus.model import Message

#: A test that waits; pytest-twisted waits for it.
Steps = Generator[Deferred[Any], Any, None]


def _topics(store: IRetainedStore, pattern: bytes) -> list[bytes]:
    return [message.topic for message in store.matching(pattern)]


class RetainedStoreContract:
    """Derive from this, and say how to make the store."""

    def make_store(self, messages: int) -> IRetainedStore:
        """Return an empty store with room for just so many small messages."""
        raise NotImplementedError

    def test_it_provides_the_interface(self) -> None:
        """With the signatures that the router calls."""
        assert verifyObject(IRetainedStore, self.make_store(1))

    def test_a_message_comes_back_as_it_was(self) -> None:
        """With its flags and properties, whatever octets it holds."""
        store = self.make_store(1)
        message = Message("a/ä".encode(), bytes(range(256)), True, True, {"key": "value"})
        store.put(message)
        assert list(store.matching(message.topic)) == [message]
        assert len(store) == 1

    def test_a_topic_has_one_message_the_last(self) -> None:
        """The former is replaced."""
        store = self.make_store(1)
        store.put(Message(b"a", b"1"))
        store.put(Message(b"a", b"2"))
        assert [message.payload for message in store.matching(b"a")] == [b"2"]
        assert len(store) == 1

    def test_the_message_of_one_topic_is_found_by_its_exact_name(self) -> None:
        """The present one; a star is a name as any other here."""
        store = self.make_store(2)
        store.put(Message(b"a", b"1"))
        assert store.get(b"*") is None
        store.put(Message(b"*", b"2"))
        store.put(Message(b"a", b"3"))
        assert store.get(b"a") == Message(b"a", b"3")
        assert store.get(b"*") == Message(b"*", b"2")
        store.remove(b"a")
        assert store.get(b"a") is None

    def test_what_was_removed_is_gone(self) -> None:
        """Removing tells whether there was anything, and leaves the rest."""
        store = self.make_store(2)
        store.put(Message(b"a", b"1"))
        store.put(Message(b"b", b"2"))
        assert store.remove(b"a") is True
        assert store.remove(b"a") is False
        assert store.remove(b"*") is False
        assert _topics(store, b"*") == [b"b"]
        assert len(store) == 1

    def test_messages_come_in_the_order_in_which_they_were_last_put(self) -> None:
        """A replaced one goes to the end."""
        store = self.make_store(10)
        for topic in (b"a/1", b"a/3", b"a/2", b"a/1"):
            store.put(Message(topic, b"x"))
        assert _topics(store, b"a/*") == [b"a/3", b"a/2", b"a/1"]

    @pytest.mark.parametrize(
        ("pattern", "topics"),
        [
            (b"a", {b"a", b"*"}),
            (b"*", {b"a", b"*"}),
            (b"a/b", {b"a/b", b"a/*"}),
            (b"*/c", {b"a/*"}),
            (b"a/b/c", set()),
            (b"a/*/c", {b"a//c"}),
            (b"a//c", {b"a//c"}),
            (b"$/*", {b"$/x"}),
        ],
    )
    def test_topics_are_found_by_equivalence(self, pattern: bytes, topics: set[bytes]) -> None:
        """A star is one level on either side: a message kept under one is an entry of its own."""
        store = self.make_store(10)
        for topic in (b"a", b"*", b"a/b", b"a/*", b"a//c", b"$/x"):
            store.put(Message(topic, b"x"))
        assert set(_topics(store, pattern)) == topics

    def test_an_answer_stays_what_it_was(self) -> None:
        """It is a snapshot, whatever happens to the store while it is read."""
        store = self.make_store(2)
        store.put(Message(b"a", b"1"))
        answer = store.matching(b"*")
        store.put(Message(b"a", b"2"))
        store.put(Message(b"b", b"3"))
        store.remove(b"a")
        assert [message.payload for message in answer] == [b"1"]

    def test_it_is_bounded_and_a_refused_message_changes_nothing(self) -> None:
        """One topic more is one too many; replacing still works, and removing makes room."""
        store = self.make_store(2)
        store.put(Message(b"a", b"1"))
        store.put(Message(b"b", b"2"))
        with pytest.raises(Overloaded):
            store.put(Message(b"c", b"3"))
        assert _topics(store, b"*") == [b"a", b"b"]
        store.put(Message(b"a", b"4"))
        store.remove(b"b")
        store.put(Message(b"c", b"5"))
        assert _topics(store, b"*") == [b"a", b"c"]

    @inlineCallbacks
    def test_closing_ends_when_everything_is_safe(self) -> Steps:
        """The router waits for it when it stops."""
        store = self.make_store(1)
        yield store.recover()
        store.put(Message(b"a", b"1"))
        yield store.close()

    @inlineCallbacks
    def test_a_new_store_has_nothing_to_bring_back(self) -> Steps:
        """What was put meanwhile stays."""
        store = self.make_store(2)
        store.put(Message(b"a", b"1"))
        yield store.recover()
        store.put(Message(b"b", b"2"))
        assert _topics(store, b"*") == [b"a", b"b"]
        yield store.close()


class DurableRetainedStoreContract(RetainedStoreContract):
    """Derive from this for a store that outlives the process."""

    def reopen(self, store: IRetainedStore, messages: int) -> IRetainedStore:
        """Return a new store over what a closed one has left behind, with room for just so many small messages."""
        raise NotImplementedError

    def _kept(self, store: IRetainedStore) -> list[Message]:
        return [*store.matching(b"*"), *store.matching(b"*/*")]

    @inlineCallbacks
    def test_what_was_kept_comes_back(self) -> Steps:
        """As it was, and in the order in which it was last put."""
        store = self.make_store(10)
        yield store.recover()
        for message in (
            Message(b"b", b"old", retain=True),
            Message("ä".encode(), bytes(range(256)) * 300, True, True, {"key": "ü\0", "\ud800": ""}),
            Message(b"gone", b"x"),
            Message(b"a", b"1"),
            Message(b"b", b"new"),
        ):
            store.put(message)
        store.remove(b"gone")
        kept = self._kept(store)
        yield store.close()
        reopened = self.reopen(store, 10)
        yield reopened.recover()
        assert self._kept(reopened) == kept
        reopened.put(Message(b"a", b"2"))
        reopened.put(Message(b"last", b"3"))
        kept = self._kept(reopened)
        assert [message.payload for message in kept[1:]] == [b"new", b"2", b"3"]
        yield reopened.close()
        again = self.reopen(reopened, 10)
        yield again.recover()
        assert self._kept(again) == kept
        yield again.close()

    @inlineCallbacks
    def test_what_is_said_before_all_is_back_is_newer(self) -> Steps:
        """A bus in a program may be used before it has recovered."""
        store = self.make_store(10)
        yield store.recover()
        for topic in (b"a", b"b", b"c", b"d"):
            store.put(Message(topic, b"old"))
        yield store.close()
        reopened = self.reopen(store, 10)
        reopened.put(Message(b"b", b"new"))
        recovered = reopened.recover()
        reopened.put(Message(b"c", b"new"))
        reopened.remove(b"a")
        reopened.remove(b"c")
        yield recovered
        expected = [(b"d", b"old"), (b"b", b"new")]
        assert [(message.topic, message.payload) for message in self._kept(reopened)] == expected
        yield reopened.close()
        again = self.reopen(reopened, 10)
        yield again.recover()
        assert [(message.topic, message.payload) for message in self._kept(again)] == expected
        yield again.close()

    @inlineCallbacks
    def test_all_that_was_kept_comes_back_where_there_is_less_room_now(self) -> Steps:
        """An operator's lower bound throws nothing away; it refuses what is new."""
        store = self.make_store(3)
        yield store.recover()
        for topic in (b"a", b"b", b"c"):
            store.put(Message(topic, b"1"))
        yield store.close()
        reopened = self.reopen(store, 1)
        yield reopened.recover()
        assert len(reopened) == 3
        with pytest.raises(Overloaded):
            reopened.put(Message(b"d", b"1"))
        yield reopened.close()
