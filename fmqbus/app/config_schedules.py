"""What may stand below ``[schedules]``?"""

from __future__ import annotations

import msgspec

from fmqbus.errors import PeerError
from fmqbus.schedules.errands import DEFAULT_SCHEDULE_SETTINGS, ScheduleSettings
from fmqbus.schedules.table import Missed
from fmqbus.schedules.timing import Cron


class SchedulesTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[schedules]``: what holds where a schedule says nothing itself."""

    #: Of cron expressions.
    zone: str = DEFAULT_SCHEDULE_SETTINGS.zone
    missed: Missed = DEFAULT_SCHEDULE_SETTINGS.missed

    def __post_init__(self) -> None:
        try:
            Cron("* * * * *", self.zone)
        except PeerError as error:
            raise ValueError(str(error)) from None

    @property
    def settings(self) -> ScheduleSettings:
        """As the bus has them."""
        return ScheduleSettings(zone=self.zone, missed=self.missed)
