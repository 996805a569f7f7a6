"""Does a message pass a filter? (MicroMsg2, Filters)

A filter is some clauses ``property OPERATOR FILTER_VALUE``, all of which must hold (reading 59). Each is one comparison
with one property, so it takes time in proportion to what is compared, whatever is written: nothing in it repeats,
nests or backtracks.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal

import attrs

from fmqbus.errors import Overloaded, PeerError
from fmqbus.limits import Limits
from fmqbus.protocols.micromsg2.properties import Value, parse_value, values_of

#: The longest operator first (reading 60).
_CLAUSE = re.compile(r"\s*+([A-Za-z0-9_-]++)\s*+(>=|<=|!=|[=<>~&])\s*+(.*+)", re.DOTALL)

_Test = Callable[[Value, Value], bool]


def _numbers(compare: Callable[[Decimal, Decimal], bool]) -> _Test:
    """Numbers and dates compare with each other, never with text."""
    return lambda have, want: have.number is not None and compare(have.number, _number(want))


def _texts(compare: Callable[[str, str], bool]) -> _Test:
    """Texts compare with each other, with regard to case, never with a number (reading 60)."""
    return lambda have, want: have.number is None and compare(have.text, want.text)


def _number(value: Value) -> Decimal:
    assert value.number is not None, "tests for numbers are chosen by numbers"
    return value.number


def _contains(have: Value, want: Value) -> bool:
    """By the text of whatever they are (reading 60)."""
    return want.text in have.text


def _negated(test: _Test) -> _Test:
    return lambda have, want: not test(have, want)


_EQUAL_NUMBERS: _Test = _numbers(operator.eq)
_EQUAL_TEXTS: _Test = _texts(operator.eq)

_TESTS_WITH_NUMBER: Mapping[str, _Test] = {
    "=": _EQUAL_NUMBERS,
    "!=": _negated(_EQUAL_NUMBERS),
    "<": _numbers(operator.lt),
    "<=": _numbers(operator.le),
    ">": _numbers(operator.gt),
    ">=": _numbers(operator.ge),
    "&": _contains,
    "~": _negated(_contains),
}
_TESTS_WITH_TEXT: Mapping[str, _Test] = {
    "=": _EQUAL_TEXTS,
    "!=": _negated(_EQUAL_TEXTS),
    "<": _texts(str.startswith),
    ">": _texts(str.endswith),
    "&": _contains,
    "~": _negated(_contains),
}
#: What holds where the property is missing (reading 61).
_TRUE_OF_NOTHING = {"!=", "~"}


@attrs.frozen(slots=True)
class Clause:
    """One condition on one property."""

    #: In lower case.
    name: str
    operator: str
    value: Value
    _test: _Test = attrs.field(repr=False, eq=False)

    def holds(self, values: Mapping[str, Value]) -> bool:
        """Whether it holds of what the properties of a message say."""
        value = values.get(self.name)
        return self.operator in _TRUE_OF_NOTHING if value is None else self._test(value, self.value)


@attrs.frozen(slots=True)
class Filter:
    """Clauses that must all hold; without any, everything passes."""

    clauses: tuple[Clause, ...] = ()

    def passes(self, properties: Mapping[str, str]) -> bool:
        """Whether a message with these properties passes, wherever it came from."""
        return self.holds(values_of(properties))

    def holds(self, values: Mapping[str, Value]) -> bool:
        """The same, of what its properties say."""
        return all(clause.holds(values) for clause in self.clauses)


def parse_filter(texts: Sequence[str], limits: Limits) -> Filter:
    """Read the clauses of a filter. Raises `PeerError` for one that cannot be meant, `Overloaded` for too much."""
    if len(texts) > limits.filter_clauses:
        raise Overloaded(f"more than {limits.filter_clauses} filters", "filter-clauses")
    if sum(map(len, texts)) > limits.filter_octets:
        raise Overloaded(f"filters of more than {limits.filter_octets} octets", "filter-octets")
    return Filter(tuple(map(_parse_clause, texts)))


def _parse_clause(text: str) -> Clause:
    match = _CLAUSE.fullmatch(text)
    if match is None:
        raise PeerError(f"not a filter: {text}", "filter")
    name, written_operator, written_value = match.groups()
    value = parse_value(written_value)
    tests = _TESTS_WITH_TEXT if value.number is None else _TESTS_WITH_NUMBER
    if written_operator not in tests:
        raise PeerError(f"{written_operator} is not for text", "filter")
    return Clause(name.lower(), written_operator, value, tests[written_operator])
