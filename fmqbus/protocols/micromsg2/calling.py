"""How does a client call methods by messages? (docs/calls.md; ours)

A message to ``method/NAME`` is a call, and so is its answer a message: to where the call's property ``reply-to`` says,
in the asker's name and with its rights. Answers come while the bus is at work, so they are sent when it is through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from fmqbus.calls import Answer, Parcel, code_of
from fmqbus.errors import BusError, CallFailed
from fmqbus.interfaces import ISession
from fmqbus.model import Message, readable
from fmqbus.protocols.micromsg2.destinations import Kind, parse
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.protocols.micromsg2.properties import to_bus
from fmqbus.protocols.micromsg2.requests import terms_of

_REPLY_TO = "reply-to"
_CORRELATION = "correlation-id"
#: What of a call's properties is about the call itself.
_OWN = {_REPLY_TO, _CORRELATION, "ttl"}

_log = Logger()


class Calling:
    """The calls of one client."""

    __slots__ = ("_act_soon", "_answers", "_bus", "_default_queue")

    def __init__(self, bus: ISession, default_queue: bytes, act_soon: Callable[[], None]) -> None:
        """`act_soon` has `tell` called when the bus is through."""
        self._bus = bus
        self._default_queue = default_queue
        self._act_soon = act_soon
        self._answers: list[tuple[Mapping[str, str], Parcel | CallFailed]] = []

    def ask(self, method: bytes, message: Received) -> None:
        """A message is a call. Raises as `ISession.call` does, but where it fails at once: that is its answer."""
        properties = readable(to_bus(message.properties, message.annotations))
        own = {name: text for name, text in properties.items() if name in _OWN}
        carried = {name: text for name, text in properties.items() if name not in _OWN}
        try:
            self._bus.call(method, Parcel(message.payload, carried), terms_of(properties).time_to_live, own)
        except CallFailed as failure:
            self._answer(own, failure)

    def answered(self, answers: Sequence[Answer]) -> None:
        """See `IPeer.answered`."""
        for answer in answers:
            self._answer(answer.call.tag, answer.result)

    def tell(self) -> None:
        """Send the answers. One that cannot be sent is counted: there is nobody to tell."""
        answers, self._answers = self._answers, []
        for own, result in answers:
            try:
                self._send(own, result)
            except BusError as error:
                self._bus.count_refused(error.reason)

    def _answer(self, own: Mapping[str, str], result: Parcel | CallFailed) -> None:
        if _REPLY_TO in own:
            self._answers.append((own, result))
            self._act_soon()

    def _send(self, own: Mapping[str, str], result: Parcel | CallFailed) -> None:
        kind, name = parse(own[_REPLY_TO].encode("utf-8", "replace"), self._default_queue)
        properties = {_CORRELATION: own[_CORRELATION]} if _CORRELATION in own else {}
        if isinstance(result, Parcel):
            payload = result.payload
            properties.update(result.properties)
            if result.attachments:
                properties["attachments"] = str(len(result.attachments))
        else:
            payload = b""
            properties["error"] = f"{code_of(result)} {result}"
        message = Message(name, payload, properties=properties)
        if kind is Kind.TOPIC:
            self._bus.publish(message)
        elif kind is Kind.QUEUE:
            waiting: Deferred[None] | None = self._bus.enqueue(name, message)
            if waiting is not None:
                waiting.addErrback(lambda failure: _log.failure("an answer could not be kept", failure))
