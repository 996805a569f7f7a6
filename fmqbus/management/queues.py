"""How does an operator look at queues, and into them? By requests on ``$/manage/queues``; see docs/queues.md.

Who may talk to this topic is asked for his right to ``manage`` the very queue as well. A dead letter is still a message
of the queue where it died: who may not manage that one does not see it, nor remove it alone or send it back alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import attrs
import msgspec
from twisted.internet.defer import Deferred
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus import names
from fmqbus.errors import PeerError
from fmqbus.interfaces import IRouter, IServiceTopic
from fmqbus.management.requests import (
    PAYLOAD_OCTETS,
    Addressed,
    RequestTopic,
    demand_manage,
    may_manage,
    pages,
    shown,
)
from fmqbus.model import DEAD_LETTER_QUEUE, Principal, QueueStatus, StoredMessage

#: How many are told if the request does not say, and at most: an answer should stay small enough for any client.
_QUEUES, _MOST_QUEUES = 100, 1000
_MESSAGES, _MOST_MESSAGES = 10, 100
#: Of all payloads in one answer, if the request wants more than is told usually.
_MOST_OCTETS = 512 * 1024


class Request(Addressed, forbid_unknown_fields=True, kw_only=True):
    """What can be asked."""

    do: Literal["list", "show", "settings", "peek", "find", "purge", "remove", "requeue"]
    #: The queue that is meant; none for ``list``.
    queue: str = ""
    #: Of ``list``: only queues whose names come after this one.
    after: str = ""
    most: Annotated[int, msgspec.Meta(ge=1)] | None = None
    #: Of ``peek``: those that consumers hold, not those that wait.
    held: bool = False
    #: Of ``peek`` and ``find``: how much is told of each payload.
    octets: Annotated[int, msgspec.Meta(ge=1)] = PAYLOAD_OCTETS
    #: Of ``find``, ``remove`` and ``requeue``: just these messages.
    numbers: Annotated[list[int], msgspec.Meta(min_length=1, max_length=_MOST_MESSAGES)] | None = None
    #: Of ``find``: those that have these.
    properties: Annotated[dict[str, str], msgspec.Meta(min_length=1)] | None = None

    @property
    def name(self) -> bytes:
        """The queue's name as the bus has it. Raises `InvalidName`."""
        return names.from_text(self.queue)


def _list(router: IRouter, principal: Principal, request: Request) -> Mapping[str, Any]:
    most = min(request.most or _QUEUES, _MOST_QUEUES)
    found = pages(router.queues, request.after.encode(), most + 1, partial(may_manage, router, principal))
    failure = router.store_failure
    return {
        "queues": [_status(status) for status in found[:most]],
        "more": len(found) > most,
        "store_failure": None if failure is None else str(failure),
    }


def _show(router: IRouter, principal: Principal, request: Request) -> Mapping[str, Any]:
    status = router.queue(request.name)
    return {"error": "there is no such queue"} if status is None else {"queue": _status(status)}


def _settings(router: IRouter, principal: Principal, request: Request) -> Mapping[str, Any]:
    settings = router.queue_settings(request.name)
    dead_letter = None if settings.dead_letter is None else names.to_text(settings.dead_letter)
    return {
        "settings": {**attrs.asdict(settings), "overflow": settings.overflow.value, "dead_letter": dead_letter or ""}
    }


def _peek(router: IRouter, principal: Principal, request: Request) -> Mapping[str, Any]:
    most = min(request.most or _MESSAGES, _MOST_MESSAGES)
    return _messages(router, principal, router.peek(request.name, most, request.held), request)


def _find(router: IRouter, principal: Principal, request: Request) -> Mapping[str, Any] | Deferred[Mapping[str, Any]]:
    if (request.numbers is None) is (request.properties is None):
        raise PeerError("give either numbers or properties")
    if request.numbers is not None:
        return _messages(router, principal, router.find(request.name, request.numbers), request)
    most = min(request.most or _MESSAGES, _MOST_MESSAGES)
    found: Deferred[Any] = router.search(request.name, request.properties or {}, most)
    return found.addCallback(lambda messages: _messages(router, principal, messages, request))


def _purge(router: IRouter, principal: Principal, request: Request) -> Deferred[Mapping[str, Any]]:
    purged: Deferred[int] = router.purge(request.name)
    return purged.addCallback(lambda messages: {"purged": messages})


def _remove(router: IRouter, principal: Principal, request: Request) -> Deferred[Mapping[str, Any]]:
    if request.numbers is None:
        raise PeerError("give numbers")
    return _with_those(router, principal, request, "removed", router.purge)


def _requeue(router: IRouter, principal: Principal, request: Request) -> Deferred[Mapping[str, Any]]:
    if request.numbers is not None:
        return _with_those(
            router, principal, request, "requeued", lambda name, numbers: router.requeue(name, None, numbers)
        )
    requeued: Deferred[int] = router.requeue(request.name, request.most)
    return requeued.addCallback(lambda messages: {"requeued": messages})


def _with_those(
    router: IRouter,
    principal: Principal,
    request: Request,
    done: str,
    act: Callable[[bytes, Sequence[int]], Deferred[int]],
) -> Deferred[Mapping[str, Any]]:
    """Do this with some messages, and tell of the others why it was not done to them."""
    name, asked = request.name, list(dict.fromkeys(request.numbers or ()))
    there = {stored.number for stored in router.find(name, asked) if _may_see(router, principal, stored)}
    numbers = [number for number in asked if number in there]

    def tell(count: int) -> Mapping[str, Any]:
        left = router.find(name, numbers)
        return {
            done: count,
            "held": [stored.number for stored in left if stored.taken_at is not None],
            "stayed": [stored.number for stored in left if stored.taken_at is None],
            "missing": [number for number in asked if number not in there],
        }

    return act(name, numbers).addCallback(tell)


_VERBS: Mapping[str, Callable[[IRouter, Principal, Request], Any]] = {
    "list": _list,
    "show": _show,
    "settings": _settings,
    "peek": _peek,
    "find": _find,
    "purge": _purge,
    "remove": _remove,
    "requeue": _requeue,
}


@implementer(IPlugin, IServiceTopic)
class QueueManagement(RequestTopic):
    """``$/manage/queues``."""

    topic = b"$/manage/queues"
    summary = "requests about queues, in JSON; answers come on $/manage/reply/TOKEN"

    def act(self, router: IRouter, principal: Principal, payload: bytes) -> Any:
        request = msgspec.json.decode(payload, type=Request)
        if request.do != "list":
            demand_manage(router, principal, request.name)
        return _VERBS[request.do](router, principal, request)


def _status(status: QueueStatus) -> Mapping[str, Any]:
    return {**attrs.asdict(status), "name": names.to_text(status.name)}


def _may_see(router: IRouter, principal: Principal, stored: StoredMessage) -> bool:
    origin = stored.message.properties.get(DEAD_LETTER_QUEUE)
    return origin is None or may_manage(router, principal, names.from_text(origin))


def _messages(
    router: IRouter, principal: Principal, found: Sequence[StoredMessage], request: Request
) -> Mapping[str, Any]:
    """Messages for people, with no more of their payloads than fits into an answer."""
    messages = [stored for stored in found if _may_see(router, principal, stored)]
    octets = min(request.octets, max(_MOST_OCTETS // max(len(messages), 1), PAYLOAD_OCTETS))
    return {"messages": [_message(stored, octets) for stored in messages]}


def _message(stored: StoredMessage, octets: int = PAYLOAD_OCTETS) -> Mapping[str, Any]:
    message = stored.message
    return {
        "number": stored.number,
        "topic": names.to_text(message.topic),
        "octets": len(message.payload),
        **shown(message.payload, octets),
        "properties": dict(message.properties),
        "priority": stored.priority,
        "expires_at": stored.expires_at,
        "not_before": stored.not_before or None,
        "deliveries": stored.deliveries,
        "redelivered": stored.is_redelivered,
        "held_since": stored.taken_at,
    }


QUEUES = QueueManagement()
