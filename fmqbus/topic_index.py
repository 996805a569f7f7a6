"""Which stored patterns are equivalent to a given one? (FMQP, section Equivalence of topics)

`TopicIndex` is a tree of levels that branches only where two patterns part: what several share above that place costs
nothing, and below it a pattern is a single leaf, whatever its depth. So there are fewer branches than patterns, and a
million patterns that differ in one level cost one dict with a million entries. Patterns with a ``*`` have a tree of
their own, and a concrete name costs one lookup among the literal ones. Matching is symmetrical: a ``*`` in the
question fits every level, a ``*`` in the tree fits every question. It is iterative, so that depth costs no stack, and
it visits no node twice.

Rules of wildcards, once and for all: a wildcard is a whole level, stands for exactly one level, and an empty inner
level (``a//b``) is a level like any other.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Generic, TypeVar

from fmqbus.errors import Overloaded
from fmqbus.names import STAR, is_wild

V = TypeVar("V")


class _Leaf(Generic[V]):
    """One stored pattern with its value."""

    __slots__ = ("pattern", "value")

    def __init__(self, pattern: bytes, value: V) -> None:
        self.pattern = pattern
        self.value = value


class _Branch(dict[bytes | None, "_Leaf[V] | _Branch[V]"]):
    """Where patterns part: their level at `depth` → what lies below. A pattern that ends here is under None."""

    __slots__ = ("depth", "pattern")

    def __init__(self, depth: int, pattern: bytes) -> None:
        super().__init__()
        self.depth = depth
        #: One that all below agree with on the levels above, whether it is stored any more or not.
        self.pattern = pattern


def _keys(pattern: bytes) -> tuple[bytes | None, ...]:
    """What leads to a pattern: its levels, then its end."""
    return (*pattern.split(b"/"), None)


def _agree(ones: list[bytes], others: list[bytes], start: int, end: int) -> bool:
    """Whether the levels from `start` to before `end` are equivalent."""
    pairs = zip(ones[start:end], others[start:end], strict=True)
    return all(one == other or one == STAR or other == STAR for one, other in pairs)


class TopicIndex(Generic[V]):
    """Patterns with one value each, which is never None. Lookups by the exact pattern, and by equivalence."""

    __slots__ = ("_leaves", "_literal", "_wild")

    def __init__(self) -> None:
        #: All patterns: what is asked for exactly needs no walk through a tree.
        self._leaves: dict[bytes, _Leaf[V]] = {}
        self._literal: _Branch[V] = _Branch(0, b"")
        self._wild: _Branch[V] = _Branch(0, b"")

    def __len__(self) -> int:
        return len(self._leaves)

    @property
    def has_wild(self) -> bool:
        """Whether any stored pattern has a wildcard."""
        return bool(self._wild)

    def _root_of(self, pattern: bytes) -> _Branch[V]:
        return self._wild if is_wild(pattern) else self._literal

    def get(self, pattern: bytes) -> V | None:
        """The value stored under exactly this pattern, or None."""
        leaf = self._leaves.get(pattern)
        return leaf.value if leaf is not None else None

    def set(self, pattern: bytes, value: V) -> None:
        """Store the value under exactly this pattern, in place of a former one."""
        leaf = self._leaves.get(pattern)
        if leaf is not None:
            leaf.value = value
            return
        keys, branch = _keys(pattern), self._root_of(pattern)
        while (node := branch.get(keys[branch.depth])) is not None:
            parting = branch.depth + 1
            if not isinstance(node, _Branch) or node.depth > parting:
                others = _keys(node.pattern)
                end = node.depth if isinstance(node, _Branch) else len(others)
                while parting < end and keys[parting] == others[parting]:
                    parting += 1
            if isinstance(node, _Branch) and node.depth == parting:
                branch = node
            else:
                below: _Branch[V] = _Branch(parting, pattern)
                below[others[parting]] = node
                branch[keys[branch.depth]] = branch = below
        branch[keys[branch.depth]] = self._leaves[pattern] = _Leaf(pattern, value)

    def discard(self, pattern: bytes) -> V | None:
        """Remove exactly this pattern; return its value, or None if it was not stored."""
        leaf = self._leaves.pop(pattern, None)
        if leaf is None:
            return None
        keys, above, branch = _keys(pattern), None, self._root_of(pattern)
        while isinstance(node := branch[keys[branch.depth]], _Branch):
            above, branch = branch, node
        del branch[keys[branch.depth]]
        if above is not None and len(branch) == 1:
            # it parts nothing any more
            (above[keys[above.depth]],) = branch.values()
        return leaf.value

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
            node, agreed = stack.pop()
            budget -= 1
            if not isinstance(node, _Branch):
                stored = node.pattern.split(b"/")
                if len(stored) == total and (agreed >= total or _agree(stored, levels, agreed, total)):
                    yield node.pattern, node.value
                continue
            depth = node.depth
            if depth > total or (depth > agreed and not _agree(node.pattern.split(b"/"), levels, agreed, depth)):
                continue
            if depth < total and levels[depth] == STAR:
                every = ((below, depth + 1) for level, below in node.items() if level is not None)
                stack.extend(islice(every, budget - len(stack) + 1))  # one too many is enough to know
                continue
            for level in (None,) if depth == total else (levels[depth], STAR):
                below = node.get(level)
                if below is not None:
                    stack.append((below, depth + 1))

    def __iter__(self) -> Iterator[tuple[bytes, V]]:
        return ((leaf.pattern, leaf.value) for leaf in self._leaves.values())
