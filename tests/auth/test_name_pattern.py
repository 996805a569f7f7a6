"""Patterns of rules, checked against a plain definition over all names of a small world."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.auth.name_pattern import NamePattern
from fmqbus.errors import ConfigError
from fmqbus.names import equivalent

WORLD = [
    b"/".join(levels)
    for length in (1, 2, 3)
    for levels in itertools.product((b"a", b"b", b"$"), *[(b"a", b"b")] * (length - 1))
]

level = st.sampled_from(["a", "b", "*"])
rule_texts = st.builds(
    lambda first, rest, end: "/".join([first, *rest, *end]),
    st.sampled_from(["a", "b", "*", "$"]),
    st.lists(level, max_size=2),
    st.sampled_from([[], ["**"]]),
)
requests = st.lists(level, min_size=1, max_size=3).map(lambda levels: "/".join(levels).encode())


def speaks_of(text: str, name: bytes) -> bool:
    """The definition, by another way: a regular expression over concrete names."""
    if name.split(b"/")[0] == b"$" and not text.startswith("$"):
        return False
    levels = [{"*": "[^/]+", "**": "(/.*)?"}.get(level, re.escape(level)) for level in text.split("/")]
    return re.fullmatch("/".join(levels).replace("/(/.*)?", "(/.*)?"), name.decode()) is not None


@given(rule_texts, st.sampled_from(WORLD))
def test_both_questions_agree_on_a_concrete_name(text: str, name: bytes) -> None:
    """For a name without stars, to cover it and to overlap with it are the same, and as defined."""
    pattern = NamePattern(text)
    levels = name.split(b"/")
    assert pattern.covers(levels) == pattern.overlaps(levels) == speaks_of(text, name)


@given(rule_texts, requests)
def test_a_covered_request_means_only_names_of_the_rule(text: str, request: bytes) -> None:
    """Nothing that a covered pattern stands for lies outside the rule; below ``$`` a first star stands for nothing."""
    if NamePattern(text).covers(request.split(b"/")):
        meant = [name for name in WORLD if equivalent(name, request) and not name.startswith(b"$")]
        assert all(speaks_of(text, name) for name in meant)


@given(rule_texts, requests)
def test_an_overlapping_request_means_some_name_of_the_rule(text: str, request: bytes) -> None:
    """A request overlaps with a rule exactly if some name is meant by both."""
    overlaps = NamePattern(text).overlaps(request.split(b"/"))
    assert overlaps == any(speaks_of(text, name) for name in WORLD if equivalent(name, request))


@pytest.mark.parametrize("text", ["**", "*", "*/**", "*/signals/stop"])
def test_no_broad_pattern_reaches_below_the_service_level(text: str) -> None:
    """Only a literal ``$`` opens ``$``."""
    assert not NamePattern(text).overlaps([b"$", b"signals", b"stop"])


def test_an_open_end_also_stands_for_no_further_level() -> None:
    """``a/**`` speaks of ``a`` itself, and not of ``ab``."""
    pattern = NamePattern("a/**")
    assert pattern.covers([b"a"])
    assert pattern.covers([b"a", b"b", b"c"])
    assert not pattern.covers([b"ab"])


def test_outer_slashes_do_not_matter() -> None:
    """As in topics."""
    assert NamePattern("/a/*/").covers([b"a", b"b"])


@pytest.mark.parametrize("text", ["", "/", "**/a", "a/**/b", "a\0b", "a" * 256])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    """An operator's slip is an error, not a rule that never fits."""
    with pytest.raises(ConfigError):
        NamePattern(text)
