"""What can be set for MTL: the table ``[protocols.mtl]``."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from fmqbus.protocols.mtl.presence import PING_SECONDS, SILENT_PINGS
from fmqbus.settings import read_table

_Interval = Annotated[float, msgspec.Meta(ge=0.1, le=3600)]
_DAY_SECONDS = 86_400


class Login(enum.Enum):
    """Whether who opens has to log in, where the bus knows how one does."""

    REQUIRED = "required"
    #: Who does not is what its address makes of it.
    OPTIONAL = "optional"


class MTLSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """MTL at all its listeners. Times are in seconds."""

    #: The only ones there are, each with the name that stands before those of its resources; empty for none. Without
    #: this table there are all that anybody names, and all are the same (reading 4).
    virtual_hosts: dict[str, str] | None = None
    login: Login = Login.REQUIRED
    #: Those that are offered; None is all that are installed.
    profiles: tuple[str, ...] | None = None
    #: A data flow that was told nothing, or said nothing, for so long is due a Ping.
    ping: _Interval = PING_SECONDS
    #: A data flow that leaves so many Pings unanswered has ended (reading 31).
    silent_pings: Annotated[int, msgspec.Meta(ge=1, le=1000)] = SILENT_PINGS
    #: A control session that asks nothing for so long has ended (reading 1).
    idle: Annotated[float, msgspec.Meta(ge=1, le=30 * _DAY_SECONDS)] = 3600.0
    #: Contents that a reader may leave unconfirmed (reading 51).
    reader_window: Annotated[int, msgspec.Meta(ge=1, le=65_536)] = 1_000
    #: Confirmations of what the store has kept gather for so long (reading 48).
    confirm_delay: Annotated[float, msgspec.Meta(ge=0, le=10)] = 0.005


def read_settings(options: Mapping[str, Any]) -> MTLSettings:
    """Raises `ConfigError` with the wrong key."""
    return read_table(MTLSettings, options, "protocols.mtl")
