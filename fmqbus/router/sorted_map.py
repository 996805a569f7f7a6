"""Things in the order of their keys, cheap at both ends and never slow in the middle.

A queue takes from its front and adds at its end a hundred thousand times a second, takes back what a consumer held, and
lets go of what has expired wherever it stands. A deque cannot do the last, a dict is slow at its front and stops
everything when it grows beyond a million, a heap keeps what has gone. So keys and items stand in parallel lists, cut
into blocks: work at an end touches one block, work in the middle finds its block by bisection, and nothing is ever
rearranged as a whole.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import chain
from operator import itemgetter
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Any)
V = TypeVar("V")

#: Keys in a block that has grown at its end; one that has grown in its middle is split at twice as many.
_BLOCK = 256
_first_key = itemgetter(0)


class SortedMap(Generic[K, V]):
    """A map that keeps its keys sorted. Keys are unique."""

    __slots__ = ("_items", "_keys")

    def __init__(self) -> None:
        # blocks in order, none of them empty
        self._keys: list[list[K]] = []
        self._items: list[list[V]] = []

    def __bool__(self) -> bool:
        return bool(self._keys)

    def __len__(self) -> int:
        return sum(map(len, self._keys))

    def __iter__(self) -> Iterator[V]:
        """The items in order; the map must not change meanwhile."""
        return chain.from_iterable(self._items)

    @property
    def first_key(self) -> K:
        """The lowest key; there must be one."""
        return self._keys[0][0]

    def add(self, key: K, item: V) -> None:
        """Add an item under a key that is not there."""
        blocks = self._keys
        if not blocks or key > blocks[-1][-1]:
            if blocks and len(blocks[-1]) < _BLOCK:
                blocks[-1].append(key)
                self._items[-1].append(item)
            else:
                blocks.append([key])
                self._items.append([item])
            return
        block = self._block_of(key)
        keys, items = blocks[block], self._items[block]
        place = bisect_left(keys, key)
        keys.insert(place, key)
        items.insert(place, item)
        if len(keys) > 2 * _BLOCK:
            blocks.insert(block + 1, keys[_BLOCK:])
            self._items.insert(block + 1, items[_BLOCK:])
            del keys[_BLOCK:], items[_BLOCK:]

    def get(self, key: K) -> V | None:
        """The item of this key; None if there is none."""
        if not self._keys:
            return None
        block = self._block_of(key)
        keys = self._keys[block]
        place = bisect_left(keys, key)
        return self._items[block][place] if place < len(keys) and keys[place] == key else None

    def first_from(self, key: K) -> V | None:
        """The item of the lowest key that is not lower than this one; None if there is none."""
        if not self._keys:
            return None
        block = self._block_of(key)
        place = bisect_left(self._keys[block], key)
        if place == len(self._keys[block]):
            block, place = block + 1, 0
        return self._items[block][place] if block < len(self._items) else None

    def peek(self, most: int) -> list[V]:
        """Some of the items of the lowest keys: so many at most, and one at least unless the map is empty."""
        return self._items[0][:most] if self._items else []

    def drop_first(self, count: int) -> None:
        """Take so many of those out that `peek` shows."""
        keys = self._keys[0]
        if count < len(keys):
            del keys[:count], self._items[0][:count]
        else:
            del self._keys[0], self._items[0]

    def discard(self, key: K) -> V | None:
        """Take the item of this key out; None if there is none."""
        if not self._keys:
            return None
        block = self._block_of(key)
        keys = self._keys[block]
        place = bisect_left(keys, key)
        if place == len(keys) or keys[place] != key:
            return None
        del keys[place]
        item = self._items[block].pop(place)
        if not keys:
            del self._keys[block], self._items[block]
        return item

    def _block_of(self, key: K) -> int:
        """The block in which the key stands, or would."""
        blocks = self._keys
        return max(bisect_right(blocks, key, key=_first_key) - 1, 0) if len(blocks) > 1 else 0
