"""When has the bus back what its stores keep?"""

from __future__ import annotations

from twisted.internet.defer import Deferred
from zope.interface import implementer

from fmqbus.errors import StoreFailed
from fmqbus.interfaces import IRetainedStore
from fmqbus.stores.memory import MemoryRetainedStore
from fmqbus.testing.bus import make_router


@implementer(IRetainedStore)
class SlowStore(MemoryRetainedStore):
    """Has it back when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.recovered: Deferred[None] = Deferred()

    def recover(self) -> Deferred[None]:
        return self.recovered


def test_the_bus_is_recovered_once_it_has_started_and_its_store_has_everything_back() -> None:
    """Whoever asks, and whenever, has a Deferred of his own."""
    store, told = SlowStore(), []
    router = make_router(retained=store)
    router.when_recovered().addCallback(lambda _: told.append("before the start"))
    router.startService()
    router.when_recovered().addCallback(lambda _: told.append("after the start"))
    assert told == []
    store.recovered.callback(None)
    assert told == ["before the start", "after the start"]
    router.when_recovered().addCallback(lambda _: told.append("afterwards"))
    assert told[2:] == ["afterwards"]


def test_a_store_that_cannot_give_back_what_it_kept_is_told_to_whoever_asks() -> None:
    """The bus itself goes on; whether to let clients in is not its decision."""
    store, told = SlowStore(), []
    router = make_router(retained=store)
    router.startService()
    for _ in range(2):
        router.when_recovered().addErrback(lambda failure: told.append(failure.value))
    error = StoreFailed("damaged")
    store.recovered.errback(error)
    router.when_recovered().addErrback(lambda failure: told.append(failure.value))
    assert told == [error] * 3
