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

from fmqbus.calls import EXPIRED
from fmqbus.client.emqp_answers import Accepted, Answers, Asked, Ended, JobFailed, Told, value_of
from fmqbus.client.emqp_requests import ANSWER_SECONDS, EMQPRequests, Progressed
from fmqbus.client.emqp_words import Named
from fmqbus.errors import CallFailed, Detached, LocalError
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.emqp.addresses import FRONTEND_PORT, destination
from fmqbus.protocols.emqp.codec import encode
from fmqbus.protocols.emqp.commands import Command
from fmqbus.protocols.emqp.identities import new_id
from fmqbus.protocols.emqp.results import HowFar, Result
from fmqbus.transports.zeromq.dealer import Dealer
from fmqbus.transports.zeromq.passport import Passport

__all__ = ["EMQPClient", "HowFar", "JobFailed", "SubmittedJob"]

_log = Logger()


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


class EMQPClient(EMQPRequests[Deferred[SubmittedJob], Deferred[None]], Service):
    """A client of one broker, at ``emqp://HOST[:PORT]``, with ``?server-key=FILE&key=FILE`` if it has CURVE.

    `passport` is what to show the broker instead, as from `fmqbus.transports.zeromq.passport`.
    `answer_seconds` is how long a broker may take to accept something. `limits` bound what the other side can cost:
    `body_octets` of each message, `calls_per_peer` (jobs without a last answer), `outbox_octets` (of what waits to be
    sent). Raises `LocalError` for an address that is none, and for keys that cannot be read.

    Answers are Deferreds: `submit` returns one of the `SubmittedJob`, `schedule` one of None.
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

    def _schedule(self, schedule: Command, is_answer_wanted: bool) -> Deferred[None]:
        if is_answer_wanted:
            return self._ask(schedule, False, None).addCallback(lambda _: None)
        self._send(schedule)
        return succeed(None)

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
