"""What is a name, and when are two equivalent? (FMQP, section Topics)"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus import names
from fmqbus.errors import InvalidName

#: Few levels, so that they meet often; whatever is odd about a level is among them.
NAMES = st.lists(st.sampled_from((b"a", b"b", b"*", b"", b"a*", b"**", b"$")), min_size=1, max_size=5).map(b"/".join)


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b"home", b"home"),
        (b"/home/", b"home"),
        (b"//home/room//", b"home/room"),
        (b"a//b", b"a//b"),
        (b" ", b" "),
        (b"*", b"*"),
        ("straße".encode(), "straße".encode()),
        (b"/" * 300 + b"a" * 255 + b"/" * 300, b"a" * 255),
    ],
)
def test_a_name_is_kept_without_its_outer_slashes(raw: bytes, name: bytes) -> None:
    """All of them go, at both ends (reading 9); inner empty levels stay (reading 10)."""
    assert names.parse(raw) == name


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "topic-empty"),
        (b"/", "topic-empty"),
        (b"////", "topic-empty"),
        (b"a\0b", "topic-nul"),
        (b"\0", "topic-nul"),
        (b"\xff", "topic-utf8"),
        (b"a/\xc3", "topic-utf8"),
        (b"\xed\xa0\x80", "topic-utf8"),
        (b"\xc0\xaf", "topic-utf8"),
        (b"a" * 256, "topic-long"),
    ],
)
def test_what_breaks_the_rules_is_refused_with_the_reason(raw: bytes, reason: str) -> None:
    """Surrogates and overlong forms are not UTF-8 either (readings 6 to 8)."""
    with pytest.raises(InvalidName) as error:
        names.parse(raw)
    assert error.value.reason == reason


@given(st.binary(max_size=300))
def test_a_parsed_name_parses_to_itself(raw: bytes) -> None:
    """Whatever octets come: either a name in its one form, or `InvalidName`."""
    try:
        name = names.parse(raw)
    except InvalidName:
        return
    assert names.parse(name) == name
    assert 0 < len(name) <= names.MAX_OCTETS
    assert names.from_text(names.to_text(name)) == name


def test_a_name_given_as_text_keeps_the_same_rules() -> None:
    """A lone surrogate, which has no octets, too."""
    assert names.from_text("/straße/*/") == "straße/*".encode()
    for text in ("", "/", "a\0", "\ud800", "ß" * 128):
        with pytest.raises(InvalidName):
            names.from_text(text)


@pytest.mark.parametrize("name", [b"*", b"a/*", b"*/a", b"a/*/b"])
def test_a_star_that_is_a_whole_level_makes_a_name_wild(name: bytes) -> None:
    """Wherever it stands."""
    assert names.is_wild(name)


@pytest.mark.parametrize("name", [b"a", b"a*", b"*a/b", b"a/**", b"a/*b/c"])
def test_a_star_inside_a_level_is_literal(name: bytes) -> None:
    """As reading 11 has it."""
    assert not names.is_wild(name)


@pytest.mark.parametrize(
    ("name", "is_service"), [(b"$", True), (b"$/a", True), (b"$a/b", False), (b"a/$", False), (b"*/a", False)]
)
def test_a_service_name_has_exactly_the_dollar_as_its_first_level(name: bytes, is_service: bool) -> None:
    """As reading 40 has it."""
    assert names.is_service(name) is is_service


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (b"home/living-space/living-room1/temperature", b"home/living-space/living-room1/*"),
        (b"home/living-space/living-room1/temperature", b"*/*/*/*"),
        (b"home/*/living-room1/temperature", b"*/living-space/living-room1/temperature"),
        (b"a//b", b"a/*/b"),
        (b"$/a", b"*/a"),
    ],
)
def test_names_are_equivalent_where_each_level_is_equal_or_a_star(one: bytes, other: bytes) -> None:
    """FMQP, section Equivalence of topics."""
    assert names.equivalent(one, other)


@pytest.mark.parametrize(
    ("one", "other"), [(b"a", b"b"), (b"a/b", b"a"), (b"a//b", b"a/b"), (b"a*", b"ab"), (b"*", b"a/b")]
)
def test_names_differ_in_any_level_or_in_their_number(one: bytes, other: bytes) -> None:
    """A star is one level, never none, never two."""
    assert not names.equivalent(one, other)


@given(NAMES, NAMES)
def test_equivalence_is_symmetric_and_every_name_is_its_own_equal(one: bytes, other: bytes) -> None:
    """But it is not transitive, so there is no third property."""
    assert names.equivalent(one, one)
    assert names.equivalent(one, other) == names.equivalent(other, one)
    assert names.equivalent(b"a", b"*")
    assert names.equivalent(b"*", b"b")
    assert not names.equivalent(b"a", b"b")


@given(NAMES, NAMES, NAMES)
def test_two_equivalent_names_meet_in_the_widest_name_below_both(one: bytes, other: bytes, third: bytes) -> None:
    """It is equivalent to both, the same from either side, and a concrete name that both match matches it too."""
    if not names.equivalent(one, other):
        return
    meeting = names.meet(one, other)
    assert meeting == names.meet(other, one)
    assert names.meet(meeting, one) == names.meet(meeting, other) == meeting
    if not names.is_wild(third):
        matches_both = names.equivalent(third, one) and names.equivalent(third, other)
        assert names.equivalent(third, meeting) == matches_both


@pytest.mark.parametrize(
    ("after", "most", "page"),
    [
        (b"", None, [b"a", b"b", b"c"]),
        (b"", 2, [b"a", b"b"]),
        (b"a", None, [b"b", b"c"]),
        (b"a", 1, [b"b"]),
        (b"bb", 5, [b"c"]),
        (b"c", 5, []),
    ],
)
def test_a_page_begins_behind_the_last_of_the_one_before(after: bytes, most: int | None, page: list[bytes]) -> None:
    """So that no name is on two, whether or not the last one is still there."""
    assert names.page([b"c", b"a", b"b"], after, most) == page


def test_of_several_rules_the_first_that_fits_decides() -> None:
    """And where none does, what is said otherwise."""
    rules = [(b"a/*", 1), (b"a/b", 2), (b"*", 3)]
    assert [names.first_fit(rules, name, 0) for name in (b"a/b", b"b", b"b/b")] == [1, 3, 0]
