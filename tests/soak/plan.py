"""What happens to whom, and when? All of it is chosen beforehand, by a seed."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from random import Random
from typing import NamedTuple


class What(enum.Enum):
    """What can happen."""

    #: To a member: SIGKILL, and another in his place; SIGTERM, and another in his place; SIGSTOP, and SIGCONT.
    KILL = "kill"
    GO = "go"
    STALL = "stall"
    WAKE = "wake"
    #: To the broker: SIGHUP; SIGTERM or SIGKILL, and another over the same file.
    RELOAD = "reload"
    RESTART = "restart"
    CRASH = "crash"


class Deed(NamedTuple):
    """One thing that happens."""

    #: Seconds since the beginning.
    at: float
    what: What
    #: Empty for the broker.
    place: str = ""


#: When brokers end, as shares of the whole time: the first lives long, so that its memory can be looked at.
RESTART_AT, CRASH_AT = 0.65, 0.85
_RELOADS_AT = 0.2, 0.4, 0.6
#: Nothing happens at the end: those that were killed last have to be missed by then.
_QUIET_SHARE = 0.05
#: Seconds between two deeds, and of a stall.
_BETWEEN = 2.0, 8.0
_STALL = 2.0, 25.0


def plan(random: Random, seconds: float, places: Sequence[str]) -> Sequence[Deed]:
    """In the order of time."""
    deeds = [Deed(seconds * share, What.RELOAD) for share in _RELOADS_AT]
    deeds += [Deed(seconds * RESTART_AT, What.RESTART), Deed(seconds * CRASH_AT, What.CRASH)]
    stalled_until: dict[str, float] = dict.fromkeys(places, 0.0)
    at, end = 0.0, seconds * (1 - _QUIET_SHARE)
    while (at := at + random.uniform(*_BETWEEN)) < end:
        place = random.choice(places)
        what = random.choice((What.KILL, What.KILL, What.GO, What.STALL))
        if what is What.STALL and stalled_until[place] < at:
            stalled_until[place] = min(at + random.uniform(*_STALL), end)
            deeds.append(Deed(stalled_until[place], What.WAKE, place))
        if what is not What.STALL or deeds[-1].what is What.WAKE:
            deeds.append(Deed(at, what, place))
    return sorted(deeds, key=lambda deed: deed.at)
