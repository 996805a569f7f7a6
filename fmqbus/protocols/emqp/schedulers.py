"""What is a SCHEDULE to a scheduler, our own or one that INFORMs? (eMQP, Scheduler)

EventMQ's scheduler ends itself over a message that lacks anything, so each is made whole before it is handed on, and
refused if that cannot be done. It takes no UNSCHEDULE for a cron expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
import msgspec

from fmqbus.errors import Overloaded, PeerError
from fmqbus.limits import Limits
from fmqbus.protocols.emqp.commands import Schedule
from fmqbus.protocols.emqp.headers import LONGEST_SECONDS, Headers, parse_headers, write_headers
from fmqbus.protocols.emqp.jobs import Job, parse_job, write_job
from fmqbus.protocols.emqp.presence import Peer, Presence
from fmqbus.protocols.emqp.queue_lists import parse_queue
from fmqbus.schedules.timing import Cron, Every, Timing

#: Written in place of an interval where the cron expression counts.
BY_CRON = b"-1"


@attrs.frozen(slots=True)
class Plan:
    """What a SCHEDULE asks for."""

    queue: bytes
    job: Job
    timing: Timing
    headers: Headers


def parse_plan(schedule: Schedule, zone: str) -> Plan:
    """Read a SCHEDULE in either dialect; a cron expression is of this time zone. Raises `PeerError`."""
    headers = parse_headers(schedule.headers)
    return Plan(parse_queue(schedule.queue), parse_job(schedule.body), _timing(schedule, headers, zone), headers)


def forwarded(schedule: Schedule, plan: Plan) -> Schedule:
    """The same message for a scheduler that INFORMed. Raises `PeerError` for what EventMQ's does not survive."""
    headers, timing = plan.headers, plan.timing
    if isinstance(timing, Cron) and headers.run_count is not None and not headers.nohaste:
        raise PeerError("run_count with a cron expression needs nohaste", "headers")
    return msgspec.structs.replace(
        schedule,
        queue=schedule.queue or plan.queue,
        headers=write_headers(attrs.evolve(headers, interval=None, cron=None)),
        body=write_job(plan.job),
        interval=str(int(timing.seconds)).encode() if isinstance(timing, Every) else BY_CRON,
        cron=timing.text.encode() if isinstance(timing, Cron) else b"",
    )


def _timing(schedule: Schedule, headers: Headers, zone: str) -> Timing:
    interval, cron = headers.interval, headers.cron
    if schedule.interval is not None and schedule.cron is not None:
        interval, cron = _interval(schedule.interval), schedule.cron.decode().strip() or None
    if interval is not None and cron is None:
        return Every(interval)
    if cron is not None and interval is None:
        return Cron(cron, zone)
    raise PeerError("either an interval or a cron expression is expected", "when")


def _interval(octets: bytes) -> int | None:
    if octets == BY_CRON:
        return None
    if octets.isdigit() and len(octets) <= len(str(LONGEST_SECONDS)) and 1 <= int(octets) <= LONGEST_SECONDS:
        return int(octets)
    raise PeerError(f"interval {octets[:20]!r}, 1 to {LONGEST_SECONDS} or -1 is expected", "when")


class Schedulers:
    """The schedulers that are there, with time as an argument. While there is one, it schedules, and nobody else."""

    def __init__(self, limits: Limits, presence: Presence) -> None:
        """`presence` is for them alone."""
        self._limits = limits
        self._presence = presence
        #: Whoever INFORMed last comes last.
        self._schedulers: dict[Peer, None] = {}

    def __iter__(self) -> Iterator[Peer]:
        return iter(self._schedulers)

    def __len__(self) -> int:
        return len(self._schedulers)

    @property
    def chosen(self) -> Peer | None:
        """The one that is given what is scheduled: who INFORMed last. All are told what is no longer scheduled."""
        return next(reversed(self._schedulers), None)

    def informed(self, peer: Peer, now: float) -> None:
        """It INFORMs. Raises `Overloaded` beyond `Limits.connections`."""
        self.left(peer)
        if len(self._schedulers) >= self._limits.connections:
            raise Overloaded("too many schedulers", "schedulers")
        self._presence.informed(peer, now)
        self._schedulers[peer] = None

    def heard(self, peer: Peer, now: float) -> bool:
        """It has said something. False if it is not there."""
        return peer in self._schedulers and self._presence.heard(peer, now)

    def left(self, peer: Peer) -> None:
        """It is there no more; may be repeated."""
        self._schedulers.pop(peer, None)
        self._presence.left(peer)

    def silent(self, now: float) -> Sequence[Peer]:
        """Take those out that have not been heard for too long."""
        peers = self._presence.silent(now)
        for peer in peers:
            self.left(peer)
        return peers
