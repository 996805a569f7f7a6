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
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import attrs
import msgspec
from zope.interface import implementer

from fmqbus.auth.name_pattern import NamePattern
from fmqbus.auth.who import Who
from fmqbus.interfaces import IAuthorizer
from fmqbus.model import Action, Decision, Principal

#: Actions after which every concrete name is asked again before the peer receives anything.
ASKED_AGAIN = frozenset({Action.SUBSCRIBE, Action.WATCH, Action.CONSUME})

_AtLeastOne = msgspec.Meta(min_length=1)


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One ``[[access.rules]]`` table. Every field must fit for the rule to fit; in a field, any one entry."""

    effect: Literal["allow", "deny"]
    #: Words of `fmqbus.model.Action`, or ``*`` for all.
    actions: Literal["*"] | Annotated[tuple[Action, ...], _AtLeastOne]
    #: See `fmqbus.auth.who.FORMS`.
    who: Annotated[tuple[Who, ...], _AtLeastOne]
    #: Patterns, see `fmqbus.auth.name_pattern`.
    names: Annotated[tuple[NamePattern, ...], _AtLeastOne]
    #: Only for peers of this protocol.
    protocol: str | None = None

    @property
    def grants_remote(self) -> bool:
        """Tell whether the rule allows anything to anybody on another machine."""
        return self.effect == "allow" and any(who.reaches_out for who in self.who)

    def fits(self, principal: Principal, action: Action, levels: Sequence[bytes]) -> bool:
        """Tell whether this rule decides on the request; `levels` are those of the name or pattern asked for."""
        return (
            (self.actions == "*" or action in self.actions)
            and self.protocol in (None, principal.protocol)
            and any(who.includes(principal) for who in self.who)
            and self._speaks_of(action, levels)
        )

    def _speaks_of(self, action: Action, levels: Sequence[bytes]) -> bool:
        some_are_enough = (self.effect == "allow") == (action in ASKED_AGAIN)
        question = NamePattern.overlaps if some_are_enough else NamePattern.covers
        return any(question(pattern, levels) for pattern in self.names)


@implementer(IAuthorizer)
@attrs.define(eq=False)
class RulePolicy:
    """Rules as an authorizer. Linear in the rules; the router remembers the answers.

    `rules` may be exchanged as a whole; call `IRouter.policy_changed` then.
    """

    rules: Sequence[Rule] = ()

    def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
        """The effect of the first rule that fits."""
        levels = name.split(b"/")
        for rule in self.rules:
            if rule.fits(principal, action, levels):
                return Decision(rule.effect)
        return Decision.DEFER
