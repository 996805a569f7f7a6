"""May this peer do that? The answer of an ordered list of rules, as an operator writes them.

The first rule that fits decides; if none fits, the policy defers. So an empty list opens nothing, and a rule that
cannot be read never gets here: decoding it fails.

A peer may ask for a pattern, such as ``room/*``. What then is right depends on which way messages go:

- **Towards the peer** (subscribe, watch, consume): whatever the pattern leads to is asked again by its own name before
  the peer gets any of it. The request may therefore pass if a rule allows *some* of the names, and only a rule that
  denies *all* of them stops it.
- **From the peer** (all other actions): a publication under ``room/*`` is for the subscribers of every room, and if it
  is retained or a will, it is kept under just that pattern. The request passes only if a rule allows *all* of the
  names, and a rule that denies *any* of them stops it.

For a name without ``*`` both come to the same.

A rule may also defer: it leaves what it speaks of to the authorizers that are asked next. If that is a part of a
pattern that is asked for, later rules decide only as far as that part does not matter: towards the peer they can still
allow the request, from the peer they can still deny it. Otherwise all of it is left to the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Literal

import msgspec
from zope.interface import implementer

from fmqbus.auth.name_pattern import NamePattern
from fmqbus.auth.rule_index import RuleIndex, RuleSet, first
from fmqbus.auth.who import Who
from fmqbus.interfaces import IAuthorizer
from fmqbus.model import Action, Decision, Principal

#: Actions after which every concrete name is asked again before the peer receives anything.
ASKED_AGAIN = frozenset({Action.SUBSCRIBE, Action.WATCH, Action.CONSUME})

_AtLeastOne = msgspec.Meta(min_length=1)


#: The groups of a policy that has none.
NO_GROUPS: Mapping[str, Sequence[Who]] = MappingProxyType({})


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ``[[rules]]`` or ``[[access.rules]]`` table. Every field must fit for the rule to fit; in a field, any one
    entry."""

    effect: Literal["allow", "deny", "defer"]
    #: Words of `fmqbus.model.Action`, or ``*`` for all.
    actions: Literal["*"] | Annotated[tuple[Action, ...], _AtLeastOne]
    #: See `fmqbus.auth.who.FORMS`.
    who: Annotated[tuple[Who, ...], _AtLeastOne]
    #: Patterns, see `fmqbus.auth.name_pattern`.
    names: Annotated[tuple[NamePattern, ...], _AtLeastOne]
    #: Only for peers of this protocol.
    protocol: str | None = None
    #: Only for peers from there: ``local``, ``remote``, ``address:...``; empty for all.
    origin: tuple[Who, ...] = msgspec.field(default=(), name="from")

    def __post_init__(self) -> None:
        for who in self.origin:
            if who.text.partition(":")[0] not in ("local", "remote", "address"):
                raise ValueError(f"from: {who.text!r} is no place; write local, remote or address:...")

    @property
    def grants_remote(self) -> bool:
        """Tell whether the rule allows anything to anybody on another machine."""
        return (
            self.effect == "allow"
            and any(who.reaches_out for who in self.who)
            and (not self.origin or any(who.reaches_out for who in self.origin))
        )


@implementer(IAuthorizer)
class RulePolicy:
    """Rules as an authorizer, with groups of their own. The first answer about a name takes some microseconds, however
    many rules there are; the router remembers it.

    Rules and groups are exchanged as a whole by `exchange`; call `IRouter.policy_changed` then.
    """

    def __init__(self, rules: Sequence[Rule] = (), groups: Mapping[str, Sequence[Who]] = NO_GROUPS) -> None:
        self.exchange(rules, groups)

    def __repr__(self) -> str:
        return f"<RulePolicy of {len(self.rules)}>"

    def exchange(self, rules: Sequence[Rule], groups: Mapping[str, Sequence[Who]] = NO_GROUPS) -> None:
        """These hold from now on, and no others."""
        self.rules = tuple(rules)
        self._decisions = [Decision(rule.effect) for rule in self.rules]
        self._index = RuleIndex(self.rules, groups)
        self._allowing, self._denying, self._deferring = (
            sum(1 << number for number, rule in enumerate(self.rules) if rule.effect == effect)
            for effect in ("allow", "deny", "defer")
        )

    def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
        """The effect of the first rule that fits."""
        return self.look_up(principal, action, name)[0]

    def look_up(self, principal: Principal, action: Action, name: bytes) -> tuple[Decision, int | None]:
        """As `decide`, with the number of the rule that decided, from 0; None if none fits."""
        about = self._index.about(principal, action)
        if not about:
            return Decision.DEFER, None
        covering, overlapping = self._index.speaking_of(name, principal)
        return self._first(about, covering, overlapping, action in ASKED_AGAIN)

    def _first(
        self, about: RuleSet, covering: RuleSet, overlapping: RuleSet, is_asked_again: bool
    ) -> tuple[Decision, int | None]:
        # where the name has no star, what covers it and what overlaps with it are the same
        allowing = about & self._allowing & (overlapping if is_asked_again else covering)
        denying = about & self._denying & (covering if is_asked_again else overlapping)
        leaving = about & self._deferring & covering
        decides = first(allowing | denying | leaving)
        deferred = first(about & self._deferring & overlapping)
        if decides is None:
            return Decision.DEFER, deferred
        decision = self._decisions[decides]
        # part of it was left to others before
        has_been_left = deferred is not None and deferred < decides
        if has_been_left and (decision is Decision.DENY) is is_asked_again:
            return Decision.DEFER, deferred
        return decision, decides
