"""Profile ``test``: one resource, from all writers to all readers. (MTL, The Test Profile; reading 52)

The resource is a topic of the bus, `NAME` in the client's virtual host. Nothing is confirmed, nothing kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.errors import Refused
from fmqbus.interfaces import IMTLClient, IMTLFlow, IMTLProfile
from fmqbus.model import Action
from fmqbus.protocols.mtl.profiles.topic import TopicReader, TopicWriter

RESOURCE = b"resource"
#: What it is called on the bus.
NAME = b"mtl/test"


class _Renamed:
    """A flow whose one resource is a topic of another name."""

    def __init__(self, flow: IMTLFlow) -> None:
        self._flow = flow
        self._name = flow.name_of(NAME)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._flow, attribute)

    def name_of(self, resource: bytes) -> bytes:
        return self._name


class FanOutWriter(TopicWriter):
    """One flow that writes."""

    def write(self, resource: bytes, table: bytes, body: bytes) -> None:
        """A property ``retain`` is a property as any other: nothing is kept."""
        self.gather(resource, table, body, is_kept=False)


@implementer(IPlugin, IMTLProfile)
class FanOut:
    """The profile."""

    name = "test"
    summary = "one resource, whose contents go from all writers to all readers"
    resources: Sequence[bytes] = (RESOURCE,)
    confirms_readers = False
    confirms_writers = False

    def demand(self, client: IMTLClient, is_reader: bool, resource: bytes) -> None:
        action = Action.SUBSCRIBE if is_reader else Action.PUBLISH
        if not client.router.authorize(client.principal, action, client.name_of(NAME)):
            raise Refused(f"{action.value} is not allowed")

    def reader(self, flow: IMTLFlow) -> TopicReader:
        renamed: Any = _Renamed(flow)
        return TopicReader(renamed)

    def writer(self, flow: IMTLFlow) -> FanOutWriter:
        renamed: Any = _Renamed(flow)
        return FanOutWriter(renamed)


TEST = FanOut()
