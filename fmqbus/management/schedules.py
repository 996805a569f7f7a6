"""How does an operator look after schedules? By requests on ``$/manage/schedules``; see docs/schedules.md.

Who may talk to this topic is asked for his right to ``manage`` the queue or topic of the very schedule as well.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import msgspec
from twisted.internet.defer import Deferred, succeed
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus import names
from fmqbus.errors import PeerError
from fmqbus.interfaces import IRouter, ISchedules, IServiceTopic
from fmqbus.management.requests import Addressed, RequestTopic, demand_manage, may_manage, shown
from fmqbus.model import NO_PROPERTIES, Message, Principal, Terms
from fmqbus.schedules.errands import Errand, ScheduleStatus
from fmqbus.schedules.table import Missed
from fmqbus.schedules.timing import Cron, Every, Timing, timing_of

#: How many are told if the request does not say, and at most: an answer should stay small enough for any client.
_SCHEDULES, _MOST_SCHEDULES = 100, 1000

_Seconds = Annotated[float, msgspec.Meta(ge=0)]
_Count = Annotated[int, msgspec.Meta(ge=1)]


class Request(Addressed, forbid_unknown_fields=True, kw_only=True):
    """What can be asked."""

    do: Literal["list", "show", "add", "edit", "remove", "run"]
    #: The schedule that is meant; none for ``list``.
    key: str = ""
    #: Of ``list``: only schedules whose keys come after this one, and only those of the queue or topic.
    after: str = ""
    most: _Count | None = None
    #: Of ``add``: where the message goes.
    queue: str | None = None
    topic: str | None = None
    #: ... and the message.
    text: str | None = None
    base64: str | None = None
    properties: Mapping[str, str] = NO_PROPERTIES
    retain: bool = False
    priority: Annotated[int, msgspec.Meta(ge=0, le=9)] = 0
    time_to_live: _Seconds | None = None
    delay: _Seconds = 0.0
    #: Of ``add`` and ``edit``: when.
    every: float | None = None
    cron: str | None = None
    zone: str | None = None
    runs: _Count | None = None
    missed: Missed | None = None
    #: Of ``add``.
    at_once: bool = True
    #: Of ``edit``.
    paused: bool | None = None


def _list(router: IRouter, owner: Principal, request: Request) -> Mapping[str, Any]:
    schedules = router.scheduling
    most = min(request.most or _SCHEDULES, _MOST_SCHEDULES)
    name = request.queue if request.topic is None else request.topic
    wanted = None if name is None else names.from_text(name)
    found: list[ScheduleStatus] = []
    after = request.after
    while len(found) <= most:
        some = schedules.page(after, most + 1, wanted)
        found += [status for status in some if may_manage(router, owner, status.schedule.what.errand.name)]
        if len(some) <= most:
            break
        after = some[-1].schedule.key
    failure = schedules.store_failure
    return {
        "schedules": [_line(status) for status in found[:most]],
        "more": len(found) > most,
        "failed": schedules.failed,
        "store_failure": None if failure is None else str(failure),
    }


def _show(schedules: ISchedules, owner: Principal, request: Request) -> Mapping[str, Any]:
    status = schedules.find(request.key)
    return _NONE if status is None else {"schedule": _all(status)}


def _add(schedules: ISchedules, owner: Principal, request: Request) -> Deferred[Mapping[str, Any]]:
    timing = timing_of(request.every, request.cron, request.zone, schedules.settings.zone)
    safe: Deferred[None] | None = schedules.put(
        owner, request.key, timing, _errand(request), request.at_once, request.runs, request.missed
    )
    return (safe or succeed(None)).addCallback(lambda _: {"added": request.key})


def _edit(schedules: ISchedules, owner: Principal, request: Request) -> Deferred[Mapping[str, Any]]:
    timing = _edited_timing(schedules, request)
    edited: Deferred[bool] = schedules.edit(request.key, timing, request.runs, request.missed, request.paused)
    return edited.addCallback(lambda was_there: {"edited": request.key} if was_there else _NONE)


def _remove(schedules: ISchedules, owner: Principal, request: Request) -> Deferred[Mapping[str, Any]]:
    removed: Deferred[bool] = schedules.remove(request.key)
    return removed.addCallback(lambda was_there: {"removed": request.key} if was_there else _NONE)


def _run(schedules: ISchedules, owner: Principal, request: Request) -> Deferred[Mapping[str, Any]]:
    done: Deferred[bool] = schedules.run(request.key)
    return done.addCallback(lambda was_there: {"run": request.key} if was_there else _NONE)


_NONE: Mapping[str, Any] = {"error": "there is no such schedule"}

_VERBS: Mapping[str, Callable[[ISchedules, Principal, Request], Any]] = {
    "show": _show,
    "add": _add,
    "edit": _edit,
    "remove": _remove,
    "run": _run,
}


@implementer(IPlugin, IServiceTopic)
class ScheduleManagement(RequestTopic):
    """``$/manage/schedules``."""

    topic = b"$/manage/schedules"
    summary = "requests about schedules, in JSON; answers come on $/manage/reply/TOKEN"

    def act(self, router: IRouter, principal: Principal, payload: bytes) -> Any:
        request = msgspec.json.decode(payload, type=Request)
        if request.do == "list":
            return _list(router, principal, request)
        status = router.scheduling.find(request.key)
        if status is not None:
            demand_manage(router, principal, status.schedule.what.errand.name)
        return _VERBS[request.do](router.scheduling, principal, request)


def _errand(request: Request) -> Errand:
    if (request.queue is None) == (request.topic is None):
        raise PeerError("either a queue or a topic is expected", "arguments")
    if (request.text is None) == (request.base64 is None):
        raise PeerError("a payload is expected, either as text or in base64", "arguments")
    try:
        payload = b64decode(request.base64, validate=True) if request.base64 else (request.text or "").encode()
    except ValueError as error:
        raise PeerError(f"the payload cannot be read: {error}", "arguments") from None
    if request.topic is not None:
        topic = names.from_text(request.topic)
        return Errand(Message(topic, payload, request.retain, properties=request.properties))
    queue = names.from_text(request.queue or "")
    terms = Terms(priority=request.priority, time_to_live=request.time_to_live, delay=request.delay)
    return Errand(Message(queue, payload, properties=request.properties), queue, terms)


def _edited_timing(schedules: ISchedules, request: Request) -> Timing | None:
    if request.every is None and request.cron is None and request.zone is None:
        return None
    cron, zone = request.cron, request.zone
    status = schedules.find(request.key)
    if status is not None and request.every is None and isinstance(status.schedule.timing, Cron):
        # one can be changed without the other
        cron, zone = cron or status.schedule.timing.text, zone or status.schedule.timing.zone
    return timing_of(request.every, cron, zone, schedules.settings.zone)


def _line(status: ScheduleStatus) -> Mapping[str, Any]:
    """A schedule among others."""
    schedule = status.schedule
    errand: Errand = schedule.what.errand
    return {
        "key": schedule.key,
        "topic" if errand.queue is None else "queue": names.to_text(errand.name),
        **_when(schedule.timing),
        "due": None if schedule.is_paused else schedule.due,
        "missed": schedule.missed.value,
        "runs_left": schedule.runs_left,
        "paused": schedule.is_paused,
        "runs": status.runs,
        "failed": status.failed,
        "last_run": status.last_run,
    }


def _when(timing: Timing) -> Mapping[str, Any]:
    return {"every": timing.seconds} if isinstance(timing, Every) else {"cron": timing.text, "zone": timing.zone}


def _all(status: ScheduleStatus) -> Mapping[str, Any]:
    """All that is known of it."""
    order = status.schedule.what
    message, terms, owner = order.errand.message, order.errand.terms, order.owner
    return {
        **_line(status),
        "octets": len(message.payload),
        **shown(message.payload),
        "properties": dict(message.properties),
        "retain": message.retain,
        "priority": terms.priority,
        "time_to_live": terms.time_to_live,
        "delay": terms.delay,
        "owner": {"protocol": owner.protocol, "identity": owner.identity, "address": owner.facts.address},
    }


SCHEDULES = ScheduleManagement()
