"""Does a part keep what `IMessageStore` promises?"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from msgspec.structs import astuple
from twisted.internet.defer import Deferred, gatherResults, inlineCallbacks
from zope.interface.verify import verifyObject

from fmqbus.interfaces import IMessageStore
from fmqbus.model import Message, StoredMessage

#: A test that waits; pytest-twisted waits for it.
Steps = Generator[Deferred[Any], Any, None]


def _stored(number: int, payload: bytes = b"x", queue: bytes = b"q", **fields: Any) -> StoredMessage:
    return StoredMessage(queue, number, Message(queue, payload), **fields)


def _numbers(kept: list[StoredMessage]) -> list[int]:
    return [stored.number for stored in kept]


class MessageStoreContract:
    """Derive from this, and say how to make the store, how to open it again, and what a crash leaves."""

    def make_store(self) -> IMessageStore:
        """Return an empty store, which the test recovers."""
        raise NotImplementedError

    def reopen(self, store: IMessageStore) -> IMessageStore:
        """Return a new store over what a closed one has left behind."""
        raise NotImplementedError

    def crash(self, store: IMessageStore) -> IMessageStore:
        """Return a new store over what this one would leave behind if the process ended now, without closing."""
        raise NotImplementedError

    def test_it_provides_the_interface(self) -> None:
        """With the signatures that the bus calls."""
        assert verifyObject(IMessageStore, self.make_store())

    @inlineCallbacks
    def test_a_new_store_holds_nothing(self) -> Steps:
        """And is closed without having been used."""
        store = self.make_store()
        assert list((yield store.recover())) == []
        yield store.close()

    @inlineCallbacks
    def test_a_message_comes_back_as_it_was(self) -> Steps:
        """Whatever octets and text it holds, with all that its queue knows of it."""
        messages = [
            Message(b"q", b""),
            Message("straße/日".encode(), bytes(range(256)) * 300),
            Message(b"\xff", b"\0", retain=True, will=True),
            Message(b"q", b"x", properties={"": "", "dead-letter-reason": "ü\0\n\"'\\", "\ud800": "\udcff"}),
        ]
        appended = [
            StoredMessage(b"q", number, message, number % 10, 1e9 + number / 7, 2e9 + number / 3)
            for number, message in enumerate(messages)
        ]
        appended.append(StoredMessage("straße".encode(), 2**62, messages[0], 9, None, 0.0, 2**31, True))
        store = self.make_store()
        yield store.recover()
        for stored in appended:
            store.append(stored)
        yield store.close()
        reopened = self.reopen(store)
        kept = yield reopened.recover()
        assert [astuple(stored) for stored in kept] == [astuple(stored) for stored in appended]
        yield reopened.close()

    @inlineCallbacks
    def test_messages_come_back_by_queue_and_number(self) -> Steps:
        """In whatever order they were appended."""
        store = self.make_store()
        yield store.recover()
        for queue, number in ((b"b", 3), (b"a", 300), (b"b", 1), (b"a", 20), (b"b", 2)):
            store.append(_stored(number, queue=queue))
        yield store.close()
        reopened = self.reopen(store)
        kept = yield reopened.recover()
        assert [(stored.queue, stored.number) for stored in kept] == [
            (b"a", 20),
            (b"a", 300),
            (b"b", 1),
            (b"b", 2),
            (b"b", 3),
        ]
        yield reopened.close()

    @inlineCallbacks
    def test_a_message_is_read_when_it_is_appended(self) -> Steps:
        """What its queue does with it afterwards is told by `delivered`."""
        store = self.make_store()
        yield store.recover()
        stored = _stored(1)
        store.append(stored)
        stored.deliveries, stored.priority = 5, 5
        yield store.close()
        reopened = self.reopen(store)
        ((deliveries, priority),) = [(kept.deliveries, kept.priority) for kept in (yield reopened.recover())]
        assert (deliveries, priority) == (0, 0)
        yield reopened.close()

    @inlineCallbacks
    def test_what_was_removed_does_not_come_back(self) -> Steps:
        """Before or after it was committed; removing again, or what never was, does nothing."""
        store = self.make_store()
        yield store.recover()
        for number in range(1, 6):
            store.append(_stored(number))
        store.append(_stored(1, queue=b"p"))
        store.remove(b"q", 2)
        yield store.commit()
        for _ in range(2):
            store.remove(b"q", 4)
        yield store.commit()
        store.remove(b"q", 4)
        store.remove(b"q", 1000)
        store.remove(b"unknown", 1)
        yield store.close()
        reopened = self.reopen(store)
        kept = yield reopened.recover()
        assert [(stored.queue, stored.number) for stored in kept] == [(b"p", 1), (b"q", 1), (b"q", 3), (b"q", 5)]
        yield reopened.close()

    @inlineCallbacks
    def test_a_number_may_be_used_again_once_its_message_was_removed(self) -> Steps:
        """A queue that was empty, and forgotten, begins anew; the last word on the number counts."""
        store = self.make_store()
        yield store.recover()
        for number in (1, 2):
            store.append(_stored(number, b"old"))
        yield store.commit()
        for number in (1, 2):
            store.remove(b"q", number)
            store.append(_stored(number, b"new"))
        store.remove(b"q", 2)
        yield store.close()
        reopened = self.reopen(store)
        assert [stored.message.payload for stored in (yield reopened.recover())] == [b"new"]
        yield reopened.close()

    @inlineCallbacks
    def test_a_delivery_is_remembered(self) -> Steps:
        """Of a message that is safe already, and of one that is not. The others are not marked if all ended well."""
        store = self.make_store()
        yield store.recover()
        safe, other, unsafe = (_stored(number) for number in (1, 2, 3))
        store.append(safe)
        store.append(other)
        yield store.commit()
        store.append(unsafe)
        for stored in (safe, unsafe, safe):
            stored.deliveries += 1
            store.delivered(stored)
        yield store.close()
        reopened = self.reopen(store)
        kept = yield reopened.recover()
        assert [(stored.deliveries, stored.is_redelivered) for stored in kept] == [(2, True), (0, False), (1, True)]
        yield reopened.close()

    @inlineCallbacks
    def test_what_was_delivered_and_removed_does_not_come_back(self) -> Steps:
        """Whatever of it was written in between."""
        store = self.make_store()
        yield store.recover()
        first, second = _stored(1), _stored(2)
        store.append(first)
        yield store.commit()
        store.append(second)
        for stored in (first, second):
            stored.deliveries += 1
            store.delivered(stored)
            store.remove(b"q", stored.number)
            store.delivered(stored)
        yield store.close()
        reopened = self.reopen(store)
        assert list((yield reopened.recover())) == []
        yield reopened.close()

    @inlineCallbacks
    def test_everybody_who_waits_for_a_commit_hears_of_it(self) -> Steps:
        """Each has a Deferred of his own, also where there is nothing to write, or no more."""
        store = self.make_store()
        yield store.recover()
        yield store.commit()
        store.append(_stored(1))
        waiting = [store.commit(), store.commit()]
        assert waiting[0] is not waiting[1]
        yield gatherResults(waiting)
        store.append(_stored(2))
        waiting = [store.commit(), store.commit(at_leisure=True)]
        store.append(_stored(3))
        waiting.append(store.commit(at_leisure=True))
        store.remove(b"q", 2)
        store.remove(b"q", 3)
        waiting.append(store.commit())
        yield gatherResults(waiting)
        yield store.close()

    @inlineCallbacks
    def test_what_is_said_together_is_one_change(self) -> Steps:
        """However much it is, and whatever was said before and after."""
        store = self.make_store()
        yield store.recover()
        store.append(_stored(1))
        with store.together():
            store.remove(b"q", 1)
            for number in range(2, 5_000):
                store.append(_stored(number))
        store.append(_stored(5_000))
        yield store.commit()
        crashed = self.crash(store)
        kept = yield crashed.recover()
        assert _numbers(kept) == list(range(2, 5_001))
        yield crashed.close()
        yield store.close()

    @inlineCallbacks
    def test_a_crash_loses_nothing_that_was_committed(self) -> Steps:
        """Nor does it bring back what was removed, and committed. Each message may have been handed out meanwhile, and
        is marked, for as long as it lives."""
        store = self.make_store()
        yield store.recover()
        for number in range(1, 11):
            store.append(_stored(number, b"%d" % number))
        store.remove(b"q", 5)
        yield store.commit()
        for number in (1, 10):
            store.remove(b"q", number)
        yield store.commit()
        crashed = self.crash(store)
        kept = yield crashed.recover()
        assert _numbers(kept) == [2, 3, 4, 6, 7, 8, 9]
        assert [stored.message.payload for stored in kept] == [b"%d" % stored.number for stored in kept]
        assert all(stored.is_redelivered for stored in kept)
        assert not any(stored.deliveries for stored in kept)
        crashed.append(_stored(11))
        yield crashed.close()
        reopened = self.reopen(crashed)
        kept = yield reopened.recover()
        assert [stored.number for stored in kept if stored.is_redelivered] == [2, 3, 4, 6, 7, 8, 9]
        assert _numbers(kept)[-1] == 11
        yield reopened.close()
        yield store.close()
