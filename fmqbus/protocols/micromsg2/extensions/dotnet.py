"""``dotnet``: the .NET type of a message travels before it. (MicroMsg2, DOTNET)

A type holds for all messages that follow, until the next (reading 63). It crosses the bus with each message, as a
property, and is told to those who chose ``dotnet`` when it is another than the last that they were told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.limits import Limits
from fmqbus.model import NO_PROPERTIES
from fmqbus.protocols.micromsg2.events import Event
from fmqbus.protocols.micromsg2.hooks import Hooks
from fmqbus.protocols.micromsg2.numbers import Numbers

#: The property of a message that holds its type.
TYPE = "dotnet:type"


class _Types:
    """The types last told on one connection, in either direction."""

    def __init__(self) -> None:
        self._received: Mapping[str, str] = NO_PROPERTIES
        self._sent = ""

    def frame_received(self, payload: bytes) -> Iterable[Event]:
        self._received = {TYPE: payload.decode("utf-8", "replace")}
        return ()

    def message_received(self, number: int) -> Mapping[str, str]:
        return self._received

    def before_message(self, number: int, properties: Mapping[str, str]) -> bytes | None:
        type_name = properties.get(TYPE, self._sent)
        if type_name == self._sent:
            return None
        self._sent = type_name
        return type_name.encode("utf-8", "replace")


@implementer(IPlugin, IMicroMsg2Extension)
class DotNet:
    """`IMicroMsg2Extension` of types."""

    name = "dotnet"
    aliases = ()
    choice = ""
    summary = "tells the .NET type of messages"

    def answer(self, properties: Mapping[str, str], limits: Limits) -> Mapping[str, str]:
        return {}

    def activate(self, properties: Mapping[str, str], numbers: Numbers, limits: Limits) -> Hooks:
        types = _Types()
        return Hooks(
            frame_received=types.frame_received,
            message_received=types.message_received,
            before_message=types.before_message,
        )


DOTNET = DotNet()
