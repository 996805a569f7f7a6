"""A whole bus in memory with MicroMsg2 clients, which hear frames; and with FMQP clients beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zope.interface import implementer

from fmqbus.app.plugs import Plug
from fmqbus.interfaces import IMessageStore, IMessageStoreMaker
from fmqbus.limits import Limits
from fmqbus.model import PeerFacts
from fmqbus.testing.message_store import MemoryMessageStore
from tests.protocols import memory_bus
from tests.protocols.fmqp.memory_bus import Client as FMQPClient
from tests.protocols.memory_bus import LOCAL
from tests.protocols.micromsg2.written import (
    ERROR,
    EXTENSION,
    LARGE_PAYLOAD,
    command,
    extension,
    handshake,
    message,
    payload_of,
    split,
    u16,
)

#: What most clients want.
USUAL = b"batch-ack:max-count=10;pubsub"
#: No acknowledgements.
PLAIN = b"pubsub"


class MemoryBus(memory_bus.MemoryBus):
    """A bus that has been started, with a MicroMsg2 and an FMQP listener."""

    def __init__(self, config: str = "", *, store: MemoryMessageStore | None = None) -> None:
        """`config` is the text of a configuration file; `store` keeps the queues, if there is one."""
        plugs = []
        if store is not None:
            config = f'message_store = "fake"\n{config}'
            plugs.append(Plug(IMessageStoreMaker, "fake", "here", _StorePlug(store)))
        super().__init__("micromsg2", "fmqp", config=config, plugs=plugs)

    def dial(self, *first: bytes, facts: PeerFacts = LOCAL) -> Client:
        """A new client, which says these octets and no handshake."""
        client = Client(self, facts)
        client.say(*first)
        return client

    def connect(self, extensions: bytes = USUAL, *first: bytes, facts: PeerFacts = LOCAL) -> Client:
        """A new client that requires these extensions, and says these frames right behind its handshake."""
        client = self.dial(2 * handshake(extensions), *first, facts=facts)
        reply = handshake(extensions, b"", b"fmqbus")
        heard = client.heard_octets()
        assert heard.startswith(reply)
        client.hears_already(heard.removeprefix(reply))
        return client

    def connect_fmqp(self, *first: bytes) -> FMQPClient:
        """A new client of the other protocol, which says these packets at once."""
        client = FMQPClient(self)
        client.say(*first)
        return client


class Client(memory_bus.MemoryConnection):
    """The far end of one connection. It has its own numbers, and acknowledges when a test says so."""

    def __init__(self, bus: memory_bus.MemoryBus, facts: PeerFacts = LOCAL) -> None:
        super().__init__(bus, "micromsg2", facts)
        self.number = 0
        self._heard = b""

    def hears_already(self, octets: bytes) -> None:
        """These belong to what will be heard."""
        self._heard += octets

    def heard(self) -> list[bytes]:
        """The frames that have come since the last call, each with its very octets."""
        octets, self._heard = self._heard + self.heard_octets(), b""
        return list(split(octets))

    def payloads(self) -> list[bytes]:
        """The payloads of the messages among them; there must be nothing else but acknowledgements."""
        frames = self.heard()
        assert not any(frame[0] & ERROR for frame in frames), frames
        return [payload_of(frame) for frame in frames if not frame[0] & EXTENSION]

    def complaints(self) -> list[str]:
        """The texts of the errors among them; there must be nothing else but acknowledgements."""
        frames = self.heard()
        assert all(frame[0] & (ERROR | EXTENSION) for frame in frames), frames
        return [frame[2:].decode() for frame in frames if frame[0] & ERROR]

    def subscribe(self, destination: str, *filters: str) -> None:
        """With such filters, percent-encoded already where need be."""
        text = ",".join([f"subscribe;destination={destination}", *(f"filter={each}" for each in filters)]).encode()
        self.say(command(text, LARGE_PAYLOAD if len(text) > 255 else 0))

    def unsubscribe(self, destination: str) -> None:
        self.say(command(f"unsubscribe;destination={destination}".encode()))

    def send(self, destination: bytes, *payloads: bytes, properties: bytes = b"") -> None:
        """Send messages in one segment, under the next numbers."""
        frames = []
        for payload in payloads:
            self.number = self.number % 65_535 + 1
            flags = LARGE_PAYLOAD if len(payload) > 255 else 0
            frames.append(message(self.number, destination, payload, properties, flags))
        self.say(*frames)

    def acknowledge(self, number: int, index: int = 1) -> None:
        """Say that everything up to this number is taken over; acknowledgements are the first extension."""
        self.say(extension(index, u16(number)))


@implementer(IMessageStoreMaker)
class _StorePlug:
    name = "fake"

    def __init__(self, store: IMessageStore) -> None:
        self._store = store

    def make(self, clock: Any, limits: Limits, options: Mapping[str, Any]) -> IMessageStore:
        return self._store
