"""``json``, ``xml`` and ``protobuf``: names of how payloads are written. (MicroMsg2, Extensions)

That both sides agree on one is all there is to it: the broker never converts a payload (reading 66).
"""

from __future__ import annotations

from collections.abc import Mapping

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.limits import Limits
from fmqbus.protocols.micromsg2.hooks import NO_HOOKS, Hooks
from fmqbus.protocols.micromsg2.numbers import Numbers


@implementer(IPlugin, IMicroMsg2Extension)
class Serializer:
    """`IMicroMsg2Extension` of an agreement, with nothing to do."""

    aliases = ()
    choice = "serializer"

    def __init__(self, name: str) -> None:
        self.name = name
        self.summary = f"payloads are {name}; they pass as they are"

    def answer(self, properties: Mapping[str, str], limits: Limits) -> Mapping[str, str]:
        return {}

    def activate(self, properties: Mapping[str, str], numbers: Numbers, limits: Limits) -> Hooks:
        return NO_HOOKS


JSON = Serializer("json")
XML = Serializer("xml")
PROTOBUF = Serializer("protobuf")
