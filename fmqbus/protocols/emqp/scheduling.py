"""Who does what is to be done at certain times? (eMQP, Scheduler)

The bus itself, unless a scheduler has INFORMed: while one is there, it is told, and the bus does nothing of its own.
What the bus has been told before goes on as long as nobody says UNSCHEDULE, which all are told.

A scheduler hands in jobs with its own rights. So whoever schedules is asked for his before anything is handed on.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs
import msgspec
from twisted.internet.defer import Deferred

from fmqbus import names
from fmqbus.errors import BusError, Refused, StoreFailed
from fmqbus.interfaces import IRouter, ISession
from fmqbus.model import Action, Message
from fmqbus.protocols.emqp.commands import Ack, Request, Schedule, Unschedule
from fmqbus.protocols.emqp.headers import Headers
from fmqbus.protocols.emqp.job_message import job_message
from fmqbus.protocols.emqp.jobs import parse_job, write_job
from fmqbus.protocols.emqp.presence import Peer
from fmqbus.protocols.emqp.schedulers import BY_CRON, Plan, Schedulers, forwarded, parse_plan
from fmqbus.protocols.emqp.wire import Wire
from fmqbus.schedules.errands import Errand

#: What one has to have the right for to be a scheduler, or to have one end a schedule: of its schedules nobody knows
#: which queue they are for.
ANY_QUEUE = names.STAR


class Scheduling:
    """SCHEDULE and UNSCHEDULE of all clients at one place."""

    def __init__(
        self, router: IRouter, wire: Wire, schedulers: Schedulers, refused: Callable[[BusError], None]
    ) -> None:
        """`refused` is told of all that is not accepted."""
        self._router = router
        self._zone = router.scheduling.settings.zone
        self._wire = wire
        self._schedulers = schedulers
        self._refused = refused

    def schedule(self, bus: ISession, client: Peer, schedule: Schedule) -> None:
        """SCHEDULE. Raises `BusError` if it is not accepted. Who asked for a reply is told when it is."""
        plan = parse_plan(schedule, self._zone)
        errand = Errand(_job_of(schedule, plan), queue=plan.queue)
        chosen = self._schedulers.chosen
        if chosen is not None:
            for action in errand.actions:
                self._demand(bus, action, plan.queue)
            self._wire.tell(chosen, forwarded(schedule, plan))
            self._answer(client, schedule, plan.headers, None)
            return
        waiting = bus.schedule(
            plan.job.key,
            plan.timing,
            errand,
            at_once=not plan.headers.nohaste,
            runs=plan.headers.run_count,
        )
        self._answer(client, schedule, plan.headers, waiting)

    def unschedule(self, bus: ISession, client: Peer, unschedule: Unschedule) -> None:
        """UNSCHEDULE: the same for everybody, since nobody knows who was told. Raises `BusError`."""
        job = parse_job(unschedule.body)
        bus.unschedule(job.key).addErrback(lambda failure: self._refused(StoreFailed(failure.getErrorMessage())))
        if len(self._schedulers):
            self._demand(bus, Action.SCHEDULE, ANY_QUEUE)
            # EventMQ's scheduler does not survive fewer parts, or members of the body
            whole = msgspec.structs.replace(unschedule, body=write_job(job), interval=BY_CRON, cron=b"")
            for scheduler in self._schedulers:
                self._wire.tell(scheduler, whole)

    def _demand(self, bus: ISession, action: Action, name: bytes) -> None:
        if not self._router.authorize(bus.principal, action, name):
            raise Refused(f"it may not {action.value} there")

    def _answer(self, client: Peer, schedule: Schedule, headers: Headers, waiting: Deferred[None] | None) -> None:
        def is_safe(_: object) -> None:
            if headers.reply_requested:
                self._wire.tell(client, Ack(self._wire.make_id(), schedule.message_id))

        if waiting is None:
            is_safe(None)
        else:
            waiting.addCallbacks(is_safe, lambda failure: self._refused(StoreFailed(failure.getErrorMessage())))


def _job_of(schedule: Schedule, plan: Plan) -> Message:
    """The job of each run. Nobody waits for its result."""
    headers = attrs.evolve(plan.headers, reply_requested=False, nohaste=False, run_count=None, interval=None, cron=None)
    request = Request(b"", schedule.queue, b"", write_job(plan.job))
    return job_message(plan.queue, request, headers, None)
