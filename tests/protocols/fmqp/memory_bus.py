"""A whole bus in memory with FMQP clients, which hear packets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fmqbus.app.plugs import Plug
from fmqbus.interfaces import IServiceTopic
from fmqbus.model import PeerFacts
from tests.protocols import memory_bus
from tests.protocols.fmqp.packets import split
from tests.protocols.memory_bus import LOCAL, REMOTE

__all__ = ["LOCAL", "REMOTE", "Client", "MemoryBus"]


class MemoryBus(memory_bus.MemoryBus):
    """A bus that has been started, with one FMQP listener."""

    def __init__(self, config: str = "", *, service_topics: Sequence[Any] = ()) -> None:
        """`config` is the text of a configuration file, `service_topics` are a vendor's."""
        plugs = [Plug(IServiceTopic, topic.topic.decode(), "here", topic) for topic in service_topics]
        super().__init__("fmqp", config=config, plugs=plugs)

    @property
    def is_accepting(self) -> bool:
        """Whether the port is open."""
        return self.carriers["fmqp"].port.is_open

    def connect(self, *first: bytes, facts: PeerFacts = LOCAL) -> Client:
        """A new client, which says these packets at once."""
        client = Client(self, facts)
        client.say(*first)
        return client


class Client(memory_bus.MemoryConnection):
    """The far end of one connection."""

    def __init__(self, bus: memory_bus.MemoryBus, facts: PeerFacts = LOCAL) -> None:
        super().__init__(bus, "fmqp", facts)

    def heard(self) -> list[bytes]:
        """The packets that have come since the last call, each with its very octets."""
        return list(split(self.heard_octets()))
