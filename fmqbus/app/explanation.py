"""Why may somebody do something, or why not? Which authorizer decides, by which rule, and what the answer would be
without any rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import attrs

from fmqbus.app.access import AccessPolicy
from fmqbus.app.config import POLICY, RULES
from fmqbus.app.policy_file import text_of_rule
from fmqbus.auth.policy import RulePolicy
from fmqbus.interfaces import IAuthorizer
from fmqbus.model import Action, Decision, Principal

#: The keys above the rules, in the file of each.
_TABLES: Mapping[str, tuple[str, ...]] = {POLICY: ("rules",), RULES: ("access", "rules")}


@attrs.frozen
class Step:
    """What one authorizer says."""

    decision: Decision
    #: As the configuration calls it.
    authorizer: str
    #: Of a rule that said so: its number from 1, where it stands, and how it is written there.
    rule: int | None = None
    file: str | None = None
    line: int | None = None
    text: str = ""


@attrs.frozen
class Explanation:
    """The answer to one question."""

    #: Up to the one that decided; those before it have deferred.
    steps: tuple[Step, ...]
    #: What it would be if no rule had decided, and who would then.
    otherwise: Step | None

    @property
    def is_allowed(self) -> bool:
        """What the bus answers."""
        return bool(self.steps) and self.steps[-1].decision is Decision.ALLOW

    @property
    def decides(self) -> Step | None:
        """None if all defer, which is a no."""
        return self.steps[-1] if self.steps and self.steps[-1].decision is not Decision.DEFER else None


def explain(
    access: AccessPolicy, files: Mapping[str, Path], principal: Principal, action: Action, name: bytes
) -> Explanation:
    """Ask as the bus asks. `files` tells where the policy and the rules stand. What a vendor's authorizer raises comes
    through."""

    def ask(authorizer: str, part: IAuthorizer) -> Step:
        if not isinstance(part, RulePolicy):
            return Step(part.decide(principal, action, name), authorizer)
        decision, number = part.look_up(principal, action, name)
        if number is None:
            return Step(decision, authorizer)
        file = files[authorizer]
        line, text = text_of_rule(file.read_text(), _TABLES[authorizer], number)
        return Step(decision, authorizer, number + 1, str(file), line, text)

    others = {name: part for name, part in access.named.items() if name not in _TABLES}
    return Explanation(tuple(_steps(access.named, ask)), _decisive(_steps(others, ask)))


def _steps(asked: Mapping[str, IAuthorizer], ask: Callable[[str, IAuthorizer], Step]) -> Iterator[Step]:
    for name, part in asked.items():
        step = ask(name, part)
        yield step
        if step.decision is not Decision.DEFER:
            return


def _decisive(steps: Iterator[Step]) -> Step | None:
    return next((step for step in steps if step.decision is not Decision.DEFER), None)
