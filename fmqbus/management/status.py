"""What is the bus doing? By requests on ``$/manage/status``; see docs/observability.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import attrs
import msgspec
from twisted.internet.defer import Deferred
from twisted.plugin import IPlugin
from zope.interface import implementer

import fmqbus
from fmqbus import names
from fmqbus.interfaces import IRouter, IServiceTopic
from fmqbus.management.requests import Addressed, RequestTopic, may_manage
from fmqbus.model import Principal, QueueStatus, SessionStatus

#: Of sessions and of queues, if the request does not say.
_FEW = 20


class Request(Addressed, forbid_unknown_fields=True, kw_only=True):
    """What can be asked."""

    do: Literal["show"]
    #: Sessions, and queues, that are told by name.
    most: Annotated[int, msgspec.Meta(ge=1, le=1000)] = _FEW


@implementer(IPlugin, IServiceTopic)
class BusStatus(RequestTopic):
    """``$/manage/status``."""

    topic = b"$/manage/status"
    summary = "requests about the bus as a whole, in JSON; answers come on $/manage/reply/TOKEN"

    def act(self, router: IRouter, principal: Principal, payload: bytes) -> Any:
        request = msgspec.json.decode(payload, type=Request)
        found: Deferred[Any] = router.busiest(request.most)
        return found.addCallback(_told, router, principal)


def _told(
    found: tuple[Sequence[SessionStatus], Sequence[QueueStatus]], router: IRouter, principal: Principal
) -> Mapping[str, Any]:
    sessions, queues = found
    return {
        "version": fmqbus.__version__,
        "checks": {**router.vitals.alive.results(), **router.vitals.ready.results()},
        "subscriptions": router.subscriptions,
        "protocols": {protocol: _protocol(router, protocol) for protocol in router.traffic},
        "sessions": [_session(status) for status in sessions],
        "queues": [
            {**attrs.asdict(status), "name": names.to_text(status.name)}
            for status in queues
            if may_manage(router, principal, status.name)
        ],
    }


def _protocol(router: IRouter, protocol: str) -> Mapping[str, Any]:
    traffic = router.traffic_of(protocol)
    return {
        "sessions": router.connected(protocol),
        "messages_in": traffic.messages_in,
        "messages_out": traffic.messages_out,
        "octets_in": traffic.octets_in,
        "octets_out": traffic.octets_out,
        "lost": traffic.losses,
        "refused": traffic.refusals,
    }


def _session(status: SessionStatus) -> Mapping[str, Any]:
    told = attrs.asdict(status, recurse=False)
    principal: Principal = told.pop("principal")
    facts = principal.facts
    return {
        "protocol": principal.protocol,
        "carrier": facts.carrier,
        "address": facts.address,
        "port": facts.port,
        "uid": facts.uid,
        "identity": principal.identity,
        **told,
    }


STATUS = BusStatus()
