"""What both eMQP clients ask for, the one for Twisted and the one that blocks: they differ in how an answer is had."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from fmqbus import job_functions
from fmqbus.client import emqp_words
from fmqbus.client.emqp_words import Call, Named
from fmqbus.job_functions import JobFunction, P, R
from fmqbus.limits import Limits
from fmqbus.protocols.emqp.commands import Command, Publish
from fmqbus.protocols.emqp.identities import new_id
from fmqbus.protocols.emqp.results import HowFar

#: Within this, a broker that is there has said whether it has the job.
ANSWER_SECONDS = 10.0

Progressed = Callable[[HowFar], object]

#: A job that was handed in, now or in time.
Submitted = TypeVar("Submitted")
#: That something was done, now or in time.
Done = TypeVar("Done")


class EMQPRequests(Generic[Submitted, Done]):
    """A job is a function, or its name as text, ``module:function`` or ``module:Class.method``. Where nothing else is
    said, it is asked for as its decorator `fmqbus.worker.job` says.

    What has no answer in time fails with `CallFailed` of reason ``expired``: it may be done all the same.
    """

    _limits: Limits

    def submit(
        self,
        what: Named,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        queue: str | None = None,
        timeout: float | None = None,
        retry_count: int | None = None,
        guarantee: bool | None = None,
        reply: bool | None = None,
        progressed: Progressed | None = None,
    ) -> Submitted:
        """Hand in a job; there is an answer once the broker has it. The options are those of
        `fmqbus.job_functions.JobOptions`. `progressed` is called with what the job tells while it runs; by the client
        that blocks, while somebody waits.

        The answer is `JobFailed` if the broker says no. Raises `LocalError` for what cannot be said, `InvalidName` for
        what is no queue, `Overloaded` when too much has no answer or waits to be sent, `Detached` while the client is
        stopped.
        """
        call = Call(what, args, kwargs or {})
        options = call.options(queue=queue, timeout=timeout, retry_count=retry_count, guarantee=guarantee, reply=reply)
        request = emqp_words.request(call, options, is_progress_wanted=progressed is not None, limits=self._limits)
        return self._ask(request, options.reply, progressed)

    def delay(self, function: Named, /, *args: Any, **kwargs: Any) -> Submitted:
        """Hand in a job with these arguments, as its decorator says. What `function.delay` does."""
        return self.submit(function, args, kwargs)

    def bind(self) -> None:
        """Have `delay` of all jobs go through this client."""
        job_functions.bind(self)

    def job(self, **options: Any) -> Callable[[Callable[P, R]], JobFunction[P, R]]:
        """Decorate a function as `fmqbus.worker.job` does, whose `delay` goes through this client."""
        return job_functions.job(client=self, **options)

    def schedule(
        self,
        what: Named,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        every: float | None = None,
        cron: str | None = None,
        nohaste: bool = False,
        run_count: int | None = None,
        confirm: bool = True,
        **options: Any,
    ) -> Done:
        """Have a job done at set times: every so many seconds, or by a cron expression; the first time at once unless
        `nohaste`, and `run_count` times in all. Another schedule of the same job with the same arguments takes its
        place.

        There is an answer once the broker has it; it fails, and this raises, as `submit`. EventMQ's broker says nothing
        to it: with `confirm` false nothing is waited for.
        """
        call = Call(what, args, kwargs or {})
        schedule = emqp_words.schedule(
            call,
            call.options(**options),
            every=every,
            cron=cron,
            nohaste=nohaste,
            run_count=run_count,
            is_answer_wanted=confirm,
            limits=self._limits,
        )
        return self._schedule(schedule, confirm)

    def unschedule(self, what: Named, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> None:
        """Have a job with these arguments done no more. Nobody answers; raises as `submit`."""
        self._send(emqp_words.unschedule(Call(what, args, kwargs or {})))

    def publish(self, topic: str, payload: bytes) -> None:
        """Publish a message. Nobody answers; raises as `submit`."""
        self._send(Publish(new_id(), topic.encode(), payload))

    # how that is done

    def _ask(self, command: Command, has_result: bool, progressed: Progressed | None) -> Submitted:
        raise NotImplementedError

    def _schedule(self, schedule: Command, is_answer_wanted: bool) -> Done:
        raise NotImplementedError

    def _send(self, command: Command) -> None:
        raise NotImplementedError
