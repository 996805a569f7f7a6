"""Two ends of a MicroMsg2 conversation in memory, and what each hears of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.micromsg2.connection import Connection, Role
from fmqbus.protocols.micromsg2.events import Event
from fmqbus.protocols.micromsg2.extensions.acknowledgement import ACK, BATCH_ACK
from fmqbus.protocols.micromsg2.extensions.dotnet import DOTNET
from fmqbus.protocols.micromsg2.extensions.pubsub import PUBSUB
from fmqbus.protocols.micromsg2.extensions.serializers import JSON, PROTOBUF, XML
from fmqbus.protocols.micromsg2.handshake import parse_entries
from fmqbus.protocols.micromsg2.negotiation import Offer

BUILT_IN: Sequence[IMicroMsg2Extension] = (ACK, BATCH_ACK, PUBSUB, DOTNET, JSON, XML, PROTOBUF)


def offer(
    identity: bytes = b"fmqbus",
    required: str = "",
    suggested: str = "",
    extensions: Sequence[IMicroMsg2Extension] = BUILT_IN,
    limits: Limits = DEFAULT_LIMITS,
) -> Offer:
    """What one end brings; lists as they are written."""
    return Offer(
        identity=identity,
        extensions=extensions,
        required=parse_entries(required),
        suggested=parse_entries(suggested),
        limits=limits,
    )


class End:
    """A connection, and all that it has told."""

    def __init__(self, role: Role, offer: Offer) -> None:
        self.connection = Connection(role, offer)
        self._events: list[Event] = []

    def hear(self, *pieces: bytes) -> list[Event]:
        """What the connection makes of these octets."""
        return [event for piece in pieces for event in self.connection.receive(piece)]

    def written(self) -> bytes:
        """All that it has written since the last call."""
        return b"".join(self.connection.take_output())

    def told(self) -> list[Any]:
        """All that it has told in a `Pair` since the last call."""
        events, self._events = self._events, []
        return events

    def take(self, octets: bytes) -> None:
        """Read them, for `told`."""
        self._events += self.hear(octets)


def server(**brought: Any) -> End:
    """One that a client connects to."""
    return End(Role.SERVER, offer(**brought))


def client(**brought: Any) -> End:
    """One that connects to a server; it has written its first step already."""
    return End(Role.CLIENT, offer(**{"identity": b"client", **brought}))


class Pair:
    """A server and a client, connected with each other; their handshake is over."""

    def __init__(self, required: str = "", *, server_limits: Limits = DEFAULT_LIMITS, **brought: Any) -> None:
        """`required` is what the client requires, `brought` is what both ends bring beside."""
        self.server = server(limits=server_limits, **brought)
        self.client = client(required=required, **brought)
        self.talk()
        self.server.told()
        self.client.told()

    def talk(self) -> None:
        """Let each read what the other has written, until neither writes any more."""
        while self.pass_on(self.client, self.server) or self.pass_on(self.server, self.client):
            pass

    def pass_on(self, speaker: End, listener: End) -> bytes:
        """Let one read what the other has written so far; returns that."""
        octets = speaker.written()
        if octets:
            listener.take(octets)
        return octets
