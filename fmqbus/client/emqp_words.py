"""What does a client of eMQP say to have a job done, now or at set times?

Shared by the client for Twisted and the one that blocks; knows neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any

import attrs

from fmqbus.errors import LocalError, PeerError
from fmqbus.job_functions import DEFAULT_OPTIONS, JobOptions, Name, find
from fmqbus.limits import Limits
from fmqbus.protocols.emqp.commands import Request, Schedule, Unschedule
from fmqbus.protocols.emqp.headers import PROGRESS, Headers, parse_headers, write_headers
from fmqbus.protocols.emqp.identities import new_id
from fmqbus.protocols.emqp.jobs import Job, write_job
from fmqbus.protocols.emqp.queue_lists import parse_queue

#: A function, or what a worker knows it by: ``module:function`` or ``module:Class.method``.
Named = str | Callable[..., Any]


@attrs.frozen
class Call:
    """A job with its arguments. Raises `LocalError` for one that no worker can find, or that JSON has no form for."""

    what: Named
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = attrs.field(factory=dict)
    name: Name = attrs.field(init=False)
    body: bytes = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        name = Name.parse(self.what) if isinstance(self.what, str) else Name.of(self.what)
        if name.path.partition(":")[0] == "__main__":
            raise LocalError(f"{name}: a worker cannot load the program itself; put the function into a module")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "body", _body(Job(name.path, name.callable, list(self.args), dict(self.kwargs))))

    def options(self, **chosen: Any) -> JobOptions:
        """What was said with the decorator, and instead of that what is chosen here and is not None."""
        told = find(self.name)
        options = DEFAULT_OPTIONS if told is None else told.options
        return attrs.evolve(options, **{name: value for name, value in chosen.items() if value is not None})


def request(call: Call, options: JobOptions, *, is_progress_wanted: bool, limits: Limits) -> Request:
    """REQUEST. Raises `LocalError`, and `InvalidName` for what is no queue."""
    headers = _headers(options, reply_requested=options.reply, others=(PROGRESS,) if is_progress_wanted else ())
    return Request(new_id(), _queue(options), headers, _checked(call.body, limits))


def schedule(
    call: Call,
    options: JobOptions,
    *,
    every: float | None,
    cron: str | None,
    nohaste: bool,
    run_count: int | None,
    is_answer_wanted: bool,
    limits: Limits,
) -> Schedule:
    """SCHEDULE, by an interval in seconds or a cron expression. Raises as `request`."""
    if (every is None) == (cron is None):
        raise LocalError("say either every how many seconds, or a cron expression")
    if every is not None and every < 1:
        raise LocalError("once a second is as often as can be")
    headers = _headers(options, reply_requested=is_answer_wanted, nohaste=nohaste, run_count=run_count)
    interval = -1 if every is None else ceil(every)
    body = _checked(call.body, limits)
    return Schedule(new_id(), _queue(options), headers, body, b"%d" % interval, (cron or "").encode())


def unschedule(call: Call) -> Unschedule:
    """UNSCHEDULE: the job and its arguments say which schedule."""
    return Unschedule(new_id(), b"", b"", call.body, b"-1", b"")


def _body(job: Job) -> bytes:
    try:
        return write_job(job)
    except (TypeError, ValueError, RecursionError) as error:
        raise LocalError(f"the arguments of {job.name} have no form in JSON: {error}") from None


def _checked(body: bytes, limits: Limits) -> bytes:
    if len(body) > limits.body_octets:
        raise LocalError(f"a job of {len(body)} octets; at most {limits.body_octets} are sent")
    return body


def _queue(options: JobOptions) -> bytes:
    return parse_queue(options.queue.encode())


def _headers(options: JobOptions, **more: Any) -> bytes:
    headers = Headers(
        retry_count=options.retry_count,
        timeout=None if options.timeout is None else ceil(options.timeout),
        guarantee=options.guarantee,
        **more,
    )
    written = write_headers(headers)
    try:
        # what nobody would accept is refused here, where it is clear who is wrong
        parse_headers(written)
    except PeerError as error:
        raise LocalError(str(error)) from None
    return written
