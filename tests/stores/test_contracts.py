"""Do the stores that come with fmqbus, and the kit's fake, keep the contracts that vendors' stores must keep?"""

from __future__ import annotations

from copy import deepcopy

from fmqbus.interfaces import IMessageStore
from fmqbus.testing.contracts.message_store import MessageStoreContract
from fmqbus.testing.message_store import MemoryMessageStore


class TestMemoryMessageStore(MessageStoreContract):
    """The kit's fake."""

    def make_store(self) -> IMessageStore:
        return MemoryMessageStore()

    def reopen(self, store: IMessageStore) -> IMessageStore:
        assert isinstance(store, MemoryMessageStore)
        return MemoryMessageStore(store.medium)

    def crash(self, store: IMessageStore) -> IMessageStore:
        assert isinstance(store, MemoryMessageStore)
        return MemoryMessageStore(deepcopy(store.medium))
