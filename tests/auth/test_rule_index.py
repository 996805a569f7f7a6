"""Very many rules, compared with a look at each of them in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from fmqbus.auth.name_pattern import identity_level
from fmqbus.auth.policy import ASKED_AGAIN, NamePattern, Rule, RulePolicy
from fmqbus.auth.who import Who
from fmqbus.model import Action, Decision, PeerFacts, Principal

Effect = Literal["allow", "deny", "defer"]

levels = st.sampled_from(["a", "b", "*", "{identity}"])
patterns = st.builds(
    lambda first, rest, end: NamePattern("/".join([first, *rest, *end])),
    st.sampled_from(["a", "*", "$", "{identity}"]),
    st.lists(levels, max_size=2),
    st.sampled_from([[], ["**"]]),
)
whos = st.sampled_from(
    ["*", "local", "remote", "identity:a", "identity:b", "group:own", "group:theirs", "uid:7", "address:10.0.0.0/8"]
).map(Who)
rules = st.builds(
    Rule,
    st.sampled_from(["allow", "deny", "defer"]),
    st.sampled_from(["*", (Action.PUBLISH,), (Action.SUBSCRIBE, Action.WATCH)]),
    st.lists(whos, min_size=1, max_size=2).map(tuple),
    st.lists(patterns, min_size=1, max_size=2).map(tuple),
    st.sampled_from([None, "fmqp", "umq"]),
    st.sampled_from([(), (Who("local"),), (Who("address:10.1.0.0/16"),)]),
)
principals = st.builds(
    Principal,
    st.sampled_from(["fmqp", "umq"]),
    st.sampled_from(
        [PeerFacts("tcp", "10.1.2.3"), PeerFacts("tcp", "192.0.2.1"), PeerFacts("unix", is_local=True, uid=7)]
    ),
    st.sampled_from([None, "a", "b", "*", "a/b", "$", ""]),
    st.sampled_from([frozenset(), frozenset({"theirs"})]),
)
asked = st.lists(st.sampled_from(["a", "b", "*", "$", "{identity}"]), min_size=1, max_size=3).map("/".join)
GROUPS: Mapping[str, Sequence[Who]] = {"own": (Who("identity:b"), Who("uid:7"))}


def fits(rule: Rule, principal: Principal, action: Action) -> bool:
    """Whether a rule is about such a request, whatever the name."""

    def includes(who: Who) -> bool:
        group = who.text.removeprefix("group:")
        return who.includes(principal) or any(member.includes(principal) for member in GROUPS.get(group, ()))

    return (
        (rule.actions == "*" or action in rule.actions)
        and rule.protocol in (None, principal.protocol)
        and any(map(includes, rule.who))
        and (not rule.origin or any(map(includes, rule.origin)))
    )


def look_at_each(rules: Sequence[Rule], principal: Principal, action: Action, name: bytes) -> Decision:
    """The answer by the plain definition."""
    is_left = False
    own = identity_level(principal.identity)
    for rule in rules:
        if not fits(rule, principal, action):
            continue
        covers = any(pattern.covers(name.split(b"/"), own) for pattern in rule.names)
        overlaps = any(pattern.overlaps(name.split(b"/"), own) for pattern in rule.names)
        towards = action in ASKED_AGAIN
        if rule.effect == "defer":
            if covers:
                return Decision.DEFER
            is_left = is_left or overlaps
        elif overlaps if (rule.effect == "allow") is towards else covers:
            decision = Decision(rule.effect)
            return Decision.DEFER if is_left and (decision is Decision.DENY) is towards else decision
    return Decision.DEFER


@given(st.lists(rules, max_size=8), principals, st.sampled_from(Action), asked)
def test_the_answer_is_that_of_a_look_at_each(
    rules: list[Rule], principal: Principal, action: Action, asked: str
) -> None:
    """Whoever asks, from wherever, for a name or a pattern."""
    policy = RulePolicy(rules, GROUPS)
    expected = look_at_each(rules, principal, action, asked.encode())
    assert policy.decide(principal, action, asked.encode()) is expected
    assert policy.decide(principal, action, asked.encode()) is expected


@given(st.lists(rules, max_size=8), principals, st.sampled_from(Action), asked)
def test_the_rule_that_decided_is_the_first_that_says_so(
    rules: list[Rule], principal: Principal, action: Action, asked: str
) -> None:
    """Its effect is the answer, and without the rules behind it the answer is the same."""
    decision, number = RulePolicy(rules, GROUPS).look_up(principal, action, asked.encode())
    if number is None:
        assert decision is Decision.DEFER
    elif decision is not Decision.DEFER:
        assert rules[number].effect == decision.value
        assert RulePolicy(rules[: number + 1], GROUPS).look_up(principal, action, asked.encode()) == (decision, number)


def test_a_thousand_rules_for_each_name_are_told_apart() -> None:
    """The last of them is found as the first is."""
    rules = [
        Rule("allow", (Action.PUBLISH,), (Who(f"identity:u{number}"),), (NamePattern(f"line/{number % 7}/**"),))
        for number in range(1000)
    ]
    policy = RulePolicy(rules)
    last = Principal("fmqp", PeerFacts("tcp", "10.1.2.3"), "u999")
    assert policy.look_up(last, Action.PUBLISH, b"line/5/a") == (Decision.ALLOW, 999)
    assert policy.look_up(last, Action.PUBLISH, b"line/4/a") == (Decision.DEFER, None)
