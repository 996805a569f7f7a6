"""Who does what is to be done at certain times? (eMQP, Scheduler)

The bus itself, unless a scheduler has INFORMed: while one is there, it is told, and the bus does nothing of its own.
"""

from __future__ import annotations

from collections.abc import Callable

from fmqbus.errors import BusError, PeerError
from fmqbus.interfaces import ISession
from fmqbus.protocols.emqp.commands import Schedule, Unschedule
from fmqbus.protocols.emqp.presence import Peer
from fmqbus.protocols.emqp.schedulers import Schedulers, forwarded, parse_plan
from fmqbus.protocols.emqp.wire import Wire


class Scheduling:
    """SCHEDULE and UNSCHEDULE of all clients at one place."""

    def __init__(self, wire: Wire, schedulers: Schedulers, zone: str, refused: Callable[[BusError], None]) -> None:
        """Cron expressions are of this time zone. `refused` is told of all that is not accepted."""
        self._wire = wire
        self._schedulers = schedulers
        self._zone = zone
        self._refused = refused

    def schedule(self, bus: ISession, client: Peer, schedule: Schedule) -> None:
        """SCHEDULE."""
        try:
            plan = parse_plan(schedule, self._zone)
            chosen = self._schedulers.chosen
            if chosen is None:
                raise PeerError("nobody schedules", "schedule")
            self._wire.tell(chosen, forwarded(schedule, plan))
        except BusError as error:
            self._refused(error)

    def unschedule(self, bus: ISession, client: Peer, unschedule: Unschedule) -> None:
        """UNSCHEDULE."""
        for scheduler in self._schedulers:
            self._wire.tell(scheduler, unschedule)
