"""What a MicroMsg2 client asks of the bus, and what the bus's deliveries mean to it.

Knows neither sockets nor the reactor. What the client asks for and cannot have is told by an ERROR, and the connection
goes on (reading 57); what the protocol itself does not bear is its end, and so is a message that cannot be taken
(`fmqbus.protocols.micromsg2.intake`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from zope.interface import implementer

from fmqbus.calls import Answer, Call, Service
from fmqbus.errors import BusError, PeerError
from fmqbus.interfaces import ILink, ILogins, IPeer, IRouter, ISession
from fmqbus.model import Consumer, Interest, Principal, Publication, StoredMessage, Subscription
from fmqbus.protocols.micromsg2 import destinations, events
from fmqbus.protocols.micromsg2.calling import Calling
from fmqbus.protocols.micromsg2.codec import Run
from fmqbus.protocols.micromsg2.connection import Connection, Role, State
from fmqbus.protocols.micromsg2.consuming import Consuming
from fmqbus.protocols.micromsg2.destinations import Kind
from fmqbus.protocols.micromsg2.extensions.sasl import X_SASL, Word
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.protocols.micromsg2.intake import STEP, Intake
from fmqbus.protocols.micromsg2.login import LoggingIn
from fmqbus.protocols.micromsg2.negotiation import Offer
from fmqbus.protocols.micromsg2.sieve import Delivery, is_filtered, sift
from fmqbus.protocols.micromsg2.wire import TOPIC
from fmqbus.waiting import Waiters

_log = Logger()

#: An acknowledgement may wait so long for more to go with it (reading 39).
ACKNOWLEDGE_SECONDS = 0.05
#: What of a client's ERROR goes into the log.
_SHOWN_CHARACTERS = 255


@implementer(IPeer)
class MicroMsg2Session:
    """One MicroMsg2 client."""

    __slots__ = (
        "_acknowledging",
        "_acting",
        "_calling",
        "_clock",
        "_consuming",
        "_default_queue",
        "_giving_up",
        "_intake",
        "_is_deaf",
        "_is_link_full",
        "_link",
        "_logging_in",
        "_sifting",
        "_tellings",
        "_turns",
        "bus",
        "connection",
    )

    #: Its filters are looked at for each subscription.
    is_blind = False

    def __init__(
        self,
        router: IRouter,
        principal: Principal,
        link: ILink,
        offer: Offer,
        default_queue: bytes,
        logins: ILogins | None = None,
    ) -> None:
        self.connection = Connection(Role.SERVER, offer)
        self.bus: ISession = router.attach(self, principal)
        self._link = link
        self._clock = router.clock
        self._turns = router.turns
        self._default_queue = default_queue
        self._calling = Calling(self.bus, default_queue, self._act_soon)
        self._intake = Intake(self.bus, self.connection, default_queue, self._calling, self._act_soon)
        self._consuming = Consuming(self.bus, self.connection, self._act_soon)
        self._logging_in = LoggingIn(self.bus, logins, self._say_of_login, self._revoked)
        self._is_deaf = False
        self._is_link_full = False
        #: Sees which messages pass the client's filters, while that takes several turns.
        self._sifting: Generator[None, None, None] | None = None
        #: What is to be done later.
        self._giving_up: Any = self._clock.callLater(router.limits.handshake_seconds, self._is_too_slow)
        self._acknowledging: Any = None
        self._acting: Any = None
        #: Those who wait for `when_told`; made when first needed.
        self._tellings: Waiters | None = None

    # what the client says

    def heard(self, event: events.Event) -> Iterable[int]:
        """Act on what the connection tells, in pieces; yields after each how much work it was, in messages."""
        if self._is_deaf and isinstance(event, _MEANT_FOR_THE_BUS):
            return ()
        if isinstance(event, Run):
            return self._intake.take_run(event)
        if isinstance(event, Received):
            return (self._intake.take(event),)
        return (_HEARD[type(event)](self, event),)

    def _opened(self, opened: events.Opened) -> int:
        self._giving_up.cancel()
        return 1

    def _is_too_slow(self) -> None:
        self._fail("handshake", "no handshake in time")

    def _subscribe(self, wish: events.Subscribe) -> int:
        try:
            kind, name = destinations.parse(wish.destination, self._default_queue)
            if kind is Kind.METHOD:
                raise PeerError("a method is called, and served in other protocols", "method")
            if kind is Kind.TOPIC:
                self.bus.subscribe(name, tag=wish.filter if wish.filter.clauses else None)
            elif wish.filter.clauses:
                raise PeerError("a queue has no filters: each message goes to one consumer", "filter")
            else:
                self._consuming.begin(name, wish.destination)
        except BusError as error:
            self._refuse("subscribe", wish.destination, error)
        return STEP

    def _unsubscribe(self, wish: events.Unsubscribe) -> int:
        try:
            kind, name = destinations.parse(wish.destination, self._default_queue)
            has_ended = self.bus.unsubscribe(name) if kind is Kind.TOPIC else self._consuming.end(name)
            if not has_ended:
                raise PeerError("there is no such subscription", "not-subscribed")
        except BusError as error:
            self._refuse("unsubscribe", wish.destination, error)
        return STEP

    def _acknowledged(self, acknowledged: events.Acknowledged) -> int:
        self._consuming.settle(acknowledged.tags)
        return len(acknowledged.tags)

    def _login_said(self, said: events.LoginSaid) -> int:
        self._logging_in.heard(said)
        return STEP

    def _say_of_login(self, word: Word, octets: bytes) -> None:
        self.connection.extend(X_SASL.name, bytes([word]) + octets)
        self._write()

    def _revoked(self) -> None:
        self._fail("revoked", "what is known of this user has changed")

    def _released(self, released: events.Released) -> int:
        self._deliver_on()
        return 1

    def _nothing(self, nothing: events.Nothing) -> int:
        return 1

    def _refused(self, refused: events.Refused) -> int:
        self.bus.count_refused(refused.reason)
        return 1

    def _error_received(self, error: events.ErrorReceived) -> int:
        _log.info("a client says that it cannot go on: {text!r}", text=error.text[:_SHOWN_CHARACTERS])
        self._end("error")
        return 1

    def _failed(self, failed: events.Failed) -> int:
        self.bus.count_refused(failed.reason)
        self._end(failed.reason)
        return 1

    # what the client is told

    def deliver(self, batch: Sequence[Delivery]) -> None:
        if not is_filtered(batch):
            self._hand_over([publication for publication, _ in batch])
            return
        sifting = self._sift(batch)
        if not self._turns.go_through(sifting, self._write):
            self._sifting = sifting
            self.bus.pause_delivery()

    def _sift(self, batch: Sequence[Delivery]) -> Generator[None, None, None]:
        passing = yield from sift(batch)
        has_waited, self._sifting = self._sifting is not None, None
        self._hand_over(passing)
        if has_waited:
            self._deliver_on()

    def _hand_over(self, publications: Sequence[Publication]) -> None:
        self.connection.deliver(publications)
        self.bus.count_sent(sum([each.count for each in publications]), sum([each.size for each in publications]))
        self._handed_over()

    def take(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        self._consuming.take(deliveries)
        self.bus.count_sent(len(deliveries), sum([len(stored.message.payload) for _, stored in deliveries]))
        self._handed_over()

    def _handed_over(self) -> None:
        self._write()
        if self.connection.is_waiting:
            self.bus.pause_delivery()

    def _deliver_on(self) -> None:
        """Both the link and the client's window have to have room, and what came before has to be sifted."""
        if not self._is_link_full and not self.connection.is_waiting and self._sifting is None:
            self.bus.resume_delivery()

    def interest_changed(self, changes: Sequence[Interest]) -> None:
        """Never asked for: the protocol has no word for it."""

    def called(self, calls: Sequence[Call]) -> None:
        """Never asked for: this client serves no methods."""

    def abandoned(self, calls: Sequence[Call]) -> None:
        """See `called`."""

    def answered(self, answers: Sequence[Answer]) -> None:
        self._calling.answered(answers)

    def service_ended(self, service: Service, reason: str) -> None:
        """See `called`."""

    def subscription_ended(self, subscription: Subscription, reason: str) -> None:
        self._tell_end(TOPIC + subscription.pattern, reason)

    def consumer_ended(self, consumer: Consumer, reason: str) -> None:
        self._consuming.forget(consumer.queue)
        self._tell_end(consumer.tag, reason)

    def _tell_end(self, destination: bytes, reason: str) -> None:
        self.connection.refuse(f"{_shown(destination)}: ended by the bus: {reason}")
        self._write()

    def _refuse(self, word: str, destination: bytes, error: BusError) -> None:
        self.bus.count_refused(error.reason)
        self.connection.refuse(f"{word} {_shown(destination)}: {error}")

    def _write(self) -> None:
        chunks = self.connection.take_output()
        if chunks:
            self._link.write(chunks)

    # the turn

    def flush(self) -> None:
        """The turn is over: let everybody have what gathered in it, and tell the client what there is to tell."""
        self.bus.flush()
        fault = self._intake.tell()
        if fault and self.connection.state is State.OPEN:
            self._fail("untaken", fault)
        self._write()
        if self._tellings is not None and self._has_told_all:
            self._acknowledge_now()
            self._tellings.fire()
        elif self._acknowledging is None and self.connection.is_owing:
            self._acknowledging = self._clock.callLater(ACKNOWLEDGE_SECONDS, self._acknowledge)

    def _acknowledge(self) -> None:
        self._acknowledging = None
        self._acknowledge_now()

    def _acknowledge_now(self) -> None:
        self.connection.acknowledge_now()
        self._write()

    def _act_soon(self) -> None:
        """Do what cannot be done while the bus is at work; nothing once the link has gone."""
        if self._acting is None and self.connection.state is not State.CLOSED:
            self._acting = self._clock.callLater(0, self._act)

    def _act(self) -> None:
        self._acting = None
        self._consuming.settle_handed()
        self._calling.tell()
        self.flush()

    # the link

    def link_full(self) -> None:
        """Nothing more can be written for now."""
        self._is_link_full = True
        self.bus.pause_delivery()

    def link_clear(self) -> None:
        """All that was written has left."""
        self._is_link_full = False
        self._deliver_on()

    def when_told(self) -> Deferred[None]:
        """Nothing more will be read. Fires once the client has been told which messages of its own are safe."""
        self._acknowledge_now()
        if self._has_told_all:
            return succeed(None)
        if self._tellings is None:
            self._tellings = Waiters()
        return self._tellings.wait()

    @property
    def _has_told_all(self) -> bool:
        return self.connection.state is not State.OPEN or not self._intake.is_waiting

    def link_lost(self) -> None:
        """It has gone, and with it all that was to be done later."""
        self._logging_in.leave()
        if self._sifting is not None:
            self._sifting.close()
        for later in (self._giving_up, self._acknowledging, self._acting):
            if later is not None and later.active():
                later.cancel()
        # they have this session
        del self._calling, self._intake, self._consuming, self._logging_in

    def pause_reading(self) -> None:
        self._link.pause_reading()

    def resume_reading(self) -> None:
        self._link.resume_reading()

    def stop_listening(self) -> None:
        """But for acknowledgements, without which deliveries cannot go on."""
        self._is_deaf = True
        self._link.resume_reading()

    def ending(self, reason: str) -> None:
        self._link.lose(reason)

    def abort(self, reason: str) -> None:
        self._link.abort(reason)

    def _fail(self, reason: str, text: str) -> None:
        """Tell the client what is safe, then why this is the end."""
        self.connection.acknowledge_now()
        self.connection.fail(text)
        self._end(reason)

    def _end(self, reason: str) -> None:
        """The conversation is over: what waits cannot be sent any more."""
        self._write()
        self.bus.close(reason)
        self._link.lose(reason)


def _shown(destination: bytes) -> str:
    return destination.decode("utf-8", "replace")


#: What is ignored in a soft stop.
_MEANT_FOR_THE_BUS = (Run, Received, events.Subscribe, events.Unsubscribe)

_HEARD: Mapping[type, Callable[[MicroMsg2Session, Any], int]] = {
    events.Opened: MicroMsg2Session._opened,
    events.Subscribe: MicroMsg2Session._subscribe,
    events.Unsubscribe: MicroMsg2Session._unsubscribe,
    events.Acknowledged: MicroMsg2Session._acknowledged,
    events.LoginSaid: MicroMsg2Session._login_said,
    events.Released: MicroMsg2Session._released,
    events.Nothing: MicroMsg2Session._nothing,
    events.Refused: MicroMsg2Session._refused,
    events.ErrorReceived: MicroMsg2Session._error_received,
    events.Failed: MicroMsg2Session._failed,
}
