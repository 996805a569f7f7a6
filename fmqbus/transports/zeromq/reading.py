"""How is a ZeroMQ socket read without keeping others waiting, and without anything escaping into the reactor?

A socket's descriptor becomes readable when something has happened to the socket, not when messages wait; and any call
may swallow that sign. So after the sign, and after each send, a socket is read until it is empty. That can take long:
each message is a step of `fmqbus.turns`, and so is every so many parts of a long one. Among its peers ZeroMQ reads
fairly by itself, one message of each after the other.

txZMQ's connection brings the descriptor into the reactor. Its own reading would not stop before the socket is empty,
and would let errors through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import zmq
from twisted.logger import Logger
from txzmq import ZmqConnection
from zmq.backend import Socket

from fmqbus.errors import Detached
from fmqbus.notices import Notices
from fmqbus.transports.zeromq.context import Context
from fmqbus.turns import Turns

#: Parts that are read between two looks at the clock; a millisecond at most.
_PARTS_AT_ONCE = 256

# For each part of each message: to put flags together costs as much as to send, and so does pyzmq's layer for options
# that we do not use.
_AT_ONCE = int(zmq.NOBLOCK)
_MORE_FOLLOWS = int(zmq.NOBLOCK | zmq.SNDMORE)
_send = Socket.send
# By its place: its name costs a tenth of what it costs to receive.
_NOT_COPIED = False


class ReadingSocket(ZmqConnection):  # type: ignore[misc]  # txZMQ has no types
    """One ZeroMQ socket in the reactor, born paused. A kind of socket derives from it."""

    #: Whether ZeroMQ puts the sender's identity before each message.
    begins_with_identity: ClassVar[bool] = False

    _log = Logger()

    def __init__(self, context: Context, turns: Turns, most_parts: int, most_octets: int) -> None:
        self._reactor = context.reactor
        self._turns = turns
        self._most_parts = most_parts
        self._most_octets = most_octets
        self._notices = Notices(self._reactor)
        self._is_paused = True
        self._is_reading = False
        self._is_unfinished = False
        self._is_looking_soon = False
        super().__init__(context)

    # for the kinds of sockets

    def message_read(self, last: zmq.Frame, parts: list[bytes], excess: str) -> None:
        """A message has been read. `last` is its last part, which knows the sender too. What is beyond the limits is
        not in `parts`, and `excess` is then ``parts`` or ``octets``."""
        raise NotImplementedError

    def turn_over(self) -> None:
        """As much has been read as could be in this turn, and that was something."""

    def tell(self, event: Callable[..., None], *arguments: Any) -> None:
        """Call somebody who must not fail. If he does, it is logged, once in a while."""
        try:
            event(*arguments)
        except Exception:
            self._note_failure()

    def send_parts(self, parts: Sequence[bytes]) -> bool:
        """Hand a message to ZeroMQ; False if that would have to wait. Raises `Detached`."""
        if self.socket is None:
            raise Detached("the socket is closed")
        try:
            # What ZeroMQ says to the first part holds for all of them.
            for part in parts[:-1]:
                _send(self.socket, part, _MORE_FOLLOWS)
            _send(self.socket, parts[-1], _AT_ONCE)
        except zmq.Again:
            return False
        except zmq.ZMQError as error:
            raise Detached(str(error)) from error
        finally:
            self._look_soon()
        return True

    @property
    def is_behind(self) -> bool:
        """Whether whole messages may wait in ZeroMQ that have not been read."""
        return self._is_paused or self._is_unfinished

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._look_soon()

    # what Twisted calls

    def doRead(self) -> None:
        if self.socket is None:
            return
        if self.is_behind:
            # Reading goes on by itself. Until the sign is taken away, the reactor would come back at once.
            self.socket.get(zmq.EVENTS)
        else:
            self._go_on(self._messages())

    def connectionLost(self, reason: object) -> None:
        """The reactor is stopping; the group of sockets is closed by whoever stopped it."""

    def _look_soon(self) -> None:
        """See in the next turn whether what was done now has swallowed a sign."""
        if not self._is_looking_soon and not self._is_reading:
            self._is_looking_soon = True
            self._reactor.callLater(0, self._look)

    def _look(self) -> None:
        self._is_looking_soon = False
        self.doRead()

    def _go_on(self, messages: Iterator[None]) -> None:
        self._is_reading, self._is_unfinished = True, False
        has_read = False
        try:
            for _ in messages:
                has_read = True
                if self._turns.is_used_up:
                    self._is_unfinished = True
                    break
        except Exception:
            self._note_failure()
        self._is_reading = False
        if self.socket is None:
            return
        if has_read:
            self.tell(self.turn_over)
        if self._is_unfinished:
            self._turns.wait(lambda: self._go_on(messages))

    def _messages(self) -> Iterator[None]:
        while not self._is_paused and self.socket is not None:
            receive = self.socket.recv
            parts: list[bytes] = []
            octets = count = 0
            excess = ""
            try:
                if self.begins_with_identity:
                    # ZeroMQ's own, and never the last: it can be had for a third of the price of the others
                    parts.append(receive(_AT_ONCE))
                    octets, count = len(parts[0]), 1
                frame = receive(_AT_ONCE, _NOT_COPIED)
            except zmq.Again:
                return
            while True:
                count += 1
                octets += len(frame)
                if count > self._most_parts:
                    excess = excess or "parts"
                elif octets > self._most_octets:
                    excess = excess or "octets"
                else:
                    parts.append(frame.bytes)
                if not frame.more:
                    break
                if count % _PARTS_AT_ONCE == 0:
                    yield
                    if self.socket is None:
                        return
                frame = receive(_AT_ONCE, _NOT_COPIED)
            self.tell(self.message_read, frame, parts, excess)
            yield

    def _note_failure(self) -> None:
        """To be called while an exception is dealt with."""
        if count := self._notices.due("failure"):
            self._log.failure("{socket} goes on after a failure, {count} of them now", socket=self, count=count)
