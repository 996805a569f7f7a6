"""Who is there, who is due a Ping, and who is lost? Time is an argument."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fmqbus.protocols.mtl.presence import PING_SECONDS, SILENT_PINGS, Presence

SILENCE = PING_SECONDS * SILENT_PINGS


def make(*flows: str) -> Presence[str]:
    presence: Presence[str] = Presence()
    for flow in flows:
        presence.came(flow, 0.0)
    return presence


def test_a_silent_flow_is_pinged_at_intervals() -> None:
    """(MTL, Heartbeating; reading 53)"""
    presence = make("a")
    assert presence.to_ping(PING_SECONDS - 0.1) == ()
    assert presence.to_ping(PING_SECONDS) == ("a",)
    assert presence.to_ping(PING_SECONDS) == ()
    assert presence.to_ping(2 * PING_SECONDS) == ("a",)


def test_who_is_told_something_and_answers_need_not_be_pinged() -> None:
    """Any traffic counts as life, on both sides. (reading 53)"""
    presence = make("a")
    presence.told("a", 5.0)
    presence.heard("a", 5.0)
    assert presence.to_ping(5.0 + PING_SECONDS - 0.1) == ()
    assert presence.to_ping(5.0 + PING_SECONDS) == ("a",)


def test_who_is_told_much_and_says_nothing_is_pinged_all_the_same() -> None:
    """A reader that does not confirm would be taken for dead otherwise. (readings 50 and 53)"""
    presence = make("a")
    now, pinged = 0.0, 0
    while now < 10 * SILENCE:
        now += 1.0
        presence.told("a", now)
        for flow in presence.to_ping(now):
            pinged += 1
            presence.heard(flow, now)
        assert presence.silent(now) == []
    assert pinged == 10 * SILENT_PINGS


def test_who_says_much_and_is_told_nothing_is_pinged_too() -> None:
    """A writer that is not confirmed knows by it that we are there. (reading 53)"""
    presence = make("a")
    presence.heard("a", PING_SECONDS - 1)
    assert presence.to_ping(PING_SECONDS) == ("a",)


def test_who_is_not_heard_for_long_is_there_no_more() -> None:
    """After so many Pings without an answer; it is told once. (reading 31)"""
    presence = make("a", "b")
    presence.heard("b", 1.0)
    assert presence.silent(SILENCE - 0.1) == []
    assert presence.silent(SILENCE) == ["a"]
    assert "a" not in presence
    assert presence.silent(SILENCE + 1.0) == ["b"]
    assert len(presence) == 0
    assert presence.to_ping(1e9) == ()


def test_flows_without_a_lease_cost_nothing() -> None:
    """They are answered, and not remembered. (reading 29)"""
    presence = make()
    presence.heard("a", 0.0)
    presence.told("a", 0.0)
    assert "a" not in presence
    assert presence.to_ping(1e9) == ()


def test_who_has_left_is_neither_pinged_nor_missed() -> None:
    """It may be said again."""
    presence = make("a")
    presence.left("a")
    presence.left("a")
    assert presence.to_ping(1e9) == ()
    assert presence.silent(1e9) == []


def test_the_interval_is_configurable() -> None:
    """(MTL, Heartbeating)"""
    presence: Presence[str] = Presence(ping_seconds=1.0, silent_pings=2)
    presence.came("a", 0.0)
    assert presence.to_ping(1.0) == ("a",)
    assert presence.silent(2.0) == ["a"]


@given(st.lists(st.tuples(st.sampled_from(["heard", "told", "ping"]), st.floats(0, 12)), max_size=60))
def test_nobody_is_lost_who_was_not_pinged_first(steps: list[tuple[str, float]]) -> None:
    """As long as somebody looks often enough. (MTL, Heartbeating)"""
    presence = make("a")
    now = heard_at = 0.0
    pings = 0
    for step, passing in steps:
        now += min(passing, PING_SECONDS)
        pings += len(presence.to_ping(now))
        if presence.silent(now):
            assert now - heard_at >= SILENCE
            assert pings >= 1
            return
        assert now - heard_at < SILENCE
        if step == "heard":
            presence.heard("a", now)
            heard_at, pings = now, 0
        elif step == "told":
            presence.told("a", now)
