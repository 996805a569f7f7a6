"""What has a broker said to what a client has asked? No I/O, no clock.

======== ========================================================= =============================
state    what comes                                                then
======== ========================================================= =============================
asked    ACK, or REPLY that has our message's id for its body      accepted
asked    REPLY to our message that says why not                    ended: refused
either   REPLY to our message                                      ended
either   PROGRESS of our message                                   told
======== ========================================================= =============================

EventMQ's broker says REPLY where ours says ACK, and never tells a result. What nobody holds on to any more is
forgotten: its answer is nobody's.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

import attrs

from fmqbus.errors import CallFailed, Overloaded, PeerError
from fmqbus.limits import Limits
from fmqbus.protocols.emqp.codec import decode
from fmqbus.protocols.emqp.commands import Ack, Command, Progress, Reply
from fmqbus.protocols.emqp.results import TIMEOUT, HowFar, Result, parse_how_far, parse_result


class JobFailed(CallFailed):
    """A job has ended without a result; the text says why."""

    def __init__(self, detail: str, kind: str) -> None:
        super().__init__(detail)
        #: The class of the exception, as the worker or the broker calls it.
        self.kind = kind

    def __str__(self) -> str:
        return f"{self.kind}: {super().__str__()}"


class State(enum.Enum):
    """See the table at the head of this file."""

    ASKED = "asked"
    ACCEPTED = "accepted"
    ENDED = "ended"


class Asked:
    """Something that was asked for. Clients add what they do about its answers."""

    def __init__(self, message_id: bytes) -> None:
        self.message_id = message_id
        self.state = State.ASKED


A = TypeVar("A", bound=Asked)


@attrs.frozen
class Accepted(Generic[A]):
    """The broker has it."""

    asked: A


@attrs.frozen
class Ended(Generic[A]):
    """It has a result, or a failure."""

    asked: A
    result: Result


@attrs.frozen
class Told(Generic[A]):
    """How far it is."""

    asked: A
    how_far: HowFar


class Answers(Generic[A]):
    """All that a client has asked for and has no last answer to."""

    def __init__(self, limits: Limits) -> None:
        #: What came that cannot be understood, or answers nothing of ours; dropped.
        self.invalid = 0
        self._limits = limits
        self._open: WeakValueDictionary[bytes, A] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._open)

    def expect(self, asked: A) -> None:
        """It is about to be sent. Raises `Overloaded` if too much has no answer."""
        if len(self._open) >= self._limits.calls_per_peer:
            raise Overloaded(f"{len(self._open)} jobs have no answer yet")
        self._open[asked.message_id] = asked

    def forget(self, asked: A) -> None:
        """Nobody waits for it any more. May be repeated."""
        self._open.pop(asked.message_id, None)

    def take_all(self) -> Sequence[A]:
        """The client stops."""
        asked = list(self._open.values())
        self._open.clear()
        return asked

    def heard(self, parts: Sequence[bytes]) -> Accepted[A] | Ended[A] | Told[A] | None:
        """Something has come. None if there is nothing to do about it."""
        try:
            event = self._read(decode(parts, self._limits))
        except PeerError:
            event = None
            self.invalid += 1
        return event

    def _read(self, command: Command) -> Accepted[A] | Ended[A] | Told[A] | None:
        match command:
            case Ack(acknowledged=message_id) | Reply(body=message_id, request=None):
                asked = self._find(message_id)
                if asked.state is not State.ASKED:
                    return None
                asked.state = State.ACCEPTED
                return Accepted(asked)
            case Reply(body=body, request=bytes(message_id)):
                asked = self._find(message_id)
                self.forget(asked)
                asked.state = State.ENDED
                return Ended(asked, _result(body))
            case Progress(body=body, request=message_id):
                return Told(self._find(message_id), parse_how_far(body))
        raise PeerError(f"{command.word.decode()} to a client", "command")

    def _find(self, message_id: bytes) -> A:
        asked = self._open.get(message_id)
        if asked is None:
            raise PeerError("an answer to nothing", "answer")
        return asked


def _result(body: bytes) -> Result:
    """Whatever it is, the job has ended."""
    try:
        return parse_result(body)
    except PeerError as error:
        return Result(str(error), PeerError.__name__)


def value_of(result: Result) -> object:
    """What a job has returned. Raises `JobFailed`; of EventMQ's own workers only for one that took too long, since
    their other failures look like results."""
    if result.is_timeout:
        raise JobFailed("it took too long", TIMEOUT)
    if result.error:
        raise JobFailed(str(result.value), result.error)
    return result.value
