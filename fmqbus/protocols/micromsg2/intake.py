"""What becomes of the messages that a client sends? (MicroMsg2, MESSAGE frame, Reliable)

Those to topics are published, those to queues enqueued. A message is safe when the bus says so; the client is told up
to which one all are. One that cannot be taken is the end of a connection with acknowledgements: they are for everything
up to a number, so nothing behind it could ever be acknowledged; and a producer that learns of it at once has lost
nothing. Without acknowledgements it is told, and the connection goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from fmqbus.errors import BusError
from fmqbus.interfaces import ISession
from fmqbus.model import SINGLY, Message, Publication
from fmqbus.protocols.micromsg2.codec import Run
from fmqbus.protocols.micromsg2.connection import Connection
from fmqbus.protocols.micromsg2.destinations import parse
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.protocols.micromsg2.promises import Promise, Promises
from fmqbus.protocols.micromsg2.properties import to_bus
from fmqbus.protocols.micromsg2.requests import is_retained, is_will, may_ask, terms_of
from fmqbus.protocols.micromsg2.wire import TOPIC, WIRE

#: Messages that are taken before others may have their turn; some tenths of a millisecond.
STEP = 100


class Intake:
    """The messages of one client."""

    def __init__(
        self,
        bus: ISession,
        connection: Connection,
        default_queue: bytes,
        tell_soon: Callable[[], None],
    ) -> None:
        """`tell_soon` is called when there may be something to `tell` although nothing was read."""
        self._bus = bus
        self._connection = connection
        self._default_queue = default_queue
        self._tell_soon = tell_soon
        self._promises = Promises()
        #: The connection knows that all is safe up to here.
        self._told = 0

    def take_run(self, run: Run) -> Iterator[int]:
        """Take messages that came together; yields after each piece of the work how many those were."""
        frames = run.frames
        if run.destination.startswith(TOPIC) and not any(map(may_ask, frames.heads)):
            route = self._bus.routes[run.destination[len(TOPIC) :]]
            targets = route.targets or route.rematch()
            if targets is not SINGLY and not self._promises.is_broken:
                count = frames.count
                route.messages += count
                route.octets += len(frames)
                self._bus.dispatch(Publication(WIRE, frames, count, targets, route))
                self._promises.is_safe(frames.last_number)
                yield len(targets.entries)
                return
        messages = iter(frames)
        while piece := list(islice(messages, STEP)):
            yield self._take(piece)

    def take_message(self, message: Received) -> Iterator[int]:
        """Take one that came by itself."""
        yield self._take([message])

    def tell(self) -> str:
        """Tell the connection what is safe. Returns why nothing more will ever be; empty while that may be."""
        safe = self._promises.safe
        if safe != self._told:
            self._told = safe
            self._connection.safe(safe)
        return self._promises.fault

    def _take(self, messages: Iterable[Received]) -> int:
        """Returns how many could be looked at."""
        promises = self._promises
        taken = 0
        for message in messages:
            if promises.is_broken:
                break
            taken += 1
            try:
                waiting = self._hand_over(message)
            except BusError as error:
                self._cannot_take(promises.make(message.number), error.reason, str(error))
            else:
                if waiting is None:
                    promises.is_safe(message.number)
                else:
                    self._wait_for(waiting, promises.make(message.number))
        return taken

    def _hand_over(self, received: Received) -> Deferred[None] | None:
        """Give a message to the bus. Returns what `ISession.enqueue` does."""
        is_topic, name = parse(received.destination, self._default_queue)
        properties = to_bus(received.properties, received.annotations)
        asks = may_ask(received.properties)
        if not is_topic:
            message = Message(name, received.payload, properties=properties)
            if asks:
                return self._bus.enqueue(name, message, terms_of(properties))
            return self._bus.enqueue(name, message)
        retain, will = asks and is_retained(properties), asks and is_will(properties)
        message = Message(name, received.payload, retain, will, properties)
        if will:
            self._bus.set_will(message)
        else:
            self._bus.publish(message)
        return None

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
