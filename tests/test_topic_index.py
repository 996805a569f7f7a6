"""Does the index find just what comparing every stored pattern would find, and how much does it look at for it?"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fmqbus import names
from fmqbus.errors import Overloaded
from fmqbus.topic_index import TopicIndex

LEVELS = st.sampled_from((b"a", b"b", b"*", b"", b"a*"))
PATTERNS = st.lists(LEVELS, min_size=1, max_size=5).map(b"/".join)


class IndexMachine(RuleBasedStateMachine):
    """The index beside a plain dict."""

    def __init__(self) -> None:
        super().__init__()
        self.index: TopicIndex[int] = TopicIndex()
        self.plain: dict[bytes, int] = {}

    @rule(pattern=PATTERNS, value=st.integers())
    def set(self, pattern: bytes, value: int) -> None:
        self.index.set(pattern, value)
        self.plain[pattern] = value

    @rule(pattern=PATTERNS)
    def discard(self, pattern: bytes) -> None:
        assert self.index.discard(pattern) == self.plain.pop(pattern, None)

    @rule(pattern=PATTERNS)
    def get(self, pattern: bytes) -> None:
        assert self.index.get(pattern) == self.plain.get(pattern)

    @rule(pattern=PATTERNS)
    def match(self, pattern: bytes) -> None:
        found = list(self.index.matching(pattern))
        assert len(found) == len(dict(found)), "each pattern is found once"
        assert dict(found) == {p: value for p, value in self.plain.items() if names.equivalent(p, pattern)}

    @invariant()
    def the_same_is_stored(self) -> None:
        assert dict(self.index) == self.plain
        assert len(self.index) == len(self.plain)
        assert bool(self.index) is bool(self.plain)
        assert self.index.has_wild is any(map(names.is_wild, self.plain))


IndexMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
TestTheIndexAgainstADict = IndexMachine.TestCase


@given(st.lists(PATTERNS, unique=True))
def test_an_index_from_which_everything_was_taken_holds_nothing(patterns: list[bytes]) -> None:
    """Not even empty branches: they would add up over the years."""
    index: TopicIndex[bool] = TopicIndex()
    for pattern in patterns:
        index.set(pattern, True)
    for pattern in patterns[::-1]:
        index.discard(pattern)
    assert list(_branches(index)) == []


def _branches(index: TopicIndex[bool]) -> Iterator[object]:
    """What the index is made of, roots aside; the one test that looks inside."""
    stack = [*index._literal.values(), *index._wild.values()]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, dict):
            stack += node.values()


def test_a_concrete_name_is_found_without_a_look_at_other_concrete_ones() -> None:
    """However many there are; a budget of nothing at all is enough."""
    index: TopicIndex[int] = TopicIndex()
    for number in range(1000):
        index.set(b"a/%d" % number, number)
    assert list(index.matching(b"a/500", budget=0)) == [(b"a/500", 500)]
    assert list(index.matching(b"b/500", budget=0)) == []


def test_a_star_looks_at_what_lies_below_it_and_no_more() -> None:
    """Other branches cost nothing, however full they are."""
    index: TopicIndex[int] = TopicIndex()
    for number in range(10):
        index.set(b"few/%d" % number, number)
    for number in range(10_000):
        index.set(b"many/%d" % number, number)
    assert len(list(index.matching(b"few/*", budget=20))) == 10
    with pytest.raises(Overloaded):
        list(index.matching(b"many/*", budget=1000))


def test_a_star_beyond_its_budget_is_refused_before_the_memory_is_spent() -> None:
    """A level with very many names is not first copied."""
    index: TopicIndex[int] = TopicIndex()
    for number in range(20_000):
        index.set(b"%d/x" % number, number)
    tracemalloc.start()
    try:
        with pytest.raises(Overloaded):
            next(index.matching(b"*/x", budget=10))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("levels_shared", [1, 120])
def test_a_pattern_costs_the_same_however_much_it_shares_with_another(levels_shared: int) -> None:
    """Or one client's subscriptions, 120 levels deep in pairs, would take gigabytes."""
    pairs = 500
    tracemalloc.start()
    try:
        index: TopicIndex[int] = TopicIndex()
        for number in range(pairs):
            shared = b"%d/" % number + b"a/" * (levels_shared - 1)
            index.set(shared + b"x", 1)
            index.set(shared + b"y", 1)
        assert tracemalloc.get_traced_memory()[0] / (2 * pairs) < 1000
    finally:
        tracemalloc.stop()


def test_the_deepest_names_cost_no_stack() -> None:
    """255 octets can have 128 levels; all of them stars, or none."""
    index: TopicIndex[str] = TopicIndex()
    stars, letters = b"/".join([b"*"] * 128), b"/".join([b"a"] * 128)
    index.set(stars, "stars")
    index.set(letters, "letters")
    index.set(letters[:-1] + b"b", "other")
    assert {value for _, value in index.matching(letters)} == {"stars", "letters"}
    assert {value for _, value in index.matching(stars)} == {"stars", "letters", "other"}
