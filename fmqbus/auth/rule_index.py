"""Which of very many rules fit a request, without looking at each?

A set of rules is an integer: rule number n is bit n. What a rule asks for are three sets, one for each question: which
rules are about this peer, which about this action, which about this name. What all three have in common fits, and its
lowest bit is the first rule. A thousand rules are 125 octets, and to intersect two such sets takes some 50 ns.

- Peers: rules for a proved name or a group are found by that name; all others are asked one by one, once for each
  principal, which is then remembered.
- Names: a tree of the levels of all patterns. At each level there are three ways on at most: that level, ``*``, and the
  peer's own name where a rule has ``{identity}``. Where a request has ``*`` itself, there are two sets: of the rules
  that cover all it means, and of those that overlap with some of it (`fmqbus.auth.name_pattern`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fmqbus import names
from fmqbus.auth.name_pattern import IDENTITY, NamePattern, identity_level
from fmqbus.auth.who import Who
from fmqbus.model import Action, Principal

#: Principals that are remembered; some 250 octets each, and to look anew at one takes some 0.1 ms for 1,000 rules.
_MOST_PRINCIPALS = 16_384

#: Rules as the bits of a number.
RuleSet = int


class _Node:
    """What patterns have in common up to some level."""

    __slots__ = ("ends", "further", "open")

    def __init__(self) -> None:
        self.further: dict[bytes, _Node] = {}
        #: Rules with a pattern that ends here, and with one that goes on by ``**``.
        self.ends: RuleSet = 0
        self.open: RuleSet = 0


class NameTree:
    """The patterns of rules."""

    def __init__(self) -> None:
        self._root = _Node()

    def add(self, pattern: NamePattern, rule: RuleSet) -> None:
        """A rule speaks of these names."""
        node = self._root
        for level in pattern.levels:
            node = node.further.setdefault(level, _Node())
        if pattern.is_open:
            node.open |= rule
        else:
            node.ends |= rule

    def covering(self, asked: Sequence[bytes], identity: bytes | None) -> RuleSet:
        """The rules of which a pattern covers the asked levels."""
        return self._fitting(asked, identity, stars_fit_all=False)

    def overlapping(self, asked: Sequence[bytes], identity: bytes | None) -> RuleSet:
        """The rules of which a pattern overlaps with the asked levels."""
        return self._fitting(asked, identity, stars_fit_all=True)

    def _fitting(self, asked: Sequence[bytes], identity: bytes | None, stars_fit_all: bool) -> RuleSet:
        found: RuleSet = 0
        here = [self._root]
        if asked[0] == names.SERVICE_LEVEL:
            # only what is literally below $ speaks of it
            service = self._root.further.get(names.SERVICE_LEVEL)
            here = [] if service is None else [service]
            asked = asked[1:]
        for level in asked:
            further: list[_Node] = []
            for node in here:
                found |= node.open
                ways = node.further
                if not ways:
                    continue
                if stars_fit_all and level == names.STAR:
                    further += [way for key, way in ways.items() if key != IDENTITY or identity is not None]
                    continue
                ours = [ways.get(names.STAR)]
                if level not in (names.STAR, IDENTITY):  # a level that is so called means nothing else
                    ours.append(ways.get(level))
                if level == identity:
                    ours.append(ways.get(IDENTITY))
                further += filter(None, ours)
            here = further
        for node in here:
            found |= node.open | node.ends
        return found


class RuleLike(Protocol):
    """What is looked at here of a rule."""

    @property
    def actions(self) -> str | tuple[Action, ...]:
        """Or ``*``."""

    @property
    def who(self) -> tuple[Who, ...]:
        """Any one."""

    @property
    def origin(self) -> tuple[Who, ...]:
        """Any one; none for all."""

    @property
    def names(self) -> tuple[NamePattern, ...]:
        """Any one."""

    @property
    def protocol(self) -> str | None:
        """None for all."""


class RuleIndex:
    """Rules by what they ask for. `groups` are those of the policy itself, beside those that peers bring."""

    def __init__(self, rules: Sequence[RuleLike], groups: Mapping[str, Sequence[Who]]) -> None:
        self._all: RuleSet = (1 << len(rules)) - 1
        self._tree = NameTree()
        self._by_action: dict[Action, RuleSet] = dict.fromkeys(Action, 0)
        self._by_protocol: dict[str | None, RuleSet] = {}
        self._by_identity: dict[str, RuleSet] = {}
        self._by_group: dict[str, RuleSet] = {}
        #: Of what has to be asked of each peer: in `_tests` whom a rule is for, in `_origins` from where.
        self._tests: dict[str, tuple[Who, RuleSet]] = {}
        self._origins: dict[str, tuple[Who, RuleSet]] = {}
        self._from_anywhere: RuleSet = 0
        self._groups_of: dict[str, set[str]] = {}
        self._group_tests: list[tuple[Who, str]] = []
        self._known: dict[Principal, RuleSet] = {}
        for number, rule in enumerate(rules):
            self._add(rule, 1 << number)
        for group, members in groups.items():
            for who in members:
                kind, _, name = who.text.partition(":")
                if kind == "identity":
                    self._groups_of.setdefault(name, set()).add(group)
                else:
                    self._group_tests.append((who, group))

    def _add(self, rule: RuleLike, bit: RuleSet) -> None:
        for action in Action if isinstance(rule.actions, str) else rule.actions:
            self._by_action[action] |= bit
        for pattern in rule.names:
            self._tree.add(pattern, bit)
        self._by_protocol[rule.protocol] = self._by_protocol.get(rule.protocol, 0) | bit
        for who in rule.who:
            kind, _, name = who.text.partition(":")
            if kind == "identity":
                self._by_identity[name] = self._by_identity.get(name, 0) | bit
            elif kind == "group":
                self._by_group[name] = self._by_group.get(name, 0) | bit
            else:
                _add_test(self._tests, who, bit)
        for who in rule.origin:
            _add_test(self._origins, who, bit)
        if not rule.origin:
            self._from_anywhere |= bit

    def about(self, principal: Principal, action: Action) -> RuleSet:
        """The rules that are about this peer and this action."""
        known = self._known.get(principal)
        if known is None:
            if len(self._known) >= _MOST_PRINCIPALS:
                self._known.clear()
            known = self._known[principal] = self._about(principal)
        return known & self._by_action[action]

    def _about(self, principal: Principal) -> RuleSet:
        rules: RuleSet = 0
        for who, those in self._tests.values():
            if who.includes(principal):
                rules |= those
        groups = set(principal.groups)
        if principal.identity is not None:
            rules |= self._by_identity.get(principal.identity, 0)
            groups |= self._groups_of.get(principal.identity, set())
        groups.update(group for who, group in self._group_tests if who.includes(principal))
        for group in groups:
            rules |= self._by_group.get(group, 0)
        origins = self._from_anywhere
        for who, those in self._origins.values():
            if who.includes(principal):
                origins |= those
        return rules & origins & (self._by_protocol.get(None, 0) | self._by_protocol.get(principal.protocol, 0))

    def covering(self, asked: Sequence[bytes], principal: Principal) -> RuleSet:
        """The rules that speak of all that is asked for."""
        return self._tree.covering(asked, identity_level(principal.identity))

    def overlapping(self, asked: Sequence[bytes], principal: Principal) -> RuleSet:
        """The rules that speak of some of it."""
        return self._tree.overlapping(asked, identity_level(principal.identity))


def first(rules: RuleSet) -> int | None:
    """The number of the first rule of a set; None if it is empty."""
    return (rules & -rules).bit_length() - 1 if rules else None


def _add_test(tests: dict[str, tuple[Who, RuleSet]], who: Who, bit: RuleSet) -> None:
    _, former = tests.get(who.text, (who, 0))
    tests[who.text] = who, former | bit
