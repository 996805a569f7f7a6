"""Does a part keep what `IScheduleStore` promises?"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import attrs
from msgspec.structs import replace
from twisted.internet.defer import Deferred, gatherResults, inlineCallbacks
from zope.interface.verify import verifyObject

from fmqbus.interfaces import IScheduleStore
from fmqbus.model import Message, PeerFacts, Principal, Terms
from fmqbus.schedules.errands import Errand, Order
from fmqbus.schedules.table import Missed, Schedule
from fmqbus.schedules.timing import Cron, Every, Timing

#: A test that waits; pytest-twisted waits for it.
Steps = Generator[Deferred[Any], Any, None]

_FACTS = PeerFacts("memory", is_local=True)
_OWNER = Principal("memory", _FACTS)


def _schedule(
    key: str, payload: bytes = b"x", timing: Timing | None = None, owner: Principal = _OWNER, **fields: Any
) -> Schedule:
    order = Order(Errand(Message(b"q", payload), b"q"), owner)
    return Schedule(key, timing or Every(60), order, fields.pop("due", 1e9), **fields)


def _keys(kept: Sequence[Schedule]) -> list[str]:
    return [schedule.key for schedule in kept]


class ScheduleStoreContract:
    """Derive from this, and say how to make the store, how to open it again, and what a crash leaves."""

    def make_store(self) -> IScheduleStore:
        """Return an empty store, which the test recovers."""
        raise NotImplementedError

    def reopen(self, store: IScheduleStore) -> IScheduleStore:
        """Return a new store over what a closed one has left behind."""
        raise NotImplementedError

    def crash(self, store: IScheduleStore) -> IScheduleStore:
        """Return a new store over what this one would leave behind if the process ended now, without closing."""
        raise NotImplementedError

    def test_it_provides_the_interface(self) -> None:
        """With the signatures that the bus calls."""
        assert verifyObject(IScheduleStore, self.make_store())

    @inlineCallbacks
    def test_a_new_store_holds_nothing(self) -> Steps:
        """And is closed without having been used."""
        store = self.make_store()
        assert list((yield store.recover())) == []
        yield store.close()

    @inlineCallbacks
    def test_a_schedule_comes_back_as_it_was(self) -> Steps:
        """Whatever octets and text it holds, and whoever it is of: his rights hang on all that is known of him."""
        messages = [
            (Message(b"t", b"", retain=True), None),
            (Message("straße/日".encode(), bytes(range(256)) * 300, properties={"ü\0": "\ud800", "": ""}), b"q"),
        ]
        facts = PeerFacts("ssl", "::1", True, ("dns:a", "uri:b"), "ab" * 32, 1000, 100, 4711, 50_000)
        facts = attrs.evolve(facts, curve_key="k" * 40, user="jürgen", groups=frozenset({"a", "c"}))
        owner = Principal("umq", facts, "jürgen\n", frozenset({"b", "a"}))
        terms = Terms(priority=9, time_to_live=0.1, delay=1e9 / 7)
        put = [
            Schedule(
                f"{number} 日\0",
                Every(1.5),
                Order(Errand(message, queue, terms), owner),
                1e9 / 7,
                Missed.ALL,
                10**9,
                True,
            )
            for number, (message, queue) in enumerate(messages)
        ]
        put.append(_schedule("c", timing=Cron("0 3 * * *", "Europe/Stockholm"), missed=Missed.SKIP, due=2e9))
        put.append(_schedule("d" * 255, owner=Principal("memory", PeerFacts("memory"))))
        store = self.make_store()
        yield store.recover()
        for schedule in put:
            store.put(schedule)
        yield store.close()
        reopened = self.reopen(store)
        assert list((yield reopened.recover())) == put
        yield reopened.close()

    @inlineCallbacks
    def test_schedules_come_back_by_key_the_last_word_on_each(self) -> Steps:
        """Whether it was committed in between or not."""
        store = self.make_store()
        yield store.recover()
        for key in ("b", "c", "a", "d"):
            store.put(_schedule(key, b"old"))
        store.put(_schedule("b", b"new"))
        yield store.commit()
        store.put(_schedule("a", b"new", due=5.0))
        store.remove("c")
        store.remove("d")
        store.put(_schedule("d", b"again"))
        for key in ("e", "c"):
            store.put(_schedule(key))
            store.remove(key)
        yield store.close()
        reopened = self.reopen(store)
        kept = yield reopened.recover()
        assert _keys(kept) == ["a", "b", "d"]
        assert [schedule.what.errand.message.payload for schedule in kept] == [b"new", b"new", b"again"]
        yield reopened.close()

    @inlineCallbacks
    def test_to_remove_what_is_not_there_does_nothing(self) -> Steps:
        """Nor does it harm what comes after."""
        store = self.make_store()
        yield store.recover()
        for _ in range(2):
            store.remove("a")
            yield store.commit()
        store.put(_schedule("a"))
        yield store.close()
        reopened = self.reopen(store)
        assert _keys((yield reopened.recover())) == ["a"]
        yield reopened.close()

    @inlineCallbacks
    def test_everybody_who_waits_for_a_commit_hears_of_it(self) -> Steps:
        """Each has a Deferred of his own, also where there is nothing to write."""
        store = self.make_store()
        yield store.recover()
        yield store.commit()
        store.put(_schedule("a"))
        waiting = [store.commit(), store.commit(at_leisure=True), store.commit()]
        assert waiting[0] is not waiting[1]
        yield gatherResults(waiting)
        yield store.close()

    @inlineCallbacks
    def test_a_crash_loses_nothing_that_was_committed(self) -> Steps:
        """Nor does it bring back what was removed, or was different before."""
        store = self.make_store()
        yield store.recover()
        for key in "abcd":
            store.put(_schedule(key))
        yield store.commit()
        store.remove("b")
        moved = replace(_schedule("c"), due=2e9, runs_left=3)
        store.put(moved)
        yield store.commit()
        crashed = self.crash(store)
        kept = yield crashed.recover()
        assert _keys(kept) == ["a", "c", "d"]
        assert kept[1] == moved
        yield crashed.close()
        yield store.close()
