"""The calls of a local client: functions that answer those of others, and Deferreds that wait for answers to its own.

Functions run and Deferreds fire in turns of their own, so they may use the client as they like.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, maybeDeferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from fmqbus.calls import Answer, Call, Parcel, Service
from fmqbus.errors import CallFailed, Detached
from fmqbus.interfaces import ISession

#: What answers calls: it returns the reply as octets, as a `Parcel` or as None for an empty one, or a Deferred or a
#: coroutine of any of these.
Function = Callable[[Call], object]

_log = Logger()


class LocalCalls:
    """Both sides of calls, for one local client."""

    def __init__(self, session: ISession, clock: Any) -> None:
        self._session = session
        self._clock = clock
        self._waiting: dict[Call, Deferred[Parcel]] = {}
        self._working: dict[Call, Deferred[Any]] = {}

    def serve(self, method: bytes, function: Function, window: int, weight: int) -> Service:
        """See `LocalClient.serve`."""
        service: Service = self._session.serve(method, window, weight, function)
        self._session.flush()
        return service

    def unserve(self, service: Service) -> None:
        """See `LocalClient.unserve`."""
        self._session.unserve(service)
        self._session.flush()

    def call(self, method: bytes, parcel: Parcel, deadline_seconds: float | None) -> Deferred[Parcel]:
        """See `LocalClient.call`."""
        call: Call = self._session.call(method, parcel, deadline_seconds)
        answer = self._waiting[call] = Deferred(lambda _: self._abandon(call))
        self._session.flush()
        return answer

    def close(self) -> None:
        """The client leaves: nothing is answered any more."""
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            answer.errback(Detached("the client has left the bus"))
        for work in list(self._working.values()):
            work.cancel()

    # what the router asks, see IPeer

    def called(self, calls: Sequence[Call]) -> None:
        self._clock.callLater(0, self._work, calls)

    def abandoned(self, calls: Sequence[Call]) -> None:
        self._clock.callLater(0, self._stop, calls)

    def answered(self, answers: Sequence[Answer]) -> None:
        self._clock.callLater(0, self._tell, answers)

    def _abandon(self, call: Call) -> None:
        self._waiting.pop(call, None)
        self._session.abandon(call)
        self._session.flush()

    def _tell(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            waiting = self._waiting.pop(answer.call, None)
            if waiting is None:
                continue  # cancelled since
            if isinstance(answer.result, Parcel):
                waiting.callback(answer.result)
            else:
                waiting.errback(answer.result)

    def _work(self, calls: Sequence[Call]) -> None:
        for call in calls:
            assert call.service is not None, "a call comes by a service"
            work = self._working[call] = maybeDeferred(call.service.tag, call)
            work.addCallback(_as_parcel).addBoth(self._has_worked, call)

    def _stop(self, calls: Sequence[Call]) -> None:
        for call in calls:
            if call in self._working:
                self._working[call].cancel()

    def _has_worked(self, result: Parcel | Failure, call: Call) -> None:
        del self._working[call]
        if isinstance(result, Parcel):
            self._session.reply(call, result)
        elif isinstance(result.value, CallFailed):
            self._session.fail(call, result.value.code, str(result.value))
        else:
            # what went wrong inside is not the caller's business
            if not result.check(CancelledError):
                _log.failure("a function that answers calls has failed", result)
            self._session.fail(call, 0, "the server has failed")
        self._session.flush()


def _as_parcel(result: object) -> Parcel:
    if isinstance(result, Parcel):
        return result
    if result is None or isinstance(result, bytes):
        return Parcel(result or b"")
    raise TypeError(f"a reply is octets or a Parcel, not {type(result).__name__}")
