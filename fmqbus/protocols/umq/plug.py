"""UMQ as a plug: what ``umq:`` in a listen string stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import IBusProtocol, IListener, IRouter, IServiceTopic, IUMQMethod, IUnitLink
from fmqbus.protocols.umq.method_table import MethodTable
from fmqbus.protocols.umq.session import UMQSession
from fmqbus.settings import read_table
from fmqbus.transports.units import UnitFactory
from fmqbus.transports.websocket.framing import WebSocket
from fmqbus.transports.websocket.settings import WebSocketSettings, read_settings

#: Where it is where nothing is said; also the name of the subprotocol (reading 44).
PATH, _SUBPROTOCOL = "/umq", "umq"


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[protocols.umq]``."""

    #: See `WebSocketSettings`.
    websocket: Any = {}


@implementer(IPlugin, IBusProtocol)
class UMQPlug:
    """`IBusProtocol` of UMQ."""

    name = "umq"
    default_listen = ("tcp:7702:interface=127.0.0.1",)
    summary = "UMQ: calls, topics and queues over WebSocket"

    def make_factory(self, router: IRouter, listener: IListener, options: Mapping[str, Any]) -> UnitFactory:
        methods = MethodTable(listener.parts(IUMQMethod))

        def begin(link: IUnitLink) -> UMQSession:
            return UMQSession(router, link, methods, listener.logins)

        return UnitFactory(listener, router.turns, begin, WebSocket(_settings(options), _SUBPROTOCOL))

    def service_topics(self, options: Mapping[str, Any]) -> Sequence[IServiceTopic]:
        _settings(options)
        return ()


def _settings(options: Mapping[str, Any]) -> WebSocketSettings:
    table = read_table(Options, options, "protocols.umq").websocket
    return read_settings(table, "protocols.umq.websocket", PATH)


UMQ = UMQPlug()
