"""A protocol of units for the tests of carriers: says everything back, and notes what its link tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred, succeed
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import IBusProtocol, IFraming, IListener, IRouter, IServiceTopic, IUnitLink, IUnitProtocol
from fmqbus.model import Parting
from fmqbus.transports.units import UnitFactory


@implementer(IUnitProtocol)
class Echo:
    """One connection. Some texts are orders: ``bye`` and ``raise``."""

    def __init__(self, link: IUnitLink) -> None:
        self.link = link
        self.heard: list[str | bytes] = []
        #: What else the link tells.
        self.told: list[str] = []
        #: What `when_sent` returns, if a test wants to decide it.
        self.sent: Deferred[None] | None = None
        #: False for one that only listens.
        self.answers = True

    def text_arrived(self, text: bytes) -> None:
        self.heard.append(text.decode())
        if text == b"raise":
            raise ValueError("as asked")
        if text == b"bye":
            self.link.lose("as asked", Parting.NORMAL)
        elif self.answers:
            self.link.send_texts([text])

    def binary_arrived(self, octets: bytes) -> None:
        self.heard.append(octets)
        if self.answers:
            self.link.send_binary(octets)

    def turn_over(self) -> None:
        self.told.append("turn over")

    def link_full(self) -> None:
        self.told.append("full")

    def link_clear(self) -> None:
        self.told.append("clear")

    def link_lost(self, reason: str) -> None:
        self.told.append(f"lost {reason}")

    def when_sent(self) -> Deferred[None]:
        return succeed(None) if self.sent is None else self.sent


@implementer(IPlugin, IBusProtocol)
class EchoPlug:
    """The protocol as a vendor would add it."""

    name = "echo"
    default_listen: Sequence[str] = ("tcp:0:interface=127.0.0.1",)
    summary = "says everything back"

    def __init__(self, turns: Any, framing: IFraming) -> None:
        self._turns = turns
        self._framing = framing
        self.made: list[Echo] = []

    def make_factory(self, router: IRouter, listener: IListener, options: Mapping[str, Any]) -> UnitFactory:
        return UnitFactory(listener, self._turns, self.begin, self._framing)

    def begin(self, link: IUnitLink) -> Echo:
        """A connection is open."""
        self.made.append(Echo(link))
        return self.made[-1]

    def service_topics(self, options: Mapping[str, Any]) -> Sequence[IServiceTopic]:
        return ()
