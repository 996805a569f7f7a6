"""Which stored patterns are equivalent to a given one? (FMQP, section Equivalence of topics)

`TopicIndex` is a tree of levels that branches only where two patterns part: below that, a pattern is a single
leaf, whatever its depth. A million patterns that differ in one level cost one dict with a million entries, not a
million dicts. Patterns with a ``*`` have a tree of their own, so that a concrete name costs one lookup among the
literal ones. Matching is symmetrical: a ``*`` in the question fits every level, a ``*`` in the tree fits every
question. It is iterative, so that depth costs no stack, and it visits no node twice.

Rules of wildcards, once and for all: a wildcard is a whole level, stands for exactly one level, and an empty inner
level (``a//b``) is a level like any other.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Generic, TypeVar, Union

from fmqbus.errors import Overloaded
from fmqbus.names import STAR, is_wild

V = TypeVar("V")


class _Leaf(Generic[V]):
    """One stored pattern with its value."""

    __slots__ = ("pattern", "value")

    def __init__(self, pattern: bytes, value: V) -> None:
        self.pattern = pattern
        self.value = value


#: A branch maps a level to what lies below it; the leaf of a pattern that ends at the branch is under None.
_Branch = dict[bytes | None, Union["_Leaf[V]", "_Branch[V]"]]


class TopicIndex(Generic[V]):
    """Patterns with one value each, which is never None. Lookups by the exact pattern, and by equivalence."""

    __slots__ = ("_count", "_literal", "_wild")

    def __init__(self) -> None:
        self._literal: _Branch[V] = {}
        self._wild: _Branch[V] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def has_wild(self) -> bool:
        """Whether any stored pattern has a wildcard."""
        return bool(self._wild)

    def _root_of(self, pattern: bytes) -> _Branch[V]:
        return self._wild if is_wild(pattern) else self._literal

    def get(self, pattern: bytes) -> V | None:
        """The value stored under exactly this pattern, or None."""
        branch = self._root_of(pattern)
        for level in (*pattern.split(b"/"), None):
            node = branch.get(level)
            if isinstance(node, dict):
                branch = node
            else:
                return node.value if node is not None and node.pattern == pattern else None
        return None

    def set(self, pattern: bytes, value: V) -> None:
        """Store the value under exactly this pattern, in place of a former one."""
        branch, levels, depth = self._root_of(pattern), (*pattern.split(b"/"), None), 0
        while True:
            level = levels[depth]
            node = branch.get(level)
            depth += 1
            if node is None:
                branch[level] = _Leaf(pattern, value)
                self._count += 1
                return
            if isinstance(node, dict):
                branch = node
            elif node.pattern == pattern:
                node.value = value
                return
            else:
                # two patterns share this level: the leaf that was alone moves one level down
                branch[level] = branch = {(*node.pattern.split(b"/"), None)[depth]: node}

    def discard(self, pattern: bytes) -> V | None:
        """Remove exactly this pattern; return its value, or None if it was not stored."""
        branch, path = self._root_of(pattern), []
        for level in (*pattern.split(b"/"), None):
            node = branch.get(level)
            if isinstance(node, dict):
                path.append((branch, level))
                branch = node
            elif node is None or node.pattern != pattern:
                return None
            else:
                del branch[level]
                self._count -= 1
                self._fold(branch, path)
                return node.value
        return None

    @staticmethod
    def _fold(branch: _Branch[V], path: list[tuple[_Branch[V], bytes | None]]) -> None:
        """Undo the branches that no longer part anything: an empty one goes, a lone leaf moves up."""
        for parent, level in reversed(path):
            if len(branch) > 1:
                return
            (only,) = branch.values() or (None,)
            if isinstance(only, dict):
                return
            if only is None:
                del parent[level]
            else:
                parent[level] = only
            branch = parent

    def matching(self, pattern: bytes, budget: int = sys.maxsize) -> Iterator[tuple[bytes, V]]:
        """Yield (pattern, value) of every stored pattern equivalent to this one, in no particular order.

        The index must not change while the iterator is in use. `budget` is how many nodes may be visited: a ``*``
        over a level with a million names visits a million. Raises `Overloaded` beyond it.
        """
        stack: list[tuple[_Leaf[V] | _Branch[V], int]] = [(self._wild, 0)] if self._wild else []
        if is_wild(pattern):
            stack.append((self._literal, 0))
        else:
            value = self.get(pattern)
            if value is not None:
                yield pattern, value
        if not stack:
            return
        levels = pattern.split(b"/")
        total = len(levels)
        while stack:
            if len(stack) > budget:
                raise Overloaded("a wildcard leads to more names than may be visited")
            node, depth = stack.pop()
            budget -= 1
            if not isinstance(node, dict):
                # a leaf at some depth agrees on the levels above; the rest is compared here
                stored = node.pattern.split(b"/")
                if len(stored) == total and all(
                    a == b or a == STAR or b == STAR for a, b in zip(stored[depth:], levels[depth:], strict=True)
                ):
                    yield node.pattern, node.value
            elif depth == total:
                if None in node:
                    stack.append((node[None], depth))
            elif levels[depth] == STAR:
                stack.extend((below, depth + 1) for level, below in node.items() if level is not None)
            else:
                for level in (levels[depth], STAR):
                    below = node.get(level)
                    if below is not None:
                        stack.append((below, depth + 1))

    def __iter__(self) -> Iterator[tuple[bytes, V]]:
        stack: list[_Leaf[V] | _Branch[V]] = [self._literal, self._wild]
        while stack:
            node = stack.pop()
            if isinstance(node, dict):
                stack.extend(node.values())
            else:
                yield node.pattern, node.value
