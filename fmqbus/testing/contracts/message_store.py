"""Does a part keep what `IMessageStore` promises?"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from twisted.internet.defer import Deferred, inlineCallbacks
from zope.interface.verify import verifyObject

from fmqbus.errors import Overloaded
from fmqbus.interfaces import IMessageStore
from fmqbus.model import Message

#: A test that waits; pytest-twisted waits for it.
Steps = Generator[Deferred[Any], Any, None]


class MessageStoreContract:
    """Derive from this, and say how to make the store and how to open it again."""

    def make_store(self, messages: int) -> IMessageStore:
        """Return an empty store with room for just so many small messages."""
        raise NotImplementedError

    def reopen(self, store: IMessageStore) -> IMessageStore:
        """Return a new store over what a closed one has left behind."""
        raise NotImplementedError

    def test_it_provides_the_interface(self) -> None:
        """With the signatures that the bus calls."""
        assert verifyObject(IMessageStore, self.make_store(1))

    @inlineCallbacks
    def test_numbers_are_unique_and_rise_within_a_queue(self) -> Steps:
        """Also over a removal: a number is never used again."""
        store = self.make_store(10)
        numbers = []
        for count in range(3):
            numbers.append((yield store.append(b"q", Message(b"q", b"%d" % count))))
        yield store.remove(b"q", numbers[-1])
        numbers.append((yield store.append(b"q", Message(b"q", b"3"))))
        assert numbers == sorted(set(numbers))
        yield store.close()

    @inlineCallbacks
    def test_what_was_appended_and_not_removed_is_there_after_a_restart(self) -> Steps:
        """Each queue in its order, with the same numbers, and the messages as they were."""
        store = self.make_store(10)
        messages = [Message(b"q", bytes([count]), properties={"count": str(count)}) for count in range(4)]
        numbers = []
        for message in messages:
            numbers.append((yield store.append(b"q", message)))
        other = yield store.append(b"p", Message(b"p", b"x"))
        yield store.remove(b"q", numbers[1])
        yield store.close()
        reopened = self.reopen(store)
        kept = [(number, message) for number, message in zip(numbers, messages, strict=True) if number != numbers[1]]
        assert list((yield reopened.recover(b"q"))) == kept
        assert list((yield reopened.recover(b"p"))) == [(other, Message(b"p", b"x"))]
        assert list((yield reopened.recover(b"empty"))) == []
        assert (yield reopened.append(b"q", Message(b"q", b"new"))) > numbers[-1]
        yield reopened.close()

    @inlineCallbacks
    def test_removing_again_or_what_never_was_does_nothing(self) -> Steps:
        """A settlement may be repeated."""
        store = self.make_store(10)
        number = yield store.append(b"q", Message(b"q", b"1"))
        kept = yield store.append(b"q", Message(b"q", b"2"))
        for _ in range(2):
            yield store.remove(b"q", number)
        yield store.remove(b"q", kept + 1000)
        yield store.remove(b"unknown", kept)
        yield store.close()
        assert [each for each, _ in (yield self.reopen(store).recover(b"q"))] == [kept]

    @inlineCallbacks
    def test_the_queues_are_those_that_hold_something(self) -> Steps:
        """One that has become empty is none."""
        store = self.make_store(10)
        assert list((yield store.queues())) == []
        number = yield store.append(b"a", Message(b"a", b"x"))
        yield store.append(b"b", Message(b"b", b"x"))
        assert sorted((yield store.queues())) == [b"a", b"b"]
        yield store.remove(b"a", number)
        assert list((yield store.queues())) == [b"b"]
        yield store.close()

    @inlineCallbacks
    def test_it_is_bounded_and_a_refused_message_is_not_kept(self) -> Steps:
        """Removing makes room."""
        store = self.make_store(2)
        first = yield store.append(b"q", Message(b"q", b"1"))
        yield store.append(b"p", Message(b"p", b"2"))
        with pytest.raises(Overloaded):
            yield store.append(b"q", Message(b"q", b"3"))
        yield store.remove(b"q", first)
        yield store.append(b"q", Message(b"q", b"4"))
        yield store.close()
        assert [message.payload for _, message in (yield self.reopen(store).recover(b"q"))] == [b"4"]
