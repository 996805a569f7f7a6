"""One login of one client, in MTL's words. (MTL, Client Authentication; readings 11 to 15)

Authorize names a mechanism and carries an answer; an empty one asks the other side to begin. Where a mechanism still
has something to tell when all is proved, it is told as one more challenge, and answered by an empty response.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from twisted.logger import Logger
from twisted.python.failure import Failure

from fmqbus.errors import BusError, Refused
from fmqbus.interfaces import ILogin, ILogins
from fmqbus.logins import Admitted, Challenge
from fmqbus.model import Principal
from fmqbus.protocols.mtl.commands import Authorize

_log = Logger()

#: How one step ends.
Step: TypeAlias = Challenge | Admitted | BusError


class Login:
    """One exchange."""

    def __init__(self, logins: ILogins, mechanism: str, peer: Principal, now: float, most_seconds: float) -> None:
        """Raises `Refused` if this peer may not use the mechanism."""
        self.mechanism = mechanism
        self._login: ILogin = logins.begin(mechanism, peer)
        self._ends = now + most_seconds
        self._is_first = True
        self._admitted: Admitted | None = None
        #: Told how the step ends that is under way; None where none is.
        self._then: Callable[[Step], None] | None = None

    @property
    def is_busy(self) -> bool:
        """A step is under way."""
        return self._then is not None

    def step(self, authorize: Authorize, now: float, then: Callable[[Step], None]) -> None:
        """Take what the client says; `then` is told once, perhaps at once, unless this is closed before."""
        response = authorize.response
        if now > self._ends:
            then(Refused("the login has taken too long", "time"))
            return
        if self._admitted is not None:
            then(Refused("nothing more was asked", "unreadable") if response else self._admitted)
            return
        is_to_begin, self._is_first = self._is_first and not response, False
        self._then = then
        answered = self._login.answer(None if is_to_begin else response)
        answered.addErrback(_error_of).addCallback(self._answered).addErrback(_log_failure)

    def close(self) -> None:
        """The client has gone, or begins another."""
        self._then = None
        self._login.close()

    def _answered(self, step: Step) -> None:
        then, self._then = self._then, None
        if isinstance(step, Admitted) and step.octets:
            self._admitted = step
            step = Challenge(step.octets)
        if then is not None:
            then(step)


def _error_of(failure: Failure) -> BusError:
    if isinstance(failure.value, BusError):
        return failure.value
    _log.failure("a login has failed", failure)
    return Refused("the login has failed", "failed")


def _log_failure(failure: Failure) -> None:
    _log.failure("a login could not be answered", failure)
