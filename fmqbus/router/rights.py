"""May they do that? What the authorizers say, asked in order, and remembered until the policy changes.

Denials are remembered too: a client that goes on asking for what it may not have must not cost more than one that may.
Who asks is part of the question, and all principals that are equal share the answers. At their bound all of them are
forgotten; what is lost then is time.
"""

from __future__ import annotations

from collections.abc import Sequence

from twisted.logger import Logger

from fmqbus.interfaces import IAuthorizer
from fmqbus.model import Action, Decision, Principal

_log = Logger()


class Rights:
    """The answers of one bus's authorizers."""

    def __init__(self, authorizers: Sequence[IAuthorizer], most: int) -> None:
        """So many answers are remembered."""
        self._authorizers = list(authorizers)
        self._most = most
        # an action's own hash is computed in Python each time, that of its word once
        self._known: dict[tuple[Principal, str, bytes], bool] = {}

    def allow(self, principal: Principal, action: Action, name: bytes) -> bool:
        """See `fmqbus.interfaces.IRouter.authorize`."""
        question = (principal, action.value, name)
        known = self._known.get(question)
        if known is not None:
            return known
        try:
            answer = self._ask(principal, action, name)
        except _HasFailed:
            return False  # and is asked again: perhaps it recovers
        if len(self._known) >= self._most:
            self._known.clear()
        self._known[question] = answer
        return answer

    def forget(self) -> None:
        """The policy has changed."""
        self._known.clear()

    def _ask(self, principal: Principal, action: Action, name: bytes) -> bool:
        for authorizer in self._authorizers:
            try:
                decision = authorizer.decide(principal, action, name)
            except Exception:
                _log.failure("authorizer {authorizer} failed, which counts as no", authorizer=authorizer)
                raise _HasFailed from None
            if decision is not Decision.DEFER:
                return decision is Decision.ALLOW
        return False


class _HasFailed(Exception):
    """An authorizer has raised something."""
