"""Who is asked what clients may do, in which order? As the configuration says, and the policy file that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from twisted.logger import Logger

from fmqbus.app.config import POLICY, RULES, Access
from fmqbus.app.plugs import Plugs
from fmqbus.app.policy_file import PolicyFile, read_policy
from fmqbus.auth.policy import Rule, RulePolicy
from fmqbus.errors import ConfigError
from fmqbus.interfaces import IAuthorizer, IBusProtocol

_log = Logger()


class AccessPolicy:
    """The authorizers of one bus, two of which change when it is told to read its files again."""

    def __init__(self, access: Access, plugs: Plugs) -> None:
        """Raises `ConfigError`: a bus that does not know its policy does not start."""
        self._plugs = plugs
        self._asked = access.asked
        self.file = RulePolicy()
        self.rules = RulePolicy()
        #: The groups that the policy file speaks of, and that it does not know itself.
        self.unknown_groups: Sequence[str] = ()
        own = {POLICY: self.file, RULES: self.rules}
        #: By name, in the order in which they are asked.
        self.named: Mapping[str, IAuthorizer] = {
            name: own[name] if name in own else self._installed(name) for name in access.asked
        }
        self._take(access, self._read(access))

    @property
    def authorizers(self) -> Sequence[IAuthorizer]:
        """In the order in which they are asked."""
        return list(self.named.values())

    def reload(self, access: Access) -> bool:
        """Take over rules, and the policy file as it is now; both or neither. False, and the log says why, if the file
        cannot be used, or if others are to be asked from the next start on: then all stays as it was."""
        if access.asked != self._asked:
            # rules that belong to one list of authorizers can open with another what neither configuration would
            _log.error("all rules stay as they were: access.authorizers has changed, which waits for the next start")
            return False
        try:
            file = self._read(access)
        except ConfigError as error:
            _log.error("the policy stays as it was: {error}", error=error)
            return False
        self._take(access, file)
        return True

    def check(self, access: Access) -> None:
        """Raises `ConfigError` for rules that can never be meant."""
        self._check_protocols(access.rules)

    @property
    def may_let_in(self) -> bool:
        """Tell whether anybody on another machine may be allowed anything, as far as that is known from here."""
        is_known = {POLICY, RULES, "local"}.issuperset(self._asked)
        return not is_known or any(rule.grants_remote for rule in (*self.file.rules, *self.rules.rules))

    def _read(self, access: Access) -> PolicyFile | None:
        if access.policy is None:
            return None
        try:
            file, _ = read_policy(Path(access.policy))
            self._check_protocols(file.rules, f"{access.policy}: ")
        except ConfigError as error:
            raise ConfigError(f"access.policy: {error}") from None
        return file

    def _take(self, access: Access, file: PolicyFile | None) -> None:
        self.rules.exchange(access.rules)
        if file is None:
            self.file.exchange(())
        else:
            self.file.exchange(file.rules, file.groups)
        self.unknown_groups = () if file is None else tuple(file.unknown_groups())

    def _check_protocols(self, rules: Sequence[Rule], origin: str = "") -> None:
        """A rule for a misspelt protocol would never fit: harmless if it allows, an open door if it was to deny."""
        known = self._plugs.of(IBusProtocol)
        for name in _protocols(rules):
            if name not in known:
                raise ConfigError(f"{origin}no protocol {name!r} is installed (there is: {', '.join(known)})")

    def _installed(self, name: str) -> IAuthorizer:
        known = self._plugs.of(IAuthorizer)
        if name not in known:
            there = ", ".join(known) or "none"
            raise ConfigError(f"no IAuthorizer {name!r} is installed (there is: {there}); see `fmqbus plugins`")
        found: IAuthorizer = known[name]
        return found


def _protocols(rules: Sequence[Rule]) -> Iterator[str]:
    return (rule.protocol for rule in rules if rule.protocol is not None)
