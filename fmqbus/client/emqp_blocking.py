"""The eMQP client for programs that block: scripts, and applications of Django and the like. Needs no reactor, and no
Twisted.

It may be used from any thread: each has a socket of its own, on which whoever waits for an answer reads in turns. After
a fork the child has new ones. ZeroMQ tells nobody whether it is connected. So what was asked and has no answer after a
while has failed as far as anybody knows, and may still be done: whether to ask again, and perhaps have it done twice,
only the caller can decide. docs/jobs.md has whole programs.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

import zmq

from fmqbus.calls import EXPIRED
from fmqbus.client.emqp_answers import Accepted, Answers, Asked, Ended, JobFailed, Told, value_of
from fmqbus.client.emqp_requests import ANSWER_SECONDS, EMQPRequests, Progressed
from fmqbus.client.emqp_words import Named
from fmqbus.errors import CallFailed, Detached, LocalError, Overloaded
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.emqp.addresses import FRONTEND_PORT, destination
from fmqbus.protocols.emqp.codec import encode
from fmqbus.protocols.emqp.commands import Command
from fmqbus.protocols.emqp.identities import new_id
from fmqbus.protocols.emqp.results import HowFar, Result
from fmqbus.transports.zeromq.passport import Passport

__all__ = ["BlockingEMQPClient", "HowFar", "JobFailed", "SubmittedJob"]

#: One that reads lets others of its thread's socket in so often.
_SHARE_MILLISECONDS = 50
_LONGEST_RECONNECT_MILLISECONDS = 5_000


class SubmittedJob(Asked):
    """A job that was handed in. Hold on to it as long as the result is of interest."""

    def __init__(
        self, connection: _Connection, message_id: bytes, has_result: bool, progressed: Progressed | None
    ) -> None:
        super().__init__(message_id)
        self.progressed = progressed
        self.is_accepted = False
        self.outcome: Result | None = None
        self._connection = connection
        self._has_result = has_result

    @property
    def id(self) -> str:
        """As brokers and workers have it in their logs."""
        return self.message_id.decode()

    def get(self, timeout: float | None = None) -> Any:
        """Wait for the job to end, from any thread of the process that handed it in, and return what it returned.

        Raises `JobFailed`, which has the class of the exception; after `timeout` seconds `CallFailed` of reason
        ``expired``: the job may still be done. Raises `LocalError` if no reply was asked for.
        """
        if not self._has_result:
            raise LocalError("no reply was asked for, so there will be none")
        if not self._connection.wait(lambda: self.outcome is not None, timeout):
            raise CallFailed(f"the job has no result within {timeout:g} s; it may still be done", reason=EXPIRED)
        assert self.outcome is not None
        return value_of(self.outcome)


class _Connection:
    """One socket, used by one at a time."""

    def __init__(
        self, context: zmq.Context[zmq.Socket[bytes]], address: str, limits: Limits, passport: Passport
    ) -> None:
        self.answers: Answers[SubmittedJob] = Answers(limits)
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._socket = context.socket(zmq.DEALER)
        self._socket.set(zmq.IDENTITY, new_id())
        self._socket.set(zmq.LINGER, int(limits.linger_seconds * 1000))
        self._socket.set(zmq.MAXMSGSIZE, limits.body_octets)
        self._socket.set(zmq.SNDHWM, limits.socket_messages)
        self._socket.set(zmq.RCVHWM, limits.socket_messages)
        self._socket.set(zmq.RECONNECT_IVL_MAX, _LONGEST_RECONNECT_MILLISECONDS)
        passport.give(self._socket)
        self._socket.connect(address)

    def send(self, command: Command, asked: SubmittedJob | None = None) -> None:
        """Raises `Overloaded` if there is no room, `Detached` if it is closed."""
        with self._lock:
            if asked is not None:
                self.answers.expect(asked)
            try:
                self._socket.send_multipart(encode(command), zmq.NOBLOCK)
            except zmq.ZMQError as error:
                if asked is not None:
                    self.answers.forget(asked)
                if isinstance(error, zmq.Again):
                    raise Overloaded("too much waits to be sent to the broker") from None
                raise Detached(str(error)) from error

    def wait(self, is_over: Callable[[], bool], timeout: float | None) -> bool:
        """Read until something holds; False if it did not in so many seconds. Raises `Detached` if it is closed, or
        belongs to the process that this one was forked from."""
        if is_over():
            return True
        if self._pid != os.getpid():
            raise Detached("this was asked for by the process that this one was forked from")
        end = None if timeout is None else time.monotonic() + timeout
        while not is_over():
            left = _SHARE_MILLISECONDS
            if end is not None:
                left = min(left, max(0, int((end - time.monotonic()) * 1000)))
            events = self._read(left)
            for tell in events:
                tell()
            if end is not None and time.monotonic() >= end and not is_over():
                return False
        return True

    def _read(self, milliseconds: int) -> Sequence[Callable[[], object]]:
        """Read what comes; return whom to tell, without the lock."""
        tells: list[Callable[[], object]] = []
        with self._lock:
            try:
                is_there = self._socket.poll(milliseconds)
                while is_there:
                    self._heard(self._socket.recv_multipart(zmq.NOBLOCK), tells)
            except zmq.Again:
                pass
            except zmq.ZMQError as error:
                raise Detached(str(error)) from error
        return tells

    def _heard(self, parts: Sequence[bytes], tells: list[Callable[[], object]]) -> None:
        match self.answers.heard(parts):
            case Accepted(asked):
                asked.is_accepted = True
            case Ended(asked, result):
                asked.outcome = result
            case Told(asked, how_far) if asked.progressed is not None:
                progressed = asked.progressed
                tells.append(lambda: progressed(how_far))

    def close(self) -> None:
        """What was sent lingers in the context."""
        with self._lock:
            self._socket.close()

    def __del__(self) -> None:
        """Its thread has ended, and nobody waits for a result."""
        self._socket.close()


class _Sockets:
    """Those of one client in one process."""

    def __init__(self) -> None:
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self.own = threading.local()
        self.all: weakref.WeakSet[_Connection] = weakref.WeakSet()
        self.lock = threading.Lock()

    def close(self) -> None:
        """Send what was said, for as long as the sockets linger."""
        with self.lock:
            for connection in list(self.all):
                connection.close()
        self.context.term()


class BlockingEMQPClient(EMQPRequests[SubmittedJob, None]):
    """A client of one broker, at ``emqp://HOST[:PORT]``, with ``?server-key=FILE&key=FILE`` if it has CURVE. It
    connects when it is first used.

    `answer_seconds` is how long a broker may take to accept something. `limits` and `passport` are as for
    `fmqbus.client.emqp.EMQPClient`, but that `socket_messages` bounds what waits to be sent. Raises `LocalError` for an
    address that is none, and for keys that cannot be read. A context manager; closed, or at the end of the program, it
    sends what was said.

    Answers are waited for: `submit` returns the `SubmittedJob`, or raises.
    """

    def __init__(
        self,
        target: str,
        *,
        answer_seconds: float = ANSWER_SECONDS,
        limits: Limits = DEFAULT_LIMITS,
        passport: Passport | None = None,
    ) -> None:
        there = destination(target, FRONTEND_PORT)
        self._address = there.address
        self._passport = there.passport() if passport is None else passport
        self._answer_seconds = answer_seconds
        self._limits = limits
        self._sockets: _Sockets | None = None
        self._opening = threading.Lock()
        self._ending: Any = None
        _clients.add(self)

    def __enter__(self) -> BlockingEMQPClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Send what was said, for `Limits.linger_seconds` at most, and disconnect. It may be used again."""
        if self._ending is not None:
            self._ending()
        self._sockets = None

    def forget_parent(self) -> None:
        """This process was forked: the sockets are the parent's, and a lock may be held by a thread that is not
        here."""
        if self._ending is not None:
            self._ending.detach()
        self._sockets, self._ending, self._opening = None, None, threading.Lock()

    # jobs

    def call(
        self,
        what: Named,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        deadline: float | None = None,
        **options: Any,
    ) -> Any:
        """Hand in a job, wait for its result, and return that; raises as `submit` and `SubmittedJob.get`.

        `deadline` is in seconds, for the result; None waits for ever, which is long if a broker has gone.
        """
        return self.submit(what, args, kwargs, **{**options, "reply": True}).get(deadline)

    def _ask(self, command: Command, has_result: bool, progressed: Progressed | None) -> SubmittedJob:
        connection = self._connection()
        asked = SubmittedJob(connection, command.message_id, has_result, progressed)
        connection.send(command, asked)
        if not connection.wait(lambda: asked.is_accepted or asked.outcome is not None, self._answer_seconds):
            connection.answers.forget(asked)
            raise CallFailed(
                f"the job was not accepted within {self._answer_seconds:g} s; it may still be done", reason=EXPIRED
            )
        if not asked.is_accepted and asked.outcome is not None:
            value_of(asked.outcome)
        return asked

    def _schedule(self, schedule: Command, is_answer_wanted: bool) -> None:
        if is_answer_wanted:
            self._ask(schedule, False, None)
        else:
            self._send(schedule)

    def _send(self, command: Command) -> None:
        self._connection().send(command)

    def _connection(self) -> _Connection:
        """That of this thread."""
        sockets = self._sockets
        if sockets is None:
            with self._opening:
                sockets = self._sockets
                if sockets is None:
                    sockets = self._sockets = _Sockets()
                    self._ending = weakref.finalize(self, sockets.close)
        connection: _Connection | None = getattr(sockets.own, "connection", None)
        if connection is None:
            with sockets.lock:
                connection = _Connection(sockets.context, self._address, self._limits, self._passport)
                sockets.all.add(connection)
            sockets.own.connection = connection
        return connection


#: All of this process.
_clients: weakref.WeakSet[BlockingEMQPClient] = weakref.WeakSet()


def _forget_parent() -> None:
    for client in list(_clients):
        client.forget_parent()


os.register_at_fork(after_in_child=_forget_parent)
