"""WebSocket as a way for units to travel: what one listener has of it."""

from __future__ import annotations

from typing import Any

import attrs
from autobahn.twisted.websocket import WebSocketServerFactory
from twisted.web.resource import IResource
from zope.interface import implementer

from fmqbus.interfaces import IFraming, IListener
from fmqbus.transports.idle import SilenceSweep
from fmqbus.transports.preamble import WaitingRoom
from fmqbus.transports.units import Begin, LinkFactory
from fmqbus.transports.websocket.engine import Engine
from fmqbus.transports.websocket.link import WebSocketLink
from fmqbus.transports.websocket.opening import OpeningFactory
from fmqbus.transports.websocket.pages import PlainSite, pages
from fmqbus.transports.websocket.settings import WebSocketSettings
from fmqbus.turns import Turns


@implementer(IFraming)
@attrs.frozen
class WebSocket:
    """Units are WebSocket messages, and beside them are pages."""

    settings: WebSocketSettings
    #: Chosen where a client offers it; one that offers none, or others, is let in too (reading 44 of UMQ).
    subprotocol: str
    pages: IResource = attrs.field(factory=pages)

    def make_factory(self, listener: IListener, turns: Turns, begin: Begin) -> OpeningFactory:
        settings, clock = self.settings, listener.clock
        sweep: SilenceSweep[WebSocketLink] = SilenceSweep(
            clock, turns, settings.ping_seconds, settings.pong_seconds, WebSocketLink.ping
        )
        autobahn = WebSocketServerFactory(protocols=[self.subprotocol], server="", reactor=clock)

        def make_engine(owner: Any) -> Engine:
            return Engine(owner, autobahn, settings, listener.limits.body_octets)

        links = _Links(lambda: WebSocketLink(listener, turns, begin, make_engine, sweep), sweep)
        path = settings.path.encode()
        return OpeningFactory(links, WaitingRoom(clock), PlainSite(self.pages, path, clock), path)


class _Links(LinkFactory):
    """Also has the sweep go while the port is open."""

    def __init__(self, make_link: Any, sweep: SilenceSweep[WebSocketLink]) -> None:
        super().__init__(make_link)
        self._sweep = sweep

    def startFactory(self) -> None:
        self._sweep.start()

    def stopFactory(self) -> None:
        self._sweep.stop()
