"""What a UMQ client asks of the bus, and what the bus tells it.

Knows no carrier and no reactor. Everything that a client asks for is a call: of a method of the bus itself, which is an
`IUMQMethod`, or else of one that somebody serves. What cannot be done is answered by an E, and the conversation goes
on; what the protocol does not bear is its end, told by F.

It is long because it answers two sides, the client's events and the router's `IPeer`, a few lines for each word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus import names
from fmqbus.calls import Answer, Call, Parcel, Service
from fmqbus.errors import BusError, PeerError, Refused
from fmqbus.interfaces import ILogin, ILogins, IPeer, IRouter, ISession, IUMQCaller, IUnitLink, IUnitProtocol
from fmqbus.logins import Admitted, Challenge
from fmqbus.model import (
    Consumer,
    Interest,
    Outcome,
    Overflow,
    Parting,
    Principal,
    Publication,
    StoredMessage,
    Subscription,
)
from fmqbus.protocols.umq import codec, events, parcels
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.credentials import read_credentials
from fmqbus.protocols.umq.method_table import MethodTable
from fmqbus.protocols.umq.methods.arguments import Result
from fmqbus.protocols.umq.peer import Peer, Role, State
from fmqbus.protocols.umq.topics import Topics
from fmqbus.protocols.umq.updates import WIRE, Update, delivery_of, interest_of

_log = Logger()

#: What a method returns whose answer comes from the bus.
_ASKED = object()


@implementer(IPeer, IUMQCaller, IUnitProtocol)
class UMQSession:
    """One UMQ client."""

    #: Each subscription is a topic of its own.
    is_blind = False

    def __init__(self, router: IRouter, link: IUnitLink, methods: MethodTable, logins: ILogins | None = None) -> None:
        """Raises `Refused` as `IRouter.attach` does. Without `logins`, nobody is asked who he is."""
        self.router = router
        self.peer = Peer(Role.SERVER, router.limits)
        self.bus: ISession = router.attach(self, Principal("umq", link.facts))
        self._link = link
        self._methods = methods
        self._logins = logins
        self._login: ILogin | None = None
        #: What to call when a client that has logged in goes.
        self._leave: Callable[[], None] | None = None
        self._limits = router.limits
        self._clock = router.clock
        self._topics = Topics(self.bus)
        self._services: dict[bytes, Service] = {}
        #: The id of the call that is acted on now.
        self._acting = 0
        self._is_link_full = False
        #: The bus gives nothing until the call that is acted on has its answer (reading 32).
        self._is_holding_back = False
        self._greeting: Any = self._clock.callLater(self._limits.handshake_seconds, self._is_too_slow)
        self._overdue: Any = None

    @property
    def attributes(self) -> Mapping[str, Any]:
        return self.peer.attributes

    # what the client says

    def text_arrived(self, text: bytes) -> None:
        self._act_on(self.peer.receive_text(text))

    def binary_arrived(self, octets: bytes) -> None:
        self._act_on(self.peer.receive_binary(octets))

    def _act_on(self, heard: Sequence[events.Event]) -> None:
        for event in heard:
            _HEARD[type(event)](self, event)
        self._watch_attachments()

    def _greeted(self, greeted: events.Greeted) -> None:
        self._greeting.cancel()
        self._greeting = None
        try:
            self._log_in(greeted.payload)
        except codec.Fault as fault:
            self.fail(fault.code, str(fault), fault.reason)
        except Refused as refused:
            self.fail(codec.REFUSED, str(refused), refused.reason)

    def _log_in(self, hello: bytes) -> None:
        """Welcome the client, once it has proved who it is if it says so; one that says nothing of it stays what its
        address makes of it."""
        logins = self._logins
        credentials = None if logins is None else read_credentials(hello, self._limits.control_octets)
        if logins is None or credentials is None:
            self.peer.welcome()
            return
        self._login = logins.begin(credentials.mechanism, self.bus.principal)
        self._login.answer(credentials.response).addCallback(self._logged_in).addErrback(self._not_logged_in)

    def _logged_in(self, outcome: Challenge | Admitted) -> None:
        if isinstance(outcome, Challenge):
            self.fail(codec.REFUSED, "this mechanism has more to ask than a hello can answer", "mechanism")
        elif self.peer.state is State.GREETED:
            assert self._logins is not None, "it has logged in"
            self.bus.become(outcome.principal)
            self._leave = self._logins.stand(outcome.principal, self._revoked)
            self.peer.welcome()
            self.say()

    def _not_logged_in(self, failure: Failure) -> None:
        if self.peer.state is not State.GREETED:
            return  # it did not wait for the answer, which was its end
        if isinstance(failure.value, BusError):
            self.fail(codec.REFUSED, str(failure.value), failure.value.reason)
        else:
            _log.failure("a login has failed", failure)
            self.fail(codec.REFUSED, "the login has failed", "failed")

    def _revoked(self) -> None:
        if self.peer.state is State.OPEN:
            self.fail(codec.REFUSED, "what is known of this user has changed", "revoked")

    def _is_too_slow(self) -> None:
        self.fail(codec.PROTOCOL_ERROR, "no hello in time", "handshake")

    def _watch_attachments(self) -> None:
        awaited = self.peer.awaited_attachments
        if awaited is not None and self._overdue is None:
            self._overdue = self._clock.callLater(self._limits.attachment_seconds, self._look_at_attachments, awaited)

    def _look_at_attachments(self, awaited: int) -> None:
        self._overdue = None
        if self.peer.awaited_attachments == awaited:
            self.fail(codec.PROTOCOL_ERROR, "an attachment has not come in time", "attachments")
        else:
            self._watch_attachments()

    def _called(self, called: events.Called) -> None:
        self._acting = called.id
        try:
            name, method, arguments = self._methods.read(called.payload)
            if method is None:
                result = self.ask(names.from_text(name), arguments, called.attachments, None, {})
            else:
                result = method.call(self, arguments, called.attachments)
        except BusError as error:
            self._refuse(called.id, error)
        except Exception:
            self._method_failed(called.id, Failure())
        else:
            self._answer_with(called.id, result)

    def _answer_with(self, id: int, result: Any) -> None:
        if isinstance(result, Deferred):
            result.addCallback(lambda value: self._answer_later(id, value))
            result.addErrback(lambda failure: self._refuse_later(id, failure))
        elif result is not _ASKED:
            value, attachments = (result.value, result.attachments) if isinstance(result, Result) else (result, ())
            try:
                payload = msgspec.json.encode(value)
            except Exception:  # whatever a vendor's method may return
                self._method_failed(id, Failure())
            else:
                self.peer.answer(id, payload, attachments)

    def _answer_later(self, id: int, result: Any) -> None:
        self._answer_with(id, result)
        self.say()

    def _refuse_later(self, id: int, failure: Failure) -> None:
        if isinstance(failure.value, BusError):
            self._refuse(id, failure.value)
        else:
            self._method_failed(id, failure)
        self.say()

    def _refuse(self, id: int, error: BusError) -> None:
        self.bus.count_refused(error.reason)
        self.peer.refuse(id, parcels.code_of(error), str(error))

    def _method_failed(self, id: int, failure: Failure) -> None:
        _log.failure("a method of UMQ has failed", failure)
        self.peer.refuse(id, codec.UNAVAILABLE, "the method has failed")

    def _called_back(self, called: events.CalledBack) -> None:
        """The bus registers no callbacks with its clients, so none can be called."""
        raise AssertionError("nobody was told of a callback")

    def _answered(self, answered: events.Answered) -> None:
        self.bus.reply(answered.tag, parcels.to_bus(answered.payload, answered.attachments))

    def _raised(self, raised: events.Raised) -> None:
        self.bus.fail(raised.tag, raised.code, raised.text)

    def _unsubscribed(self, unsubscribed: events.Unsubscribed) -> None:
        self._topics.end(unsubscribed.tag)

    def _refused(self, refused: events.Refused) -> None:
        self.bus.count_refused(refused.reason)

    def _failed(self, failed: events.Failed) -> None:
        if not failed.is_theirs:
            self.bus.count_refused(failed.reason)
        self._end(failed.reason, Parting.NORMAL if failed.is_theirs else Parting.PROTOCOL_ERROR)

    def _no_matter(self, event: Any) -> None:
        """Updates and closes of topics that nobody asked for never come; attributes are read when they are wanted."""

    # what methods do, see IUMQCaller

    def subscribe(self, pattern: bytes, id: int, hidden: bool, overflow: Overflow | None) -> None:
        self._begin_topic(id, lambda: self._topics.subscribe(pattern, id, hidden, overflow))

    def watch(self, pattern: bytes, id: int) -> None:
        self._begin_topic(id, lambda: self._topics.watch(pattern, id))

    def consume(self, queue: bytes, id: int, window: int, weight: int) -> None:
        self._begin_topic(id, lambda: self._topics.consume(queue, id, window, weight))

    def _begin_topic(self, id: int, begin: Callable[[], int | None]) -> None:
        self.peer.open_topic(id, id)
        self._is_holding_back = True
        self.bus.pause_delivery()
        try:
            replaced = begin()
        except BusError:
            self.peer.withdraw_topic(id)
            raise
        if replaced is not None:
            self.peer.close_topic(replaced)

    def settle(self, id: int, numbers: Sequence[int], outcome: Outcome, reason: str) -> int:
        return self._topics.settle(id, numbers, outcome, reason)

    def end_topic(self, id: int) -> bool:
        self._topics.end(id)
        return self.peer.close_topic(id)

    def serve(self, method: bytes, callback: int | None, window: int, weight: int) -> None:
        """A callback can be called once, so its service ends when it has a call."""
        tag = (msgspec.json.encode(names.to_text(method)), callback)
        service = self.bus.serve(method, window if callback is None else 1, weight, tag)
        self.unserve(method)
        self._services[method] = service

    def unserve(self, method: bytes) -> bool:
        former = self._services.pop(method, None)
        if former is not None:
            self.bus.unserve(former)
        return former is not None

    def ask(
        self,
        method: bytes,
        arguments: bytes,
        attachments: Sequence[Attachment],
        deadline_seconds: float | None,
        properties: Mapping[str, str],
    ) -> Any:
        if arguments[:1] != b"[":
            raise PeerError("the arguments of a call are an array", "arguments")
        self.bus.call(method, parcels.to_bus(arguments, attachments, properties), deadline_seconds, self._acting)
        return _ASKED

    # what the client is told

    def turn_over(self) -> None:
        """The answers to this client's calls go before what comes of them (reading 32)."""
        self.say()
        if self._is_holding_back:
            self._is_holding_back = False
            self._deliver_on()
        self.bus.flush()
        self.say()

    def say(self) -> None:
        """Send what is to be sent, as far as there is room."""
        if texts := self.peer.take_texts():
            self._link.send_texts(texts)
        while self.peer.has_attachments and not self._is_link_full:
            attachment = self.peer.take_attachment()
            if attachment is None:
                self._link.send_texts(self.peer.take_texts())
            else:
                self._link.send_binary(attachment)
        if self.peer.has_attachments:
            self.bus.pause_delivery()

    def deliver(self, batch: Sequence[tuple[Publication, tuple[Subscription, ...]]]) -> None:
        messages = octets = 0
        for publication, matched in batch:
            updates: Sequence[Update] = publication.encoded(WIRE)
            for subscription in matched:
                for payload, attachments in updates:
                    self.peer.update(subscription.tag, payload, attachments)
            messages += publication.count
            octets += publication.size
        self.bus.count_sent(messages, octets)
        self.say()

    def take(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        for consumer, stored in deliveries:
            self.peer.update(consumer.tag, *delivery_of(stored))
        self.bus.count_sent(len(deliveries), sum(len(stored.message.payload) for _, stored in deliveries))
        self.say()

    def interest_changed(self, changes: Sequence[Interest]) -> None:
        for change in changes:
            update = interest_of(change)
            for id in self._topics.watches_of(change.pattern):
                self.peer.update(id, *update)
        self.say()

    def called(self, calls: Sequence[Call]) -> None:
        """The bus waits for no answer for ever; only the conversation does not know when it has given up."""
        self.peer.make_room(len(calls))
        for call in calls:
            assert call.service is not None, "a call comes by a service"
            method, callback = call.service.tag
            if callback is None:
                self.peer.call(*parcels.call_of(method, call.parcel), tag=call)
            else:
                self.peer.call_back(callback, *parcels.call_of(method, call.parcel), tag=call)
                self.bus.unserve(call.service)
                self._forget(call.service)
        self.say()

    def abandoned(self, calls: Sequence[Call]) -> None:
        """There is no word for it: the client's answer will be forgotten."""

    def answered(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            result = answer.result
            if isinstance(result, Parcel):
                self.peer.answer(answer.call.tag, *parcels.result_of(result))
            else:
                self.peer.refuse(answer.call.tag, parcels.code_of(result), str(result))
        self.say()

    def subscription_ended(self, subscription: Subscription, reason: str) -> None:
        self._topic_ended(subscription.tag)

    def consumer_ended(self, consumer: Consumer, reason: str) -> None:
        self._topic_ended(consumer.tag)

    def _topic_ended(self, id: int) -> None:
        self._topics.forget(id)
        self.peer.close_topic(id)
        self.say()

    def service_ended(self, service: Service, reason: str) -> None:
        """There is no word for it: no more calls come."""
        self._forget(service)

    def _forget(self, service: Service) -> None:
        if self._services.get(service.method) is service:
            del self._services[service.method]

    # the link, and endings

    def link_full(self) -> None:
        self._is_link_full = True
        self.bus.pause_delivery()

    def link_clear(self) -> None:
        self._is_link_full = False
        self.say()
        self._deliver_on()

    def _deliver_on(self) -> None:
        if not (self._is_link_full or self.peer.has_attachments or self._is_holding_back):
            self.bus.resume_delivery()

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

    def fail(self, code: int, text: str, reason: str) -> None:
        """Tell the client why this is the end."""
        self.bus.count_refused(reason)
        self.peer.fail(code, text)
        self._end(reason, Parting.PROTOCOL_ERROR)

    def _end(self, reason: str, parting: Parting) -> None:
        """The conversation is over: what comes from the bus now could not be said any more."""
        self.say()
        self.bus.close(reason)
        self._link.lose(reason, parting)

    def when_sent(self) -> Deferred[None]:
        return succeed(None) if self.peer.state is State.CLOSED else self.bus.when_delivered()

    def link_lost(self, reason: str) -> None:
        self.peer.close()
        for later in (self._greeting, self._overdue):
            if later is not None and later.active():
                later.cancel()
        if self._login is not None:
            self._login.close()
        if self._leave is not None:
            self._leave()
        self.bus.close(reason)


_HEARD: Mapping[type, Callable[[UMQSession, Any], None]] = {
    events.Greeted: UMQSession._greeted,
    events.Called: UMQSession._called,
    events.CalledBack: UMQSession._called_back,
    events.Answered: UMQSession._answered,
    events.Raised: UMQSession._raised,
    events.Updated: UMQSession._no_matter,
    events.TopicClosed: UMQSession._no_matter,
    events.Unsubscribed: UMQSession._unsubscribed,
    events.AttributesChanged: UMQSession._no_matter,
    events.Refused: UMQSession._refused,
    events.Failed: UMQSession._failed,
}
