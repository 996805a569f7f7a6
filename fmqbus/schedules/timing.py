"""When is it time? At equal intervals, or by a cron expression in a time zone.

Times are POSIX seconds. Cron follows Debian's where the clocks change: a time that is left out is taken at the end of
the gap, a time that comes twice only at its first coming; an expression with a star for the hour or the minute goes by
what really passes.
"""

from __future__ import annotations

from datetime import datetime
from math import floor
from zoneinfo import ZoneInfo

import attrs
import msgspec
from cronsim import CronSim, CronSimError

from fmqbus.errors import PeerError

#: Of a cron expression; more is not meant for people.
MOST_LETTERS = 255
#: Of an interval, in seconds: what is due more often needs no schedule, and what is due less often a calendar.
SHORTEST_SECONDS = 1.0
LONGEST_SECONDS = 366 * 86_400.0
_CRON_FIELDS = 5


class Every(msgspec.Struct, frozen=True, gc=False):
    """At equal intervals from the first time on, whenever they are kept."""

    seconds: float

    def __post_init__(self) -> None:
        """Raises `PeerError` with reason ``when`` for what cannot be meant."""
        if not SHORTEST_SECONDS <= self.seconds <= LONGEST_SECONDS:
            raise PeerError(f"every {self.seconds} s: {SHORTEST_SECONDS:g} to {LONGEST_SECONDS:g} are expected", "when")

    def after(self, due: float, moment: float) -> float | None:
        """The first time after a moment, of those that follow from `due`."""
        if moment < due:
            return due
        intervals = floor((moment - due) / self.seconds) + 1
        following = due + intervals * self.seconds
        # the moment itself, but for rounding
        return following if following > moment else due + (intervals + 1) * self.seconds


@attrs.frozen(slots=True)
class Cron:
    """Minute, hour, day of the month, month, day of the week."""

    text: str
    #: An IANA name, such as ``Europe/Stockholm``.
    zone: str = "UTC"
    _zone: ZoneInfo = attrs.field(init=False, repr=False, eq=False)

    def __attrs_post_init__(self) -> None:
        """Raises `PeerError` with reason ``when`` for what cannot be meant."""
        if len(self.text) > MOST_LETTERS or len(self.text.split()) != _CRON_FIELDS:
            raise PeerError(f"cron {self.text[:40]!r}: five fields are expected", "when")
        try:
            object.__setattr__(self, "_zone", ZoneInfo(self.zone))
            CronSim(self.text, datetime.fromtimestamp(0, self._zone))
        except CronSimError as error:
            raise PeerError(f"cron {self.text!r}: {error}", "when") from None
        except (LookupError, ValueError, OSError):
            raise PeerError(f"there is no time zone {self.zone[:40]!r}", "when") from None

    def after(self, due: float, moment: float) -> float | None:
        """The first time after a moment; `due` does not matter. None if there is none in 50 years."""
        for time in CronSim(self.text, datetime.fromtimestamp(moment, self._zone)):
            # where an hour comes twice, times of its first coming are found from within the second
            if time.timestamp() > moment:
                return time.timestamp()
        return None


Timing = Every | Cron


def timing_of(every: float | None, cron: str | None, zone: str | None, usual_zone: str) -> Timing:
    """What somebody has said in either way. Raises `PeerError` with reason ``when`` unless it is just one of them."""
    if every is not None and cron is None and zone is None:
        return Every(every)
    if cron is not None and every is None:
        return Cron(cron, zone or usual_zone)
    raise PeerError("either an interval is expected, or a cron expression, which may have a time zone", "when")
