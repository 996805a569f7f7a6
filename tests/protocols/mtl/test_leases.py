"""Is a lease good for one flow, for a while, and for whoever knows it?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import Overloaded
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.mtl.codec import decode, encode
from fmqbus.protocols.mtl.commands import Lease
from fmqbus.protocols.mtl.leases import Grant, Kind, Leases, new_token

SECONDS = DEFAULT_LIMITS.lease_seconds


def grant(owner: str = "alice", *resources: bytes, kind: Kind = Kind.READER, **more: Any) -> Grant[str]:
    return Grant(owner=owner, kind=kind, profile="topic", resources=frozenset(resources), **more)


def make_leases(**limits: Any) -> Leases[str]:
    return Leases(Limits(**limits))


def test_a_lease_is_of_128_random_bits_or_more_that_can_be_printed() -> None:
    """As a short string. (reading 27)"""
    tokens = {new_token() for _ in range(1000)}
    assert len(tokens) == 1000
    assert {len(token) for token in tokens} == {32}
    for token in tokens:
        assert token.decode().isprintable()
        assert decode(encode(Lease(1, token)), DEFAULT_LIMITS) == Lease(1, token)


def test_a_lease_is_used_once() -> None:
    """It is for one data flow, whoever comes with it. (readings 27 and 30)"""
    leases = make_leases()
    given = grant()
    token = leases.give(given, 0.0)
    assert leases.find(token, 1.0) is given
    assert leases.use(token, 1.0) is given
    assert leases.use(token, 1.0) is None
    assert leases.find(token, 1.0) is None
    assert len(leases) == 0


def test_a_lease_that_was_never_given_is_good_for_nothing() -> None:
    """(reading 27)"""
    leases = make_leases()
    token = leases.give(grant(), 0.0)
    for guess in (b"", b"nope", token[:-1], token + b"x", token.swapcase()):
        assert leases.use(guess, 0.0) is None
    assert len(leases) == 1


def test_a_lease_that_nobody_uses_ends_by_itself() -> None:
    """After a minute, to the moment, whether or not anybody has swept. (reading 27)"""
    leases = make_leases()
    first = leases.give(grant(), 0.0)
    second = leases.give(grant(), 1.0)
    assert leases.find(first, SECONDS - 0.001) is not None
    assert leases.use(first, SECONDS) is None
    assert leases.expire(SECONDS) == 1
    assert len(leases) == 1
    assert leases.use(second, SECONDS) is not None
    assert leases.expire(1e9) == 0


def test_a_new_beginning_revokes_what_was_not_used() -> None:
    """And only one's own. (reading 5)"""
    leases = make_leases()
    mine, other = leases.give(grant(), 0.0), leases.give(grant("bob"), 0.0)
    leases.revoke("alice")
    leases.revoke("alice")
    assert leases.use(mine, 0.0) is None
    assert leases.use(other, 0.0) is not None


def test_a_lease_keeps_what_it_was_given_for() -> None:
    """The profile of that time; any and all where no resources are named. (readings 16 and 19)"""
    leases = make_leases()
    token = leases.give(grant("alice", b"a", b"b", kind=Kind.WRITER, is_confirmed=True), 0.0)
    given = leases.use(token, 0.0)
    assert given == grant("alice", b"a", b"b", kind=Kind.WRITER, is_confirmed=True)
    assert (given.allows(b"a"), given.allows(b"c")) == (True, False)
    assert grant().allows(b"c")


def test_leases_are_bounded_in_all_and_for_each_client() -> None:
    """Those that have ended make room."""
    leases = make_leases(leases=3, leases_per_peer=2)
    mine = leases.give(grant(), 0.0)
    leases.give(grant(), 0.0)
    with pytest.raises(Overloaded):
        leases.give(grant(), 0.0)
    leases.give(grant("bob"), 0.0)
    with pytest.raises(Overloaded):
        leases.give(grant("carol"), 0.0)
    leases.use(mine, 0.0)
    leases.give(grant("carol"), 1.0)
    for owner in ("dave", "dave", "erin"):
        if owner == "dave":
            leases.give(grant(owner), SECONDS)
        else:
            with pytest.raises(Overloaded):
                leases.give(grant(owner), SECONDS)


def test_the_names_that_leases_are_for_are_bounded() -> None:
    """Before there is any connection that could be counted."""
    names = [b"%d" % number * 10 for number in range(10)]
    leases = make_leases(lease_octets=2 * grant("alice", *names).octets)
    tokens = [leases.give(grant("alice", *names), 0.0) for _ in range(2)]
    with pytest.raises(Overloaded):
        leases.give(grant("alice", b"x"), 0.0)
    leases.use(tokens[0], 0.0)
    leases.give(grant("alice", b"x"), 0.0)


@given(st.lists(st.tuples(st.sampled_from("guexr"), st.integers(0, 5), st.floats(0, 40)), max_size=40))
def test_leases_are_as_a_plain_table_would_have_them(steps: list[tuple[str, int, float]]) -> None:
    """However they are given, used, revoked and left to end."""
    leases = make_leases()
    plain: list[tuple[bytes, str, float]] = []
    tokens = [b"none"]
    now = 0.0
    for step, choice, passing in steps:
        owner = "ab"[choice % 2]
        token = tokens[choice % len(tokens)]
        if step == "g":
            tokens.append(leases.give(grant(owner), now))
            plain.append((tokens[-1], owner, now + SECONDS))
        elif step == "u":
            assert (leases.use(token, now) is None) == all(token != known for known, _, _ in plain)
            plain = [row for row in plain if row[0] != token]
        elif step == "r":
            leases.revoke(owner)
            plain = [row for row in plain if row[1] != owner]
        now += passing
        leases.expire(now)
        plain = [row for row in plain if row[2] > now]
        assert len(leases) == len(plain)
        assert all(leases.find(known, now) for known, _, _ in plain)
