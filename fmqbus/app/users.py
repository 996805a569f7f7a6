"""How do clients of a bus log in? As its configuration says, by the mechanisms that are installed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fmqbus.app.config import Config
from fmqbus.app.config_logins import USUAL, USUAL_CHECKED
from fmqbus.auth.sasl.logins import Logins
from fmqbus.auth.user_file import read_users
from fmqbus.auth.users import Users
from fmqbus.errors import ConfigError
from fmqbus.interfaces import ISASLMechanism
from fmqbus.transports.facts import host_of


def make_logins(clock: Any, config: Config, installed: Mapping[str, ISASLMechanism]) -> Logins | None:
    """Return how clients log in; None where they do not. Raises `ConfigError`, also for a file of users that cannot be
    used: a bus that does not know its users does not start."""
    wanted = config.sasl.mechanisms
    if wanted is None:
        wanted = USUAL if config.users.file is not None else USUAL_CHECKED if config.users.checkers else ()
    if config.users.checkers:
        checked = _checked(config)
        if checked.name not in wanted:
            raise ConfigError(f"users.checkers: they are for {checked.name}, which sasl.mechanisms does not name")
        installed = {**installed, checked.name: checked}
    mechanisms = [_installed(installed, name) for name in wanted]
    if config.users.file is None:
        for mechanism in mechanisms:
            if mechanism.needs_users:
                raise ConfigError(f"sasl.mechanisms: {mechanism.name} needs users.file")
    users = _users(config)
    if not mechanisms:
        return None
    return Logins(clock, mechanisms, users, config.limits, host_of, config.sasl.passwords_anywhere)


def reload_users(logins: Logins, config: Config) -> None:
    """Read the file again. Who is no longer as he was has to log in anew. Raises `ConfigError`; nothing has changed
    then."""
    logins.exchange_users(_users(config))


def _checked(config: Config) -> ISASLMechanism:
    from fmqbus.auth.sasl.checked import CheckedPlain, make_checkers  # few need what it imports

    try:
        return CheckedPlain(make_checkers(config.users.checkers), config.users.file is not None)
    except ConfigError as error:
        raise ConfigError(f"users.checkers: {error}") from None


def _users(config: Config) -> Users:
    if config.users.file is None:
        return Users()
    try:
        return Users(read_users(Path(config.users.file)))
    except ConfigError as error:
        raise ConfigError(f"users.file: {error}") from None


def _installed(installed: Mapping[str, ISASLMechanism], name: str) -> ISASLMechanism:
    if name not in installed:
        raise ConfigError(f"sasl.mechanisms: {name!r} is not installed (there is: {', '.join(installed) or 'none'})")
    return installed[name]
