"""The eMQP client for Twisted: have jobs done by workers, now or at set times, and publish.

A service with one socket, which connects again and again by itself; ZeroMQ tells nobody whether it is connected. So
what was asked and has no answer after a while has failed as far as anybody knows, and may still be done: whether to ask
again, and perhaps have it done twice, only the caller can decide. Deferreds may be awaited in Twisted's coroutines.
docs/jobs.md has whole programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import Logger

from fmqbus import job_functions
from fmqbus.calls import EXPIRED
from fmqbus.client import emqp_words
from fmqbus.client.emqp_answers import Accepted, Answers, Asked, Ended, JobFailed, Told, value_of
from fmqbus.client.emqp_words import Call, Named
from fmqbus.errors import CallFailed, Detached, LocalError
from fmqbus.job_functions import JobFunction, P, R
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.emqp.addresses import FRONTEND_PORT, destination
from fmqbus.protocols.emqp.codec import encode
from fmqbus.protocols.emqp.commands import Command, Publish
from fmqbus.protocols.emqp.identities import new_id
from fmqbus.protocols.emqp.results import HowFar, Result
from fmqbus.transports.zeromq.dealer import Dealer
from fmqbus.transports.zeromq.passport import Passport

__all__ = ["EMQPClient", "HowFar", "JobFailed", "SubmittedJob"]

#: Within this, a broker that is there has said whether it has the job.
ANSWER_SECONDS = 10.0

_log = Logger()

Progressed = Callable[[HowFar], object]


class SubmittedJob(Asked):
    """A job that was handed in. Hold on to it as long as the result is of interest."""

    def __init__(self, reactor: Any, message_id: bytes, has_result: bool, progressed: Progressed | None) -> None:
        super().__init__(message_id)
        #: Fires once the broker has it.
        self.accepted: Deferred[SubmittedJob] = Deferred()
        self._reactor = reactor
        self._has_result = has_result
        self._progressed = progressed
        self._outcome: Result | Exception | None = None
        self._waiting: dict[Deferred[Any], None] = {}

    @property
    def id(self) -> str:
        """As brokers and workers have it in their logs."""
        return self.message_id.decode()

    def result(self, timeout: float | None = None) -> Deferred[Any]:
        """Return a Deferred, for each caller, of what the job returns.

        It fails with `JobFailed`, which has the class of the exception, and after `timeout` seconds with `CallFailed`
        of reason ``expired``: the job may still be done. Raises `LocalError` if no reply was asked for.
        """
        if not self._has_result:
            raise LocalError("no reply was asked for, so there will be none")
        if self._outcome is not None:
            return _settled(self._outcome)
        # it holds on to us
        waiting: Deferred[Any] = Deferred(self._withdraw)
        self._waiting[waiting] = None
        if timeout is not None:
            waiting.addTimeout(timeout, self._reactor, partial(_expired, "has no result"))
        return waiting

    def _withdraw(self, waiting: Deferred[Any]) -> None:
        self._waiting.pop(waiting, None)

    # for the client

    def end(self, outcome: Result | Exception) -> None:
        """It has ended, or nobody will tell."""
        self._outcome = outcome
        waiting, self._waiting = self._waiting, {}
        for each in waiting:
            if not each.called:
                _settled(outcome).chainDeferred(each)
        self.fail_if_not_accepted(outcome)

    def fail_if_not_accepted(self, outcome: Result | Exception) -> None:
        """Whoever waits for the broker to take it learns it too."""
        if self.accepted.called:
            return
        if isinstance(outcome, Result) and not outcome.error:
            self.accepted.callback(self)
        else:
            _settled(outcome).chainDeferred(self.accepted)

    def tell(self, how_far: HowFar) -> None:
        """It is that far."""
        if self._progressed is not None:
            self._progressed(how_far)


class EMQPClient(Service):
    """A client of one broker, at ``emqp://HOST[:PORT]``, with ``?server-key=FILE&key=FILE`` if it has CURVE.

    `passport` is what to show the broker instead, as from `fmqbus.transports.zeromq.passport`.
    `answer_seconds` is how long a broker may take to accept something. `limits` bound what the other side can cost:
    `body_octets` of each message, `calls_per_peer` (jobs without a last answer), `outbox_octets` (of what waits to be
    sent). Raises `LocalError` for an address that is none, and for keys that cannot be read.

    A job is a function, or its name as text, ``module:function`` or ``module:Class.method``. Where nothing else is
    said, it is asked for as its decorator `fmqbus.worker.job` says.
    """

    def __init__(
        self,
        target: str,
        reactor: Any,
        *,
        answer_seconds: float = ANSWER_SECONDS,
        limits: Limits = DEFAULT_LIMITS,
        connect: Callable[..., Any] = Dealer,
        passport: Passport | None = None,
    ) -> None:
        there = destination(target, FRONTEND_PORT)
        self._address = there.address
        self._passport = there.passport() if passport is None else passport
        self._reactor = reactor
        self._answer_seconds = answer_seconds
        self._limits = limits
        self._connect = connect
        self._answers: Answers[SubmittedJob] = Answers(limits)
        self._socket: Any = None

    @property
    def invalid(self) -> int:
        """What the broker has said that cannot be understood, or answers nothing of ours; dropped."""
        return self._answers.invalid

    # the service

    def startService(self) -> None:
        """Begin to connect."""
        super().startService()
        self._socket = self._connect(
            self._reactor, self._address, new_id(), self._arrived, self._limits, passport=self._passport
        )

    def stopService(self) -> Deferred[None]:
        """Send what was said, for `Limits.linger_seconds` at most, and disconnect. What has no answer fails with
        `Detached`; it may still be done."""
        super().stopService()
        for asked in self._answers.take_all():
            asked.end(Detached("the client has stopped"))
        socket, self._socket = self._socket, None
        return succeed(None) if socket is None else socket.close()

    # jobs

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
    ) -> Deferred[SubmittedJob]:
        """Hand in a job, and return a Deferred that fires once the broker has it; the options are those of
        `fmqbus.job_functions.JobOptions`. `progressed` is called with what the job tells while it runs.

        It fails with `JobFailed` if the broker says no, and with `CallFailed` of reason ``expired`` if it says nothing
        in time: the job may be done all the same. Raises `LocalError` for what cannot be said, `InvalidName` for what
        is no queue, `Overloaded` when too much has no answer, `Detached` while the client is stopped.
        """
        call = Call(what, args, kwargs or {})
        options = call.options(queue=queue, timeout=timeout, retry_count=retry_count, guarantee=guarantee, reply=reply)
        request = emqp_words.request(call, options, is_progress_wanted=progressed is not None, limits=self._limits)
        return self._ask(request, options.reply, progressed)

    async def call(
        self,
        what: Named,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        deadline: float | None = None,
        **options: Any,
    ) -> Any:
        """Hand in a job, wait for its result, and return that; raises as `submit` and `SubmittedJob.result`.

        `deadline` is in seconds, for the result; None waits for ever, which is long if a broker has gone.
        """
        job = await self.submit(what, args, kwargs, **{**options, "reply": True})
        return await job.result(deadline)

    def delay(self, function: Named, /, *args: Any, **kwargs: Any) -> Deferred[SubmittedJob]:
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
    ) -> Deferred[None]:
        """Have a job done at set times: every so many seconds, or by a cron expression; the first time at once unless
        `nohaste`, and `run_count` times in all. Another schedule of the same job with the same arguments takes its
        place.

        Returns a Deferred that fires once the broker has it, and fails as that of `submit`. EventMQ's broker says
        nothing to it: with `confirm` false it has fired already.
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
        if confirm:
            return self._ask(schedule, False, None).addCallback(lambda _: None)
        self._send(schedule)
        return succeed(None)

    def unschedule(self, what: Named, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> None:
        """Have a job with these arguments done no more. Nobody answers; raises as `submit`."""
        self._send(emqp_words.unschedule(Call(what, args, kwargs or {})))

    def publish(self, topic: str, payload: bytes) -> None:
        """Publish a message. Nobody answers; raises as `submit`."""
        self._send(Publish(new_id(), topic.encode(), payload))

    # what is said, and what comes

    def _ask(self, command: Command, has_result: bool, progressed: Progressed | None) -> Deferred[SubmittedJob]:
        asked = SubmittedJob(self._reactor, command.message_id, has_result, progressed)
        self._answers.expect(asked)
        try:
            self._send(command)
        except Exception:
            self._answers.forget(asked)
            raise
        return asked.accepted.addTimeout(self._answer_seconds, self._reactor, partial(self._unanswered, asked))

    def _unanswered(self, asked: SubmittedJob, failure: Any, seconds: float) -> Any:
        self._answers.forget(asked)
        return _expired("was not accepted", failure, seconds)

    def _send(self, command: Command) -> None:
        if self._socket is None:
            raise Detached("the client is stopped")
        self._socket.send(encode(command))

    def _arrived(self, parts: Sequence[bytes]) -> None:
        event = self._answers.heard(parts)
        try:
            match event:
                case Accepted(asked):
                    if not asked.accepted.called:
                        asked.accepted.callback(asked)
                case Ended(asked, result):
                    asked.end(result)
                case Told(asked, how_far):
                    asked.tell(how_far)
        except Exception:
            _log.failure("what was to be told of a job has failed")


def _settled(outcome: Result | Exception) -> Deferred[Any]:
    if isinstance(outcome, Exception):
        return fail(outcome)
    try:
        return succeed(value_of(outcome))
    except JobFailed as failed:
        return fail(failed)


def _expired(what: str, result: object, seconds: float) -> Any:
    raise CallFailed(f"the job {what} within {seconds:g} s; it may still be done", reason=EXPIRED)
