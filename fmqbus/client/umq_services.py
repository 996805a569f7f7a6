"""Which methods does a UMQ client serve, and what does it answer?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import msgspec
from twisted.internet.defer import CancelledError, Deferred, maybeDeferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from fmqbus.client.umq_link import Reply, UMQLink
from fmqbus.client.umq_words import decode_json
from fmqbus.errors import CallFailed, Detached, LocalError, PeerError, Refused
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.codec import PROTOCOL_ERROR, UNKNOWN_METHOD
from fmqbus.protocols.umq.events import Called, CalledBack

#: What answers calls: it gets the arguments and what is attached, and returns what can be JSON, a `Reply`, or a
#: Deferred or a coroutine of any of these. It raises `CallFailed` with a code and a text to say no.
Function = Callable[[Sequence[Any], Sequence[Attachment]], object]

_log = Logger()


@attrs.define(slots=True, eq=False)
class Service:
    """One method that is served."""

    method: str
    function: Function
    options: Mapping[str, int]
    #: Fires when the bus agrees for the first time.
    agreed: Deferred[None] = attrs.field(factory=Deferred)


class Services:
    """All of one client, and the calls that it works on."""

    def __init__(self) -> None:
        self._services: dict[str, Service] = {}
        self._working: set[Deferred[Any]] = set()

    def add(self, service: Service) -> None:
        """Serve a method. Raises `LocalError` for one that is served already."""
        if service.method in self._services:
            raise LocalError(f"this client serves {service.method} already")
        self._services[service.method] = service

    def remove(self, method: str) -> bool:
        """Serve it no more. False if it was not served."""
        service = self._services.pop(method, None)
        if service is not None and not service.agreed.called:
            service.agreed.errback(Detached(f"{method} is no longer served"))
        return service is not None

    def offer_all(self, link: UMQLink) -> None:
        """Say on a new connection what is served."""
        for service in self._services.values():
            self.offer(service, link)

    def offer(self, service: Service, link: UMQLink) -> None:
        """Have the bus call us. Where the connection goes meanwhile, the next one will see to it."""
        link.ask("serve", service.method, service.options).addCallbacks(
            self._agreed, self._refused, callbackArgs=(service,), errbackArgs=(service,)
        )

    def work(self, link: UMQLink, call: Called) -> None:
        """Answer a call."""
        try:
            method, *arguments = decode_json(call.payload, list[Any])
        except (PeerError, ValueError):
            link.refuse(call.id, PROTOCOL_ERROR, "a call is an array whose first member is a method")
            return
        service = self._services.get(method) if isinstance(method, str) else None
        if service is None:
            link.refuse(call.id, UNKNOWN_METHOD, "nobody serves this method here")
            return
        self._work(service.function, arguments, link, call)

    def work_once(self, function: Function, link: UMQLink, call: CalledBack) -> None:
        """Answer a call that has come by a callback: all of its array is for the function."""
        try:
            arguments = decode_json(call.payload, list[Any])
        except PeerError:
            link.refuse(call.id, PROTOCOL_ERROR, "a callback is called with an array")
            return
        self._work(function, arguments, link, call)

    def _work(self, function: Function, arguments: Sequence[Any], link: UMQLink, call: Called | CalledBack) -> None:
        work = maybeDeferred(function, arguments, call.attachments)
        self._working.add(work)
        work.addCallback(_encoded).addBoth(self._has_worked, work, link, call.id)

    def stop_work(self) -> None:
        """The connection has gone: nobody waits for what is being worked on."""
        for work in list(self._working):
            work.cancel()

    def stop_all(self) -> None:
        """Serve nothing any more."""
        for method in list(self._services):
            self.remove(method)
        self.stop_work()

    def _agreed(self, reply: Reply, service: Service) -> None:
        if not service.agreed.called:
            service.agreed.callback(None)

    def _refused(self, reason: Failure, service: Service) -> None:
        if not isinstance(reason.value, CallFailed):
            return  # the connection has gone
        if self._services.get(service.method) is service:
            del self._services[service.method]
        if not service.agreed.called:
            service.agreed.errback(Refused(str(reason.value)))
        else:
            _log.warn("{method} is no longer served: {error}", method=service.method, error=reason.value)

    def _has_worked(self, result: _Encoded | Failure, work: Deferred[Any], link: UMQLink, id: int) -> None:
        self._working.remove(work)
        if not isinstance(result, Failure):
            link.answer(id, *result)
        elif isinstance(result.value, CallFailed):
            link.refuse(id, result.value.code, str(result.value))
        else:
            # what went wrong inside is not the caller's business
            if not result.check(CancelledError):
                _log.failure("a function that answers calls has failed", result)
            link.refuse(id, 0, "the server has failed")


_Encoded = tuple[bytes, Sequence[Attachment]]


def _encoded(result: object) -> _Encoded:
    reply = result if isinstance(result, Reply) else Reply(result)
    return msgspec.json.encode(reply.value), reply.attachments
