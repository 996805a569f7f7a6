"""What may stand in ``[stores.sqlite]``?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from fmqbus.limits import MIB
from fmqbus.settings import read_table


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table, checked."""

    #: The database file. It is made if there is none, and its folder too, for the broker's user alone.
    path: Annotated[str, Meta(min_length=1)]
    #: ``full``: a commit is on the disk when it is told. ``normal``: it survives the end of the process, but the last
    #: ones may be lost where the power fails.
    synchronous: Literal["full", "normal"] = "full"
    #: What nobody waits for, or only at leisure, gathers for so long; what is over by then is never written.
    commit_seconds: Annotated[float, Meta(ge=0, le=1)] = 0.005
    #: ... or until it is so much. Only while the disk is busy with the group before may it become more.
    commit_operations: Annotated[int, Meta(ge=1)] = 1_000
    commit_octets: Annotated[int, Meta(ge=1)] = 4 * MIB
    #: What to do with a damaged file: ``refuse`` to start, or ``set-aside`` the file and go on with what is whole.
    damaged: Literal["refuse", "set-aside"] = "refuse"


def parse_options(table: Mapping[str, Any]) -> Options:
    """Raises `ConfigError` naming the key."""
    return read_table(Options, table, "stores.sqlite")
