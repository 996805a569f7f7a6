"""How does an operator look at queues, and into them? By requests on ``$/manage/queues``, over the bus itself.

A request is one JSON object, and so is the answer, which is published on ``$/manage/reply/TOKEN``; the token is the
requester's choice. Any protocol that can publish and subscribe can manage, then, if the authorizer allows ``control``
on the topic. docs/queues.md has all requests and answers.
"""

from __future__ import annotations

import codecs
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import attrs
import msgspec
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.logger import Logger
from twisted.plugin import IPlugin
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus import names
from fmqbus.errors import BusError
from fmqbus.interfaces import IRouter, IServiceContext, IServiceTopic
from fmqbus.model import Message, Principal, QueueStatus, StoredMessage

_log = Logger()

_REPLIES = b"$/manage/reply/"
#: How many are told if the request does not say, and at most: an answer should stay small enough for any client.
_QUEUES, _MOST_QUEUES = 100, 1000
_MESSAGES, _MOST_MESSAGES = 10, 100
#: Of each message that is told.
_PAYLOAD_OCTETS = 4096


class Addressed(msgspec.Struct):
    """Where the answer goes; all that is read of a request that is wrong otherwise."""

    reply: Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9_-]{1,64}\Z")]


class Request(Addressed, forbid_unknown_fields=True, kw_only=True):
    """What can be asked."""

    do: Literal["list", "show", "peek", "purge", "requeue"]
    #: The queue that is meant; none for ``list``.
    queue: str = ""
    #: Of ``list``: only queues whose names come after this one.
    after: str = ""
    most: Annotated[int, msgspec.Meta(ge=1)] | None = None


def _list(router: IRouter, request: Request) -> Mapping[str, Any]:
    most = min(request.most or _QUEUES, _MOST_QUEUES)
    found = router.queues(request.after.encode(), most + 1)
    failure = router.store_failure
    return {
        "queues": [_status(status) for status in found[:most]],
        "more": len(found) > most,
        "store_failure": None if failure is None else str(failure),
    }


def _show(router: IRouter, request: Request) -> Mapping[str, Any]:
    status = router.queue(names.from_text(request.queue))
    return {"error": "there is no such queue"} if status is None else {"queue": _status(status)}


def _peek(router: IRouter, request: Request) -> Mapping[str, Any]:
    most = min(request.most or _MESSAGES, _MOST_MESSAGES)
    return {"messages": [_message(stored) for stored in router.peek(names.from_text(request.queue), most)]}


def _purge(router: IRouter, request: Request) -> Deferred[Mapping[str, Any]]:
    purged: Deferred[int] = router.purge(names.from_text(request.queue))
    return purged.addCallback(lambda messages: {"purged": messages})


def _requeue(router: IRouter, request: Request) -> Deferred[Mapping[str, Any]]:
    requeued: Deferred[int] = router.requeue(names.from_text(request.queue), request.most)
    return requeued.addCallback(lambda messages: {"requeued": messages})


_VERBS: Mapping[str, Callable[[IRouter, Request], Any]] = {
    "list": _list,
    "show": _show,
    "peek": _peek,
    "purge": _purge,
    "requeue": _requeue,
}


@implementer(IPlugin, IServiceTopic)
class QueueManagement:
    """``$/manage/queues``."""

    topic = b"$/manage/queues"
    summary = "requests about queues, in JSON; answers come on $/manage/reply/TOKEN"

    def start(self, context: IServiceContext) -> None:
        """Nothing is told unasked."""

    def stop(self, context: IServiceContext) -> None:
        """See `start`."""

    def clients_changed(self, context: IServiceContext) -> None:
        """See `start`."""

    def received(self, context: IServiceContext, principal: Principal, message: Message) -> None:
        try:
            token = msgspec.json.decode(message.payload, type=Addressed).reply
        except msgspec.DecodeError as error:
            _log.info("a request on {topic} cannot be answered: {error}", topic=self.topic.decode(), error=error)
            return

        def answer(content: Mapping[str, Any]) -> None:
            context.router.publish_service(Message(_REPLIES + token.encode(), msgspec.json.encode(content)))

        answered = maybeDeferred(self._act, context.router, message.payload).addErrback(self._explain)
        answered.addCallback(answer).addErrback(lambda failure: _log.failure("an answer was not given", failure))

    @staticmethod
    def _act(router: IRouter, payload: bytes) -> Any:
        request = msgspec.json.decode(payload, type=Request)
        return _VERBS[request.do](router, request)

    @staticmethod
    def _explain(failure: Failure) -> Mapping[str, Any]:
        failure.trap(BusError, msgspec.DecodeError)
        return {"error": failure.getErrorMessage()}


def _status(status: QueueStatus) -> Mapping[str, Any]:
    return {**attrs.asdict(status), "name": names.to_text(status.name)}


def _message(stored: StoredMessage) -> Mapping[str, Any]:
    """A message for people: its payload as text if it is text, else in base64, and not all of it if it is long."""
    message = stored.message
    payload = message.payload[:_PAYLOAD_OCTETS]
    try:
        # a character that is cut at the end is left out
        content = {"text": codecs.getincrementaldecoder("utf-8")().decode(payload, payload == message.payload)}
    except UnicodeDecodeError:
        content = {"base64": b64encode(payload).decode()}
    return {
        "number": stored.number,
        "topic": names.to_text(message.topic),
        "octets": len(message.payload),
        **content,
        "properties": dict(message.properties),
        "priority": stored.priority,
        "expires_at": stored.expires_at,
        "not_before": stored.not_before or None,
        "deliveries": stored.deliveries,
        "redelivered": stored.is_redelivered,
    }


QUEUES = QueueManagement()
