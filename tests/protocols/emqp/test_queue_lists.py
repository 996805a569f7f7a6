"""Which queues does an INFORM name? (eMQP, INFORM of a worker)"""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import PeerError
from fmqbus.protocols.emqp.queue_lists import (
    MOST_QUEUES,
    MOST_WEIGHT,
    Weighted,
    parse_queue,
    parse_queues,
    write_queues,
)

DEFAULT = (Weighted(10, b"default"),)
EMAIL_FIRST = (Weighted(40, b"email"), Weighted(10, b"default"))


@pytest.mark.parametrize("octets", [b"", b" ", b"[]", b'[[10, "default"]]', b"default", b'["default"]', b'[[10, ""]]'])
def test_no_queue_is_the_default_one(octets: bytes) -> None:
    """An empty queue part is ``[[10, "default"]]``. (reading 34)"""
    assert parse_queues(octets) == DEFAULT


@pytest.mark.parametrize(
    "octets",
    [
        b'[[40, "email"], [10, "default"]]',
        b'[[10, "default"], [40, "email"]]',
        b"[40, 'email'], [10, 'default']",
        b"[40,'email'],[10,'default']",
        b'[40, "email"], "default"'.replace(b', "default"', b", [10, 'default']"),
        b"[[40, 'email'], [10, 'default']]",
        b'[[40, "email"], "default"]',
        b'[[40, "email"], [5, "default"], [10, "default"]]',
    ],
)
def test_weights_and_names_are_read_in_every_dialect(octets: bytes) -> None:
    """JSON pairs, the specification's arrays. The highest weight comes first. (eMQP, Worker; reading 3)"""
    assert parse_queues(octets) == EMAIL_FIRST


def test_names_alone_have_the_default_weight() -> None:
    """As CSV or as JSON; their order stays. (readings 3 and 4)"""
    names = (Weighted(10, b"b"), Weighted(10, b"a"))
    assert parse_queues(b"b, a") == names
    assert parse_queues(b'["b", "a"]') == names


@pytest.mark.parametrize(
    "octets",
    [
        b"[[",
        b"[1]",
        b"[[1, 2]]",
        b'[["email", 40]]',
        b'[[true, "x"]]',
        b'[[1.5, "x"]]',
        b'[[1, "x", 2]]',
        b"[40, 'email'] [10, 'x']",
        b"[40, 'email'",
        b"{'a': 1}",
        b'{"a": 1}',
        b"[" * 100_000,
        b'[[1, "*"]]',
        b"$/signals/stop",
        b'[[1, "a/*/b"]]',
        b'[[1, "\\u0000"]]',
        b'[[1, "\\ud800"]]',
        b'[[1, "' + b"x" * 256 + b'"]]',
    ],
)
def test_what_is_no_list_of_queues_is_refused(octets: bytes) -> None:
    """No ACK then. EventMQ's broker ends itself over some of these. (reading 3)"""
    with pytest.raises(PeerError):
        parse_queues(octets)


def test_weights_are_cut_to_what_anybody_means() -> None:
    """Their number decides what it costs to find the highest. (reading 4)"""
    queues = parse_queues(b'[[99999999999, "x"], [-99999999999, "y"]]')
    assert queues == (Weighted(MOST_WEIGHT, b"x"), Weighted(-MOST_WEIGHT, b"y"))


def test_there_are_only_so_many() -> None:
    """Each is a consumer, made in the turn of the INFORM."""
    octets = b",".join(b"%d" % number for number in range(MOST_QUEUES))
    assert len(parse_queues(octets)) == MOST_QUEUES
    with pytest.raises(PeerError):
        parse_queues(octets + b",x")


def test_a_queue_is_known_by_its_name_on_the_bus() -> None:
    """Outer slashes do not count; none is the default."""
    assert parse_queue(b"/orders/new/") == b"orders/new"
    assert parse_queue(b"") == b"default"


@given(
    st.lists(
        st.builds(Weighted, st.integers(0, 100), st.sampled_from([b"a", b"b/c", "ö".encode(), b"d'e", b"[f"])),
        min_size=1,
        unique_by=lambda one: one.queue,
    )
)
def test_what_is_written_is_read_as_the_same(queues: list[Weighted]) -> None:
    """Sorted by weight."""
    assert parse_queues(write_queues(queues)) == tuple(sorted(queues, key=lambda one: -one.weight))


@given(st.text(alphabet="[]'\", 0123456789ab{}:-", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing else is raised, whatever it looks like."""
    with suppress(PeerError):
        parse_queues(text.encode())
