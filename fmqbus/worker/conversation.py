"""One worker's conversation with a broker. No I/O, no clock. (eMQP, Worker, Heartbeating, DISCONNECT and KBAI)

========= ============================================ ====================================================
state     the worker                                   leaves it when
========= ============================================ ====================================================
silent    has said nothing yet                         `begin`
informed  has said INFORM, and waits for an ACK        the ACK; the broker is silent for too long
serving   says READY for each free place, and beats    the broker is silent for too long, or says goodbye
deserted  says nothing: the broker has said goodbye    a while later, under another identity
leaving   has said goodbye; what runs is still told    never
over      says nothing more                            never
========= ============================================ ====================================================

`leave`, and DISCONNECT from the broker, lead from where something may be said to leaving, and else to over.

A broker that has been silent does not know whom it will hear: the worker informs it anew, as another. What ends
meanwhile is told then; what was told last is told again, since nobody knows whether it arrived. So a REPLY can come
twice: the second one names a job that is in nobody's hands.

After a broker's goodbye nothing is to be sent to it. But a broker of ours waits for the jobs that it gave out before
it goes, so it is still told how they end.

A READY is a promise of one place. A broker that gives more than it was promised, or while a process is being replaced,
has its jobs wait here.
"""

from __future__ import annotations

import enum
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence

import attrs

from fmqbus.errors import BusError, Overloaded, PeerError
from fmqbus.limits import Limits
from fmqbus.protocols.emqp.codec import decode, encode
from fmqbus.protocols.emqp.commands import (
    Ack,
    Command,
    Disconnect,
    Goodbye,
    Heartbeat,
    Inform,
    Progress,
    Ready,
    Reply,
    Request,
    SpecifiedGoodbye,
)
from fmqbus.protocols.emqp.headers import ATTEMPT, parse_headers
from fmqbus.protocols.emqp.identities import new_id
from fmqbus.protocols.emqp.jobs import Job, parse_job
from fmqbus.protocols.emqp.presence import BEAT_SECONDS, SILENCE_SECONDS
from fmqbus.protocols.emqp.queue_lists import Weighted, write_queues
from fmqbus.protocols.emqp.results import WORKER_LOST, HowFar, Result, write_how_far, write_result
from fmqbus.worker.told import Told

#: After its goodbye a broker is given so long to go, before it is informed again.
RETURN_SECONDS = 5.0
#: Jobs that came without a place for them.
_MOST_WAITING = 1_000
#: Of one job; people see no more.
_PROGRESS_SECONDS = 0.1

#: A job that the worker did not bring to an end, through no fault of the job's.
LOST = Result("the worker stops", WORKER_LOST)


class State(enum.Enum):
    """See the table at the head of this file."""

    SILENT = "silent"
    INFORMED = "informed"
    SERVING = "serving"
    DESERTED = "deserted"
    LEAVING = "leaving"
    OVER = "over"


@attrs.frozen
class Assigned:
    """Run this, and tell how it ends. There is a place for it."""

    #: Ours: brokers may use an id for several jobs.
    ticket: int
    job: Job
    #: As `fmqbus.worker.pool.Pool.run` takes it.
    timeout: float | None
    request_id: bytes
    #: Which run of the job it is, where the broker says so.
    attempt: str = ""


@attrs.frozen
class Accepted:
    """The broker knows the worker: from now on it keeps jobs of these queues for it."""


@attrs.frozen
class Restarted:
    """What is to be said goes over a new socket, under another identity."""

    why: str


@attrs.frozen
class Dismissed:
    """The broker has told the worker to stop."""


@attrs.frozen
class Ignored:
    """Something came that does not fit."""

    why: str


Event = Assigned | Accepted | Restarted | Dismissed | Ignored


@attrs.define
class _Running:
    """A job in our hands."""

    request_id: bytes
    is_reply_wanted: bool
    progress_told: float = float("-inf")


class Conversation:
    """The conversation. Give it what has come and what has ended, act on its events, then send `take_messages`.

    Times are in seconds of any clock that does not go back.
    """

    def __init__(
        self,
        queues: Sequence[Weighted],
        limits: Limits,
        free: Callable[[], int],
        make_id: Callable[[], bytes] = new_id,
        posix_time: Callable[[], float] = time.time,
        beat_seconds: float = BEAT_SECONDS,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        """`free` tells how many jobs could be run now."""
        self.state = State.SILENT
        self._queues = write_queues(queues)
        self._limits = limits
        self._free = free
        self._make_id = make_id
        self._posix_time = posix_time
        self._beat_seconds = beat_seconds
        self._silence_seconds = silence_seconds
        self._is_ours = False
        #: Places that were promised and are not taken.
        self._promised = 0
        self._tickets = 0
        self._running: dict[int, _Running] = {}
        self._waiting: deque[Assigned] = deque()
        self._told = Told(beat_seconds, limits.outbox_octets)
        #: When it began to wait for the broker's next word, and when it beat.
        self._waits_since = self._beat_at = 0.0
        self._messages: list[list[bytes]] = []

    def take_messages(self) -> list[list[bytes]]:
        """The parts of what is to be sent now, in order; each only once."""
        messages, self._messages = self._messages, []
        return messages

    # what happens

    def begin(self, now: float) -> None:
        """Say who is there."""
        assert self.state is State.SILENT, self.state
        self._inform(now)

    def heard(self, parts: Sequence[bytes], now: float) -> Sequence[Event]:
        """Something has come. Once we serve, whatever it is, the broker is there."""
        if self.state is State.SERVING:
            self._waits_since = now
            self._told.broker_heard(now)
        try:
            command = decode(parts, self._limits)
        except PeerError as error:
            return [Ignored(str(error))]
        act = _MEANING[self.state].get(type(command))
        if act is None:
            return [Ignored(f"{command.word.decode()} while {self.state.value}")]
        return act(self, command, now)

    def places_changed(self) -> Sequence[Event]:
        """More jobs can be run than before."""
        events: list[Event] = []
        if self.state not in (State.DESERTED, State.OVER):
            while self._waiting and len(events) < self._free():
                events.append(self._waiting.popleft())
        if self.state is State.SERVING:
            while self._promised < self._free() - len(events):
                self._promised += 1
                self._say(Ready(self._make_id(), self._is_ours))
        return events

    def ended(self, ticket: int, body: bytes, now: float) -> None:
        """A job has ended; `body` is what a REPLY says of it."""
        running = self._running.pop(ticket)
        if running.is_reply_wanted or self._is_ours:
            if len(body) > self._limits.body_octets:
                body = write_result(Result("what it returned is too large", Overloaded.__name__))
            self._reply(Reply(self._make_id(), body, running.request_id), now)

    def progressed(self, ticket: int, how_far: HowFar, now: float) -> None:
        """A job has told how far it is. Only our brokers hear of it, and not more often than people look."""
        running = self._running.get(ticket)
        if running is None or not self._is_ours or self.state not in _TELLING:
            return
        if now - running.progress_told >= _PROGRESS_SECONDS:
            running.progress_told = now
            self._say(Progress(self._make_id(), write_how_far(how_far), running.request_id))

    def tick(self, now: float) -> Sequence[Event]:
        """Time has passed."""
        patience = RETURN_SECONDS if self.state is State.DESERTED and not self._running else self._silence_seconds
        if self.state in _WAITING_FOR_BROKER and now - self._waits_since >= patience:
            why = f"the broker was silent for {patience:g} s while we were {self.state.value}"
            self._messages.clear()
            self._told.hold_back()
            self._inform(now)
            return [Restarted(why)]
        if self.state is State.SERVING and now - self._beat_at >= self._beat_seconds:
            self._beat_at = now
            self._say(Heartbeat(self._make_id(), b"%.3f" % self._posix_time()))
        return ()

    def leave(self, now: float) -> None:
        """Take nothing more. What came before the broker knows of it may still be run."""
        if self.state in (State.INFORMED, State.SERVING):
            self.state = State.LEAVING
            self._say(Goodbye(self._make_id()))
            self._say(SpecifiedGoodbye(self._make_id()))
            self._tell_held(now)
        elif self.state is not State.LEAVING:
            self.state = State.OVER

    def give_up(self, now: float) -> None:
        """Nothing more will be run: say so of what still waits, so that others get it at once."""
        while self._waiting:
            self.ended(self._waiting.popleft().ticket, write_result(LOST), now)

    # what comes

    def _acknowledged(self, command: Command, now: float) -> Sequence[Event]:
        """Whatever it names: there was only the INFORM under this identity."""
        assert isinstance(command, Ack)
        self.state, self._is_ours = State.SERVING, command.is_ours
        self._promised, self._beat_at, self._waits_since = 0, now, now
        self._tell_held(now)
        return [Accepted(), *self.places_changed()]

    def _requested(self, command: Command, now: float) -> Sequence[Event]:
        assert isinstance(command, Request)
        self._promised = max(0, self._promised - 1)
        try:
            assigned, is_reply_wanted = self._read(command)
        except BusError as error:
            self._reply(_refusal(self._make_id(), command, error), now)
            return [Ignored(f"a job that is none: {error}"), *self.places_changed()]
        self._running[assigned.ticket] = _Running(command.message_id, is_reply_wanted)
        self._waiting.append(assigned)
        return self.places_changed()

    def _read(self, request: Request) -> tuple[Assigned, bool]:
        if len(self._waiting) >= _MOST_WAITING:
            raise Overloaded("too many jobs wait at this worker")
        headers = parse_headers(request.headers)
        job = parse_job(request.body)
        self._tickets += 1
        attempt = next((each.partition(":")[2] for each in headers.others if each.startswith(f"{ATTEMPT}:")), "")
        assigned = Assigned(self._tickets, job, headers.timeout, request.message_id, attempt)
        return assigned, headers.reply_requested

    def _goodbye(self, command: Command, now: float) -> Sequence[Event]:
        """It is to be sent nothing more, and may come back."""
        self.state, self._waits_since = State.DESERTED, now
        return ()

    def _dismissed(self, command: Command, now: float) -> Sequence[Event]:
        self.leave(now)
        return [Dismissed()]

    def _nothing(self, command: Command, now: float) -> Sequence[Event]:
        return ()

    # what is said

    def _inform(self, now: float) -> None:
        self.state, self._is_ours, self._waits_since = State.INFORMED, False, now
        self._say(Inform(self._make_id(), self._queues))

    def _reply(self, reply: Reply, now: float) -> None:
        if self.state in _TELLING or (self.state is State.DESERTED and self._is_ours):
            self._say(reply)
            self._told.said(reply, now)
        else:
            self._told.hold(reply)

    def _tell_held(self, now: float) -> None:
        for reply in self._told.take_held():
            self._say(reply)
            self._told.said(reply, now)

    def _say(self, command: Command) -> None:
        self._messages.append(encode(command))


def _refusal(message_id: bytes, request: Request, error: BusError) -> Reply:
    return Reply(message_id, write_result(Result(str(error), type(error).__name__)), request.message_id)


#: Where a REPLY or a PROGRESS may be said.
_TELLING = frozenset((State.SERVING, State.LEAVING))
#: Where silence is the end of the conversation.
_WAITING_FOR_BROKER = frozenset((State.INFORMED, State.SERVING, State.DESERTED))

_Act = Callable[[Conversation, Command, float], Sequence[Event]]

#: What may come, and what it means. All else is ignored.
_MEANING: Mapping[State, Mapping[type[Command], _Act]] = {
    State.SILENT: {},
    State.INFORMED: {
        Ack: Conversation._acknowledged,
        Request: Conversation._requested,
        Heartbeat: Conversation._nothing,
        Goodbye: Conversation._goodbye,
        SpecifiedGoodbye: Conversation._goodbye,
        Disconnect: Conversation._dismissed,
    },
    State.SERVING: {
        Ack: Conversation._nothing,
        Request: Conversation._requested,
        Heartbeat: Conversation._nothing,
        Goodbye: Conversation._goodbye,
        SpecifiedGoodbye: Conversation._goodbye,
        Disconnect: Conversation._dismissed,
    },
    # of the two words for it, the second comes here
    State.DESERTED: {Goodbye: Conversation._nothing, SpecifiedGoodbye: Conversation._nothing},
    State.LEAVING: {
        Ack: Conversation._nothing,
        Request: Conversation._requested,
        Heartbeat: Conversation._nothing,
        Goodbye: Conversation._nothing,
        SpecifiedGoodbye: Conversation._nothing,
        Disconnect: Conversation._nothing,
    },
    State.OVER: {Goodbye: Conversation._nothing, SpecifiedGoodbye: Conversation._nothing},
}
