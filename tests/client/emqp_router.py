"""A broker that the test plays, for a client that blocks: a ROUTER socket and a thread that answers as it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

import zmq

from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.protocols.emqp.codec import decode, encode
from fmqbus.protocols.emqp.commands import Ack, Command, Reply, Request, Schedule

#: Of what a client says: what it is told, in order.
Answer = Callable[[Any], Iterable[Command]]


def accept_and_return(command: Command) -> Iterable[Command]:
    """As our broker, whose workers return 3."""
    if isinstance(command, Request | Schedule):
        yield Ack(b"a", command.message_id)
    if isinstance(command, Request) and b"reply-requested" in command.headers:
        yield Reply(b"r", b'{"value": 3}', command.message_id)


class Router:
    """A context manager: entered, it listens and answers."""

    def __init__(self, answer: Answer = accept_and_return) -> None:
        #: Who has said it, and what.
        self.heard: list[tuple[bytes, Any]] = []
        self.answer = answer
        self._grown = threading.Condition()
        self._context: zmq.Context[Any] = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._port = self._socket.bind_to_random_port("tcp://127.0.0.1")
        self._stop = self._context.socket(zmq.PAIR)
        self._stop.bind("inproc://stop")
        self._thread = threading.Thread(target=self._serve)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"emqp://127.0.0.1:{self._port}"

    @property
    def commands(self) -> list[Any]:
        """What was said."""
        return [command for _, command in self.heard]

    def wait(self, count: int) -> list[Any]:
        """Wait until so much was said."""
        with self._grown:
            assert self._grown.wait_for(lambda: len(self.heard) >= count, 30)
        return self.commands

    def __enter__(self) -> Router:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        stopping = self._context.socket(zmq.PAIR)
        stopping.connect("inproc://stop")
        stopping.send(b"")
        self._thread.join()
        self._context.destroy(0)

    def _serve(self) -> None:
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._stop, zmq.POLLIN)
        while self._stop not in dict(poller.poll()):
            identity, *parts = self._socket.recv_multipart()
            command = decode(parts, DEFAULT_LIMITS)
            with self._grown:
                self.heard.append((identity, command))
                self._grown.notify_all()
            for answer in self.answer(command):
                self._socket.send_multipart([identity, *encode(answer)])
