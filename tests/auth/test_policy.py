"""The answers of a list of rules, and of the defaults behind it."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from zope.interface.verify import verifyObject

from fmqbus.auth.defaults import LocalPeers
from fmqbus.auth.name_pattern import NamePattern
from fmqbus.auth.policy import ASKED_AGAIN, Rule, RulePolicy
from fmqbus.auth.who import Who
from fmqbus.interfaces import IAuthorizer
from fmqbus.model import Action, Decision, PeerFacts, Principal

LOCAL = Principal("fmqp", PeerFacts("tcp", "127.0.0.1", is_local=True))
FAR = Principal("fmqp", PeerFacts("tcp", "10.1.2.3"))


def rule(
    effect: Literal["allow", "deny", "defer"],
    *names: str,
    actions: Literal["*"] | tuple[Action, ...] = "*",
    who: str = "*",
    protocol: str | None = None,
) -> Rule:
    """A rule in a line."""
    return Rule(effect, actions, (Who(who),), tuple(map(NamePattern, names)), protocol)


def decide(rules: list[Rule], action: Action, name: bytes, principal: Principal = FAR) -> Decision:
    """The policy's answer."""
    return RulePolicy(rules).decide(principal, action, name)


@pytest.mark.parametrize("authorizer", [RulePolicy(), LocalPeers()])
def test_the_built_in_authorizers_keep_the_contract(authorizer: object) -> None:
    """They are what any vendor's would have to be."""
    verifyObject(IAuthorizer, authorizer)


@given(st.sampled_from(Action), st.sampled_from([b"a", b"$/signals/stop", b"*/*"]), st.sampled_from([LOCAL, FAR]))
def test_no_rules_decide_nothing(action: Action, name: bytes, principal: Principal) -> None:
    """An empty list defers, which is a no unless somebody else says yes."""
    assert decide([], action, name, principal) is Decision.DEFER


def test_the_first_rule_that_fits_decides() -> None:
    """Order is the operator's."""
    rules = [rule("deny", "a/secret"), rule("allow", "a/**")]
    assert decide(rules, Action.PUBLISH, b"a/secret") is Decision.DENY
    assert decide(rules, Action.PUBLISH, b"a/open") is Decision.ALLOW
    assert decide(rules[::-1], Action.PUBLISH, b"a/secret") is Decision.ALLOW


@pytest.mark.parametrize(
    "narrow",
    [
        rule("allow", "a", actions=(Action.SUBSCRIBE,)),
        rule("allow", "a", who="local"),
        rule("allow", "a", protocol="umq"),
        rule("allow", "b"),
    ],
)
def test_every_field_must_fit(narrow: Rule) -> None:
    """A rule that misses in one field does not decide."""
    assert decide([narrow], Action.PUBLISH, b"a") is Decision.DEFER


@pytest.mark.parametrize("action", sorted(ASKED_AGAIN, key=str))
def test_one_may_ask_for_a_pattern_of_which_a_part_is_allowed(action: Action) -> None:
    """What comes of it is asked again by its own name, and there the denied part is denied."""
    rules = [rule("deny", "room/secret"), rule("allow", "room/hall")]
    assert decide(rules, action, b"room/*") is Decision.ALLOW
    assert decide(rules, action, b"room/secret") is Decision.DENY


@pytest.mark.parametrize("action", sorted(ASKED_AGAIN, key=str))
def test_one_may_not_ask_for_a_pattern_of_which_all_is_denied(action: Action) -> None:
    """A denial of the whole stops the request itself."""
    rules = [rule("deny", "room/**"), rule("allow", "**")]
    assert decide(rules, action, b"room/*") is Decision.DENY


@pytest.mark.parametrize("action", sorted(set(Action) - ASKED_AGAIN, key=str))
def test_a_pattern_from_the_peer_needs_all_of_it_allowed(action: Action) -> None:
    """A publication under ``room/*`` reaches every room, so one room's right is not enough."""
    assert decide([rule("allow", "room/hall")], action, b"room/*") is Decision.DEFER
    assert decide([rule("allow", "room/*")], action, b"room/*") is Decision.ALLOW


@pytest.mark.parametrize("action", sorted(set(Action) - ASKED_AGAIN, key=str))
def test_a_pattern_from_the_peer_is_stopped_by_any_denied_part(action: Action) -> None:
    """One denied room makes a publication to all rooms denied."""
    assert decide([rule("deny", "room/secret"), rule("allow", "**")], action, b"room/*") is Decision.DENY


names = st.lists(st.sampled_from([b"a", b"b"]), min_size=1, max_size=3).map(b"/".join)
patterns = st.lists(st.sampled_from(["a", "b", "*"]), min_size=1, max_size=3).map("/".join)
rules = st.builds(rule, st.sampled_from(["allow", "deny", "defer"]), patterns)


@given(st.lists(rules, max_size=5), st.sampled_from(sorted(set(Action) - ASKED_AGAIN, key=str)), patterns, names)
def test_a_pattern_from_the_peer_never_opens_more_than_its_names_do(
    rules: list[Rule], action: Action, pattern: str, name: bytes
) -> None:
    """If a publication under a pattern is allowed, so is one under each name that it stands for."""
    request = NamePattern(pattern)
    if request.covers(name.split(b"/")) and decide(rules, action, pattern.encode()) is Decision.ALLOW:
        assert decide(rules, action, name) is Decision.ALLOW


@given(st.lists(rules, max_size=5), st.sampled_from(sorted(ASKED_AGAIN, key=str)), patterns, names)
def test_asking_for_a_pattern_is_possible_wherever_one_of_its_names_is_allowed(
    rules: list[Rule], action: Action, pattern: str, name: bytes
) -> None:
    """No rule takes away by a star what it gives by name."""
    request = NamePattern(pattern)
    if request.covers(name.split(b"/")) and decide(rules, action, name) is Decision.ALLOW:
        assert decide(rules, action, pattern.encode()) is Decision.ALLOW


@given(st.sampled_from(Action), names)
def test_by_default_local_peers_may_do_all_and_others_are_left_to_others(action: Action, name: bytes) -> None:
    """Deferring is a no, as the defaults are asked last."""
    assert LocalPeers().decide(LOCAL, action, name) is Decision.ALLOW
    assert LocalPeers().decide(FAR, action, name) is Decision.DEFER


@pytest.mark.parametrize(
    ("one", "grants"),
    [
        (rule("allow", "a"), True),
        (rule("allow", "a", who="local"), False),
        (rule("deny", "a"), False),
    ],
)
def test_a_rule_tells_whether_it_grants_anything_elsewhere(one: Rule, grants: bool) -> None:
    """A denial grants nothing, nor does what is for local peers only."""
    assert one.grants_remote is grants
