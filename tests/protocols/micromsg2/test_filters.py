"""Which messages pass a filter? (MicroMsg2, Filters)"""

from __future__ import annotations

import time
from contextlib import suppress

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import BusError, Overloaded, PeerError
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.micromsg2.filters import parse_filter
from fmqbus.protocols.micromsg2.properties import to_bus

MESSAGE = to_bus(b"age:N42;weight:N-0.5;when:D1413198000.5;who:THello%20world;plain:jonas;digits:T42;Empty:T")


def passes(*clauses: str) -> bool:
    return parse_filter(clauses, DEFAULT_LIMITS).passes(MESSAGE)


@pytest.mark.parametrize(
    ("clause", "holds"),
    [
        ("age=N42", True),
        ("age=N42.0", True),
        ("age=N41", False),
        ("age!=N42", False),
        ("age!=N41", True),
        ("age<N43", True),
        ("age<N42", False),
        ("age<=N42", True),
        ("age<=N41.9", False),
        ("age>N41.99999999999999999999", True),
        ("age>N42", False),
        ("age>=N42", True),
        ("age>=N43", False),
        ("weight<N0", True),
        ("weight>N-1", True),
    ],
)
def test_numbers_compare_as_numbers(clause: str, holds: bool) -> None:
    """Reading 60; ``>=`` is accepted, although the table does not have it."""
    assert passes(clause) is holds


@pytest.mark.parametrize(
    ("clause", "holds"),
    [
        ("when=D1413198000.5", True),
        ("when>D1413198000", True),
        ("when<=D1413198000.4", False),
        ("when<N1413198001", True),
    ],
)
def test_dates_compare_as_numbers(clause: str, holds: bool) -> None:
    """Reading 62."""
    assert passes(clause) is holds


@pytest.mark.parametrize(
    ("clause", "holds"),
    [
        ("who=THello%20world", True),
        ("who=Thello%20world", False),
        ("who=THello", False),
        ("who!=THello", True),
        ("who!=THello%20world", False),
        ("who<THello", True),
        ("who<Tworld", False),
        ("who>Tworld", True),
        ("who>THello", False),
        ("who&To%20w", True),
        ("who&TO", False),
        ("who~TO", True),
        ("who~To", False),
        ("plain=jonas", True),
        ("plain<jo", True),
        ("empty=T", True),
        ("who&T", True),
    ],
)
def test_texts_compare_with_regard_to_case(clause: str, holds: bool) -> None:
    """MicroMsg2, Filtering operators: ``<`` is starts with, ``>`` ends with, ``&`` contains, ``~`` does not."""
    assert passes(clause) is holds


@pytest.mark.parametrize(
    ("clause", "holds"),
    [
        ("age=T42", False),
        ("age<T4", False),
        ("age>T2", False),
        ("age!=T42", True),
        ("digits=N42", False),
        ("digits>N1", False),
        ("digits!=N42", True),
        ("age&T2", True),
        ("age&N4", True),
        ("age~T5", True),
        ("digits&N42", True),
    ],
)
def test_a_text_is_no_number_but_either_contains_text(clause: str, holds: bool) -> None:
    """Reading 60: ``~`` and ``&`` look at the text of whatever it is; else a text filter never matches a number."""
    assert passes(clause) is holds


@pytest.mark.parametrize(
    ("operator", "holds"),
    [("=", False), ("<", False), (">", False), ("&", False), ("!=", True), ("~", True)],
)
def test_of_a_missing_property_only_negations_hold(operator: str, holds: bool) -> None:
    """Reading 61, for texts and numbers alike."""
    assert passes(f"missing{operator}Tx") is holds
    assert passes(f"missing{operator}N1") is holds


def test_all_clauses_must_hold() -> None:
    """Reading 59; without any, everything passes."""
    assert passes("age>N1", "who&Tworld")
    assert not passes("age>N1", "who&Tmoon")
    assert passes()


@pytest.mark.parametrize("clause", ["age>=N42", " age >= N42", "AGE>=N42", "age\t>=N42"])
def test_names_are_compared_without_regard_to_case_and_spaces_do_not_matter(clause: str) -> None:
    """Reading 10."""
    assert passes(clause)


@pytest.mark.parametrize("clause", ["", "age", "=N1", "age N1", "a b=N1", "ä=N1", "a%=N1"])
def test_what_is_no_clause_is_refused(clause: str) -> None:
    """Reading 59."""
    with pytest.raises(PeerError):
        passes(clause)


@pytest.mark.parametrize("operator", ["<=", ">="])
def test_operators_that_text_does_not_have_are_refused(operator: str) -> None:
    """MicroMsg2, Filtering operators: not used for text."""
    with pytest.raises(PeerError):
        passes(f"who{operator}THello")


def test_messages_of_other_protocols_are_filtered_alike() -> None:
    """What looks like a number is one."""
    adult = parse_filter(["age>=N18", "who<Tjo"], DEFAULT_LIMITS)
    assert adult.passes({"Age": "42", "who": "jonas"})
    assert not adult.passes({"age": "7", "who": "jonas"})
    assert not adult.passes({})


# limits


def test_clauses_and_octets_are_limited() -> None:
    """`Limits.filter_clauses`, `Limits.filter_octets`: before any is read."""
    limits = attrs.evolve(DEFAULT_LIMITS, filter_clauses=2, filter_octets=10)
    parse_filter(["a=N1", "b=N1"], limits)
    parse_filter(["abc=TXYZ12"], limits)
    for too_much in (["a=N1", "b=N1", "c=N1"], ["abc=TXYZ123"], ["a=N1", "b=N2345"], 10_000 * [""]):
        with pytest.raises(Overloaded):
            parse_filter(too_much, limits)


def test_the_worst_filter_takes_time_in_proportion() -> None:
    """What makes searching slow elsewhere: many near misses in the longest properties there are."""
    properties = to_bus(b"p:T" + 65_000 * b"a")
    clause = f"p~T{60 * 'a'}b{60 * 'a'}"
    worst = parse_filter(DEFAULT_LIMITS.filter_clauses * [clause], DEFAULT_LIMITS)
    began = time.process_time()
    assert worst.passes(properties)
    assert time.process_time() - began < 1


@given(st.text(max_size=40) | st.lists(st.sampled_from([*"aN1T=<>!~&%;: \t\n\0"])).map("".join))
def test_any_text_is_a_filter_or_refused(clause: str) -> None:
    """Nothing else may come of it."""
    with suppress(BusError):
        parse_filter([clause], DEFAULT_LIMITS).passes(MESSAGE)
