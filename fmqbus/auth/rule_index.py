"""Which of very many rules fit a request, without looking at each?

A set of rules is an integer: rule number n is bit n. What a rule asks for are three sets, one for each question: which
rules are about this peer, which about this action, which about this name. What all three have in common fits, and its
lowest bit is the first rule. A thousand rules are 125 octets, and to intersect two such sets takes some 50 ns.

- Peers: what a rule asks of them is looked up (`fmqbus.auth.who_table`), once for each principal, which is then
  remembered.
- Names: a tree of the levels of all patterns. At each level there are three ways on at most: that level, ``*``, and the
  peer's own name where a rule has ``{identity}``; such patterns have a tree of their own, so that what is found in the
  other one can be remembered for everybody. Where a request has ``*`` itself, there are two sets: of the rules
  that cover all it means, and of those that overlap with some of it (`fmqbus.auth.name_pattern`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fmqbus import names
from fmqbus.auth.name_pattern import IDENTITY, NamePattern, identity_level
from fmqbus.auth.who import Who
from fmqbus.auth.who_table import WhoTable
from fmqbus.model import Action, Principal

#: Principals, and names, that are remembered; some 500 octets each for 1,000 rules. To look anew takes microseconds.
_MOST_REMEMBERED = 16_384

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

    def fitting(self, asked: Sequence[bytes], identity: bytes | None) -> tuple[RuleSet, RuleSet]:
        """The rules of which a pattern covers the asked levels, and those of which one overlaps with them. Without a
        star they are the same."""
        covering = self._fitting(asked, identity, stars_fit_all=False)
        return covering, self._fitting(asked, identity, stars_fit_all=True) if names.STAR in asked else covering

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
        #: Patterns that mean the same for everybody, and those with the peer's own name in them.
        self._common, self._own = NameTree(), NameTree()
        self._has_own = False
        self._by_action: dict[Action, RuleSet] = dict.fromkeys(Action, 0)
        self._by_protocol: dict[str | None, RuleSet] = {}
        self._whos, self._origins = WhoTable(), WhoTable()
        self._from_anywhere: RuleSet = 0
        #: The rules for each group of the policy, as bits of its own table: members are not known before they ask.
        self._groups = WhoTable()
        self._of_groups: list[RuleSet] = []
        self._principals: dict[Principal, RuleSet] = {}
        self._names: dict[bytes, tuple[RuleSet, RuleSet]] = {}
        for number, rule in enumerate(rules):
            self._add(rule, 1 << number)
        for number, (group, members) in enumerate(groups.items()):
            self._of_groups.append(self._rules_for(group, rules))
            for who in members:
                self._groups.add(who, 1 << number)

    @staticmethod
    def _rules_for(group: str, rules: Sequence[RuleLike]) -> RuleSet:
        word = f"group:{group}"
        return sum(1 << number for number, rule in enumerate(rules) if any(who.text == word for who in rule.who))

    def _add(self, rule: RuleLike, bit: RuleSet) -> None:
        for action in Action if isinstance(rule.actions, str) else rule.actions:
            self._by_action[action] |= bit
        for pattern in rule.names:
            is_own = IDENTITY in pattern.levels
            self._has_own = self._has_own or is_own
            (self._own if is_own else self._common).add(pattern, bit)
        self._by_protocol[rule.protocol] = self._by_protocol.get(rule.protocol, 0) | bit
        for who in rule.who:
            self._whos.add(who, bit)
        for who in rule.origin:
            self._origins.add(who, bit)
        if not rule.origin:
            self._from_anywhere |= bit

    def about(self, principal: Principal, action: Action) -> RuleSet:
        """The rules that are about this peer and this action."""
        known = self._principals.get(principal)
        if known is None:
            if len(self._principals) >= _MOST_REMEMBERED:
                self._principals.clear()
            known = self._principals[principal] = self._about(principal)
        return known & self._by_action[action]

    def _about(self, principal: Principal) -> RuleSet:
        rules = self._whos.bits_of(principal)
        groups = self._groups.bits_of(principal)
        while (number := first(groups)) is not None:
            rules |= self._of_groups[number]
            groups ^= 1 << number
        from_there = self._from_anywhere | self._origins.bits_of(principal)
        return rules & from_there & (self._by_protocol.get(None, 0) | self._by_protocol.get(principal.protocol, 0))

    def speaking_of(self, name: bytes, principal: Principal) -> tuple[RuleSet, RuleSet]:
        """The rules that cover all of what is asked for, and those that overlap with some of it."""
        known = self._names.get(name)
        if known is None:
            if len(self._names) >= _MOST_REMEMBERED:
                self._names.clear()
            known = self._names[name] = self._common.fitting(name.split(b"/"), None)
        identity = identity_level(principal.identity) if self._has_own else None
        if identity is None:
            return known
        own = self._own.fitting(name.split(b"/"), identity)
        return known[0] | own[0], known[1] | own[1]


def first(rules: RuleSet) -> int | None:
    """The number of the first rule of a set; None if it is empty."""
    return (rules & -rules).bit_length() - 1 if rules else None
