"""What FMQP packets mean on the bus, and what the bus's deliveries mean to an FMQP client.

Knows neither sockets nor the reactor. What a packet means follows from its three highest bits, see `_VERBS`; bits
without sense in a packet are ignored (reading 3). Whatever is incorrect, refused or too much is discarded and
counted, and the connection stays (FMQP, section Processing of incorrect messages): the protocol has no word to say
more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from zope.interface import implementer

from fmqbus import names
from fmqbus.calls import Answer, Call, Service
from fmqbus.errors import BusError, PeerError
from fmqbus.interfaces import ILink, IPeer, IRouter, ISession
from fmqbus.model import Consumer, Interest, Message, Principal, Publication, StoredMessage, Subscription
from fmqbus.protocols.fmqp.codec import CACHE, DEBUG, FEEDBACK, LAST_WILL, WIRE, Oversize, Packet, encode


def feedback(interest: Interest) -> bytes:
    """The feedback packet of a pattern: its number of subscribers in 8 octets, or empty if none is left (readings 34,
    35)."""
    count = interest.subscribers
    return encode(FEEDBACK, interest.pattern, count.to_bytes(8, "big") if count else b"")


@implementer(IPeer)
class FMQPSession:
    """One FMQP client."""

    __slots__ = ("_link", "bus")

    #: FMQP does not tell a client which of its subscriptions matched.
    is_blind = True

    def __init__(self, router: IRouter, principal: Principal, link: ILink) -> None:
        self._link = link
        self.bus: ISession = router.attach(self, principal)

    # what the client says

    def received(self, event: Packet | Oversize) -> bool:
        """Act on what does not take the decoder's fast lane. False if it was not well formed, or too large to tell."""
        if isinstance(event, Oversize):
            self.bus.count_refused("oversize")
            return False
        try:
            _VERBS[event.flags >> 5](self, names.parse(event.topic), event)
        except BusError as error:
            self.bus.count_refused(error.reason)
            return not isinstance(error, PeerError)
        return True

    def _publish(self, topic: bytes, packet: Packet) -> None:
        message = Message(topic, packet.body, bool(packet.flags & CACHE), bool(packet.flags & LAST_WILL))
        if message.will:
            self.bus.set_will(message)
        elif message.payload or message.retain or names.is_service(topic):
            self.bus.publish(message)

    def _publish_feedback(self, topic: bytes, packet: Packet) -> None:
        raise PeerError("only the broker publishes in the feedback system", "feedback-publication")

    def _subscribe(self, topic: bytes, packet: Packet) -> None:
        self.bus.subscribe(topic, hidden=bool(packet.flags & DEBUG))

    def _unsubscribe(self, topic: bytes, packet: Packet) -> None:
        self.bus.unsubscribe(topic)

    def _watch(self, topic: bytes, packet: Packet) -> None:
        self.bus.watch_interest(topic)

    def _unwatch(self, topic: bytes, packet: Packet) -> None:
        self.bus.unwatch_interest(topic)

    # what the client is told

    def deliver(self, batch: Sequence[tuple[Publication, tuple[Subscription, ...]]]) -> None:
        chunks = []
        messages = octets = 0
        for publication, _ in batch:
            data = publication.data if publication.wire is WIRE else publication.encoded(WIRE)
            chunks.append(data)
            messages += publication.count
            octets += len(data)
        self.bus.count_sent(messages, octets)
        self._link.write(chunks)

    def take(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        """FMQP has no queues: this session never consumes, so nothing is ever handed to it."""

    def consumer_ended(self, consumer: Consumer, reason: str) -> None:
        """See `take`."""

    def called(self, calls: Sequence[Call]) -> None:
        """FMQP has no calls: this session neither asks nor serves, so nothing of them is ever handed to it."""

    def abandoned(self, calls: Sequence[Call]) -> None:
        """See `called`."""

    def answered(self, answers: Sequence[Answer]) -> None:
        """See `called`."""

    def service_ended(self, service: Service, reason: str) -> None:
        """See `called`."""

    def interest_changed(self, changes: Sequence[Interest]) -> None:
        self._link.write([feedback(change) for change in changes])

    def subscription_ended(self, subscription: Subscription, reason: str) -> None:
        """FMQP has no word for it: the client just gets no more."""

    def pause_reading(self) -> None:
        self._link.pause_reading()

    def resume_reading(self) -> None:
        self._link.resume_reading()

    def stop_listening(self) -> None:
        self._link.stop_listening()

    def ending(self, reason: str) -> None:
        self._link.lose(reason)

    def abort(self, reason: str) -> None:
        self._link.abort(reason)


_Verb = Callable[[FMQPSession, bytes, Packet], None]

#: Package type, subscription type and topic system, the three highest bits of the flags, say what a packet wants. A
#: publication's subscription type has no meaning.
_VERBS: tuple[_Verb, ...] = (
    FMQPSession._publish,
    FMQPSession._publish_feedback,
    FMQPSession._publish,
    FMQPSession._publish_feedback,
    FMQPSession._subscribe,
    FMQPSession._watch,
    FMQPSession._unsubscribe,
    FMQPSession._unwatch,
)
