"""How does a UMQ client call, and answer when it is called? By the methods that it serves, and by callbacks.

What it hears of otherwise is `fmqbus.client.umq`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure

from fmqbus import names
from fmqbus.calls import EXPIRED
from fmqbus.client.outgoing import Outgoing
from fmqbus.client.reconnecting import ReconnectingClient
from fmqbus.client.umq_callbacks import Callbacks
from fmqbus.client.umq_link import Reply, Request, UMQLink
from fmqbus.client.umq_services import Function, Service, Services
from fmqbus.client.umq_words import encode_call
from fmqbus.errors import CallFailed, PeerError
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.codec import UNKNOWN_CALLBACK, encode_id, parse_id
from fmqbus.protocols.umq.events import Called, CalledBack
from fmqbus.waiting import Waiters


class CallingClient(ReconnectingClient):
    """The client, its calls, and what answers those of others."""

    _outgoing: Outgoing[Request]
    _link: UMQLink | None

    def __init__(self, *connection: Any) -> None:
        """`connection` is what a `ReconnectingClient` takes."""
        super().__init__(*connection)
        #: The ends of all calls, of which some wait and some are on their way.
        self._pending: dict[Deferred[Reply], None] = {}
        self._services = Services()
        self._callbacks = Callbacks(self._limits.callbacks_per_peer)

    # calls

    def call(
        self, method: str, *arguments: Any, attachments: Sequence[Attachment] = (), timeout: float | None = None
    ) -> Deferred[Any]:
        """Call a method of the bus, or of whoever serves it there, and return a Deferred of the result's value.

        It fails with `CallFailed`, which has the code and the text of the other side; after `timeout` seconds too, with
        the reason ``expired``. Cancelling it keeps the call from being sent, or the answer from being waited for; the
        server is not told. Calls wait while there is no connection or no room: raises `Overloaded` when more than
        `Limits.outbox_octets` wait; see `when_room`. After the client has stopped, raises `Detached`; raises
        `LocalError` for what JSON has no form for, and for what is too large.
        """
        return self.request(method, *arguments, attachments=attachments, timeout=timeout).addCallback(_value)

    def request(
        self, method: str, *arguments: Any, attachments: Sequence[Attachment] = (), timeout: float | None = None
    ) -> Deferred[Reply]:
        """As `call`, but with what is attached to the result."""
        payload = encode_call([method, *arguments], attachments, self._limits)
        request: Request = Request(payload, tuple(attachments), Deferred(lambda _: self._withdraw(request, taken)))
        taken = self._outgoing.send(request)
        taken.addErrback(request.fail)
        if timeout is not None:
            request.answer.addTimeout(timeout, self._reactor, _expired)
        return self._noted(request.answer)

    def _withdraw(self, request: Request, taken: Deferred[None]) -> None:
        taken.cancel()
        if self._link is not None:
            self._link.forget(request)

    def _noted(self, answer: Deferred[Reply]) -> Deferred[Reply]:
        def forget(result: Reply | Failure) -> Reply | Failure:
            del self._pending[answer]
            return result

        self._pending[answer] = None
        return answer.addBoth(forget)

    async def sync(self) -> None:
        """Wait until all that was asked so far has its answer, or has failed; subscriptions too, where there is a
        connection. Cancelling this cancels no call."""
        done = Waiters()
        waiting = done.wait()
        asked = () if self._link is None else self._link.unanswered
        DeferredList(list(dict.fromkeys((*self._pending, *asked)))).addCallback(lambda _: done.fire())
        await waiting

    # what answers calls

    def serve(self, method: str, function: Function, *, window: int = 100, weight: int = 1) -> Deferred[None]:
        """Have calls of a method answered by a function: it gets the list of the arguments and that of what is
        attached. `window` calls may be in hand at a time; `weight` is the share among servers with room.

        Returns a Deferred that fires once the bus has agreed, and fails with `Refused` if it does not. The calls in
        hand are cancelled when the connection goes. Raises `LocalError` for a method that this client serves already.
        """
        names.from_text(method)
        service = Service(method, function, {"window": window, "weight": weight})
        self._services.add(service)
        if self._link is not None:
            self._services.offer(service, self._link)
        return service.agreed

    def unserve(self, method: str) -> Deferred[Any]:
        """Serve it no more; calls in hand are still answered. Returns a Deferred of what the bus says to it."""
        self._services.remove(method)
        return self.call("unserve", method)

    def add_callback(self, function: Function) -> str:
        """Let the bus call a function back, once (UMQ, Command B; reading 29), and return the id to be told in a call,
        as in ``call("serve", "sum", {"callback": id})``.

        The function is as for `serve`, but its arguments are all that the array of the callback says: for a method that
        is served by it, the method comes first. It can be called over any connection until it has been called, though
        a bus that has been told of it on one that has gone does not know it any more. Raises `Overloaded` when
        `Limits.callbacks_per_peer` wait to be called.
        """
        id = self._callbacks.add(function)
        if self._link is not None:
            self._link.allow_callback(id)
        return encode_id(id).decode()

    def remove_callback(self, id: str) -> bool:
        """Let it be called no more: who tries is told that there is none. False if it has been called, or is none."""
        try:
            number = parse_id(id)
        except PeerError:
            return False
        if self._link is not None:
            self._link.withdraw_callback(number)
        return self._callbacks.take(number) is not None

    # what the connection tells; `fmqbus.client.umq_link.UMQLinkOwner`

    def greet(self, link: UMQLink) -> None:
        """Others may call."""
        for id in self._callbacks:
            link.allow_callback(id)
        self._services.offer_all(link)

    def connection_gone(self, link: UMQLink) -> None:
        """Nobody waits for what we work on."""
        self._services.stop_work()

    def forget_wishes(self) -> None:
        self._services.stop_all()
        self._callbacks.clear()

    def called(self, link: UMQLink, call: Called) -> None:
        """Somebody calls what we serve."""
        self._services.work(link, call)

    def called_back(self, link: UMQLink, call: CalledBack) -> None:
        """Somebody calls a callback, for the only time; what was told before in one read may have removed it."""
        function = self._callbacks.take(call.tag)
        if function is None:
            link.refuse(call.id, UNKNOWN_CALLBACK, "there is no such callback any more")
        else:
            self._services.work_once(function, link, call)


def _value(reply: Reply) -> Any:
    return reply.value


def _expired(result: object, seconds: float) -> Any:
    raise CallFailed(f"no answer within {seconds:g} s", reason=EXPIRED)
