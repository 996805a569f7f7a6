"""How does an operator look at queues, and into them? By requests on ``$/manage/queues``; see docs/queues.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import attrs
import msgspec
from twisted.internet.defer import Deferred
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus import names
from fmqbus.interfaces import IRouter, IServiceTopic
from fmqbus.management.requests import Addressed, RequestTopic, shown
from fmqbus.model import Principal, QueueStatus, StoredMessage

#: How many are told if the request does not say, and at most: an answer should stay small enough for any client.
_QUEUES, _MOST_QUEUES = 100, 1000
_MESSAGES, _MOST_MESSAGES = 10, 100


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
class QueueManagement(RequestTopic):
    """``$/manage/queues``."""

    topic = b"$/manage/queues"
    summary = "requests about queues, in JSON; answers come on $/manage/reply/TOKEN"

    def act(self, router: IRouter, principal: Principal, payload: bytes) -> Any:
        request = msgspec.json.decode(payload, type=Request)
        return _VERBS[request.do](router, request)


def _status(status: QueueStatus) -> Mapping[str, Any]:
    return {**attrs.asdict(status), "name": names.to_text(status.name)}


def _message(stored: StoredMessage) -> Mapping[str, Any]:
    """A message for people."""
    message = stored.message
    return {
        "number": stored.number,
        "topic": names.to_text(message.topic),
        "octets": len(message.payload),
        **shown(message.payload),
        "properties": dict(message.properties),
        "priority": stored.priority,
        "expires_at": stored.expires_at,
        "not_before": stored.not_before or None,
        "deliveries": stored.deliveries,
        "redelivered": stored.is_redelivered,
    }


QUEUES = QueueManagement()
