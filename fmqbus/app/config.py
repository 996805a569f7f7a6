"""What may stand in the configuration file?

The file is TOML. It is decoded into frozen, typed values, and anything unknown or out of range is an error that
names the file, the line and the key. Nothing here knows which protocols or parts are installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_type_hints

import attrs
import msgspec

from fmqbus.app.config_calls import CallsTable
from fmqbus.app.config_journal import JournalTable
from fmqbus.app.config_logins import SASLTable, UsersTable
from fmqbus.app.config_queues import QueuesTable
from fmqbus.app.config_rules import pattern_of
from fmqbus.app.config_schedules import SchedulesTable
from fmqbus.app.config_text import decode
from fmqbus.auth.policy import Rule
from fmqbus.errors import ConfigError
from fmqbus.limits import Limits
from fmqbus.model import Overflow

LogFormat = Literal["text", "json"]
LOG_FORMATS = get_args(LogFormat)

#: The words in ``access.authorizers`` for the policy file, and for ``[[access.rules]]``.
POLICY, RULES = "policy", "rules"
#: Who is asked, and in which order, if nothing is said.
USUAL_AUTHORIZERS = (POLICY, RULES, "local")

# Counts and sizes are at least one: a bus with room for nothing is a slip. Waits may be zero, and end within a year.
_BOUNDS = {"int": msgspec.Meta(ge=1), "float": msgspec.Meta(ge=0, le=366 * 86_400)}

if TYPE_CHECKING:
    LimitsTable = msgspec.Struct
else:
    #: ``[limits]``: exactly the fields of `Limits`, which stays the one place where they are written down. (Decoded
    #: straight into an attrs class, unknown keys would pass.)
    LimitsTable = msgspec.defstruct(
        "LimitsTable",
        [
            (field.name, Annotated[kind, _BOUNDS[kind.__name__]], field.default)
            for field, kind in zip(attrs.fields(Limits), get_type_hints(Limits).values(), strict=True)
        ],
        frozen=True,
        forbid_unknown_fields=True,
    )


class OutboxRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[[outbox.rules]]``: what subscriptions to patterns equivalent to this one do when an outbox is full."""

    pattern: str
    policy: Overflow

    def __post_init__(self) -> None:
        pattern_of(self.pattern)


class Outbox(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[outbox]``: what happens to publications that wait for a slow subscriber. The first rule that fits decides."""

    policy: Overflow = Overflow.DROP_OLDEST
    rules: tuple[OutboxRule, ...] = ()


class Access(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[access]``: who may do what. If all authorizers defer, the answer is no."""

    #: Asked in this order: ``policy`` for the policy file, ``rules`` for those below, and names of installed
    #: authorizers. None is `USUAL_AUTHORIZERS`.
    authorizers: tuple[str, ...] | None = None
    #: The policy file, see `fmqbus.app.policy_file`.
    policy: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        # Whoever writes down a denial has to be sure that it is looked at.
        if self.authorizers is None:
            return
        if len(set(self.authorizers)) < len(self.authorizers):
            raise ValueError("an authorizer is named twice")
        if (POLICY in self.authorizers) is (self.policy is None):
            raise ValueError(f"name a policy file if {POLICY!r} is one of the authorizers, and only then")

    @property
    def asked(self) -> tuple[str, ...]:
        """Who is asked, in order."""
        return USUAL_AUTHORIZERS if self.authorizers is None else self.authorizers


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file. Without a file, all of this as it stands here."""

    #: ``PROTOCOL:ENDPOINT``, or ``PROTOCOL:`` for its default endpoints; empty means all installed protocols at theirs.
    listen: tuple[str, ...] = ()
    log_format: LogFormat = "text"
    limits_table: LimitsTable = msgspec.field(name="limits", default=LimitsTable())
    outbox: Outbox = Outbox()
    queues: QueuesTable = QueuesTable()
    calls: CallsTable = CallsTable()
    schedules: SchedulesTable = SchedulesTable()
    journal: JournalTable = JournalTable()
    access: Access = Access()
    users: UsersTable = UsersTable()
    sasl: SASLTable = SASLTable()
    #: The name of an installed `fmqbus.interfaces.IRetainedStoreMaker`.
    retained_store: str = "memory"
    #: The name of an installed `fmqbus.interfaces.IMessageStoreMaker`; without one, queues are in memory only.
    message_store: str | None = None
    #: The name of an installed `fmqbus.interfaces.IScheduleStoreMaker`; without one, schedules are in memory only.
    schedule_store: str | None = None
    #: False hides topics below ``$`` from subscriptions that begin with a star.
    wildcards_reach_service: bool = True
    #: The tables of the protocols by name, each checked by its protocol.
    protocols: Mapping[str, Mapping[str, Any]] = {}
    #: The tables of the stores by name, each checked by its store.
    stores: Mapping[str, Mapping[str, Any]] = {}

    @property
    def limits(self) -> Limits:
        """The bounds of the bus."""
        return Limits(**msgspec.structs.asdict(self.limits_table))


def read_config(path: Path) -> Config:
    """Return what the file says. Raises `ConfigError` with the file, and where it can be told the line and the key."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from None
    return _beside(path, parse_config(text, str(path)))


def _beside(path: Path, config: Config) -> Config:
    """A policy file that is named without a folder stands beside the file that names it."""
    access = config.access
    if access.policy is None:
        return config
    policy = str(path.parent / access.policy)
    return msgspec.structs.replace(config, access=msgspec.structs.replace(access, policy=policy))


def parse_config(text: str, origin: str) -> Config:
    """As `read_config`, for text that stands in `origin`."""
    return decode(text, origin, Config)
