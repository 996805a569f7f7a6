"""What becomes of the messages that a client sends? (MicroMsg2, MESSAGE frame, Reliable)

Those to topics are published, those to queues enqueued, and those to methods are calls. A message is safe when the bus
says so; the client is told up to which one all are. One that cannot be taken is the end of a connection with
acknowledgements: they are for everything up to a number, so nothing behind it could ever be acknowledged; and a
producer that learns of it at once has lost nothing. Without acknowledgements it is told, and the connection goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from fmqbus.errors import BusError
from fmqbus.interfaces import ISession
from fmqbus.model import PLAIN_TERMS, SINGLY, Message, Publication
from fmqbus.protocols.micromsg2.calling import Calling
from fmqbus.protocols.micromsg2.codec import Run
from fmqbus.protocols.micromsg2.connection import Connection
from fmqbus.protocols.micromsg2.destinations import Kind, parse
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.protocols.micromsg2.promises import Promise, Promises
from fmqbus.protocols.micromsg2.properties import to_bus, to_keep
from fmqbus.protocols.micromsg2.requests import is_retained, is_will, may_ask, terms_of
from fmqbus.protocols.micromsg2.wire import TOPIC, WIRE

#: So much work, in messages that are enqueued, is done before others may have their turn; some tenths of a millisecond.
STEP = 100


class Intake:
    """The messages of one client."""

    __slots__ = ("_bus", "_calling", "_connection", "_default_queue", "_promises", "_tell_soon", "_told")

    def __init__(
        self,
        bus: ISession,
        connection: Connection,
        default_queue: bytes,
        calling: Calling,
        tell_soon: Callable[[], None],
    ) -> None:
        """`tell_soon` is called when there may be something to `tell` although nothing was read."""
        self._bus = bus
        self._connection = connection
        self._default_queue = default_queue
        self._calling = calling
        self._tell_soon = tell_soon
        self._promises = Promises()
        #: The connection knows that all is safe up to here.
        self._told = 0

    @property
    def is_waiting(self) -> bool:
        """Whether it is still to be seen of some message if it is safe."""
        return self._promises.is_waiting

    def take_run(self, run: Run) -> Iterable[int]:
        """Take messages that came together, in pieces; yields after each how much work it was, in messages."""
        frames = run.frames
        if run.destination.startswith(TOPIC) and not any(map(may_ask, frames.heads)):
            route = self._bus.routes[run.destination[len(TOPIC) :]]
            targets = route.targets
            work = STEP if targets is None else len(targets.entries)
            if targets is None:
                targets = route.rematch()
            if targets is not SINGLY and not self._promises.is_broken:
                count = frames.count
                route.messages += count
                route.octets += len(frames)
                self._bus.dispatch(Publication(WIRE, frames, count, targets, route))
                self._promises.is_safe(frames.last_number)
                return (work,)
        return map(self.take, frames)

    def take(self, message: Received) -> int:
        """Take one message, if those before it could be; returns how much work it was."""
        promises = self._promises
        if promises.is_broken:
            return 0
        waiting = None
        try:
            kind, name = parse(message.destination, self._default_queue)
            if kind is Kind.TOPIC:
                self._publish(name, message)
            elif kind is Kind.QUEUE:
                waiting = self._enqueue(name, message)
            else:
                self._calling.ask(name, message)
        except BusError as error:
            self._cannot_take(promises.make(message.number), error.reason, str(error))
            return STEP
        if waiting is None:
            promises.is_safe(message.number)
        else:
            self._wait_for(waiting, promises.make(message.number))
        return 1 if kind is Kind.QUEUE else STEP

    def tell(self) -> str:
        """Tell the connection what is safe. Returns why nothing more will ever be; empty while that may be."""
        safe = self._promises.safe
        if safe != self._told:
            self._told = safe
            self._connection.safe(safe)
        return self._promises.fault

    def _enqueue(self, queue: bytes, received: Received) -> Deferred[None] | None:
        properties = to_keep(received.properties, received.annotations)
        terms = terms_of(properties) if may_ask(received.properties) else PLAIN_TERMS
        return self._bus.enqueue(queue, Message(queue, received.payload, properties=properties), terms)

    def _publish(self, topic: bytes, received: Received) -> None:
        properties = to_bus(received.properties, received.annotations)
        message = Message(topic, received.payload, is_retained(properties), is_will(properties), properties)
        if message.will:
            self._bus.set_will(message)
        else:
            self._bus.publish(message)

    def _wait_for(self, waiting: Deferred[None], promise: Promise) -> None:
        def kept(_: None) -> None:
            self._promises.keep(promise)
            self._tell_soon()

        def broken(failure: Failure) -> None:
            reason = failure.value.reason if isinstance(failure.value, BusError) else "failed"
            self._cannot_take(promise, reason, failure.getErrorMessage())
            self._tell_soon()

        waiting.addCallbacks(kept, broken)

    def _cannot_take(self, promise: Promise, reason: str, complaint: str) -> None:
        self._bus.count_refused(reason)
        text = f"message {promise.number}: {complaint}"
        if self._connection.is_acknowledged:
            self._promises.break_(promise, text)
        else:
            self._connection.refuse(text)
            self._promises.keep(promise)
