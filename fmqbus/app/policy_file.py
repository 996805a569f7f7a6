"""What may stand in a policy file?

TOML: ``[groups]``, and ``[[rules]]`` in the order in which they are asked. Whatever is wrong with it is an error that
names the file, the line and the key: a file that is missing, empty, cut short or open to others is never taken for one
without rules, so that nothing that it denied is ever open for a moment.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import msgspec

from fmqbus.app.config_place import line_of
from fmqbus.app.config_text import decode
from fmqbus.auth.passwords import check_name
from fmqbus.auth.policy import Rule
from fmqbus.auth.who import Who
from fmqbus.errors import ConfigError, LocalError
from fmqbus.guarded_files import read_guarded
from fmqbus.limits import MIB

#: Some 120 octets a rule. The reactor reads it at SIGHUP, 1,000 rules in some 0.1 s, and stands still for so long.
MOST_OCTETS = MIB
#: What does not prove who somebody is, or would lead from group to group.
_NOT_IN_GROUPS = ("*", "local", "remote", "address", "group")

_AtLeastOne = msgspec.Meta(min_length=1)


class PolicyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    #: The first that fits decides. A file without any is cut short.
    rules: Annotated[tuple[Rule, ...], _AtLeastOne]
    #: Members by what they have proved. Users may be in groups of the same names by the file of users as well.
    groups: Mapping[str, Annotated[tuple[Who, ...], _AtLeastOne]] = {}

    def __post_init__(self) -> None:
        for group, members in self.groups.items():
            try:
                check_name(group)
            except LocalError as error:
                raise ValueError(f"group {group!a}: {error}") from None
            for who in members:
                if who.text.partition(":")[0] in _NOT_IN_GROUPS:
                    raise ValueError(f"group {group!a}: {who.text!r} is nobody in particular; write identity:...")

    def unknown_groups(self) -> Iterator[str]:
        """Groups that rules speak of, and that are not here."""
        named = (who.text.partition(":") for rule in self.rules for who in rule.who)
        return (group for group in sorted({name for kind, _, name in named if kind == "group"} - self.groups.keys()))


def read_policy(path: Path) -> tuple[PolicyFile, str]:
    """Return what the file says, and its text. Raises `ConfigError`."""
    octets = read_guarded(path, MOST_OCTETS, _check_status)
    try:
        text = octets.decode()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    return parse_policy(text, str(path)), text


def _check_status(path: Path, status: os.stat_result) -> None:
    if status.st_mode & stat.S_IWOTH:
        raise ConfigError(f"{path}: everybody can change it; chmod o-w {path}")


def parse_policy(text: str, origin: str) -> PolicyFile:
    """As `read_policy`, for text that stands in `origin`."""
    if not text.strip():
        raise ConfigError(f"{origin}: is empty")
    return decode(text, origin, PolicyFile)


def text_of_rule(text: str, table: tuple[str, ...], number: int) -> tuple[int | None, str]:
    """Where a rule stands, and how it is written. `table` are the keys above it; the number is from 0."""
    begin = line_of(text, [*table, number])
    if begin is None:
        return None, ""
    end = line_of(text, [*table, number + 1])
    lines = text.split("\n")[begin - 1 : None if end is None else end - 1]
    written: list[str] = []
    for line in lines:
        if written and line.lstrip().startswith("["):
            break  # the next table
        written.append(line.rstrip())
    while written and (not written[-1].strip() or written[-1].lstrip().startswith("#")):
        written.pop()  # what is said before the next one
    return begin, "\n".join(written)
