"""Both ends of a MicroMsg2 conversation in memory: what each hears, tells and writes. For extensions, as for the rest.

No octet moves but by a test's own hand, and none needs a session: what a connection tells is what a session would act
on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.micromsg2.codec import Run
from fmqbus.protocols.micromsg2.connection import Connection, Role
from fmqbus.protocols.micromsg2.events import NOTHING, Event
from fmqbus.protocols.micromsg2.extensions.built_in import BUILT_IN as BUILT_IN
from fmqbus.protocols.micromsg2.frames import Received
from fmqbus.protocols.micromsg2.handshake import parse_entries
from fmqbus.protocols.micromsg2.negotiation import Offer


def offer(
    identity: bytes = b"fmqbus",
    required: str = "",
    suggested: str = "",
    extensions: Sequence[IMicroMsg2Extension] = BUILT_IN,
    limits: Limits = DEFAULT_LIMITS,
) -> Offer:
    """What one end brings to a handshake; the lists as they are written there."""
    return Offer(
        identity=identity,
        extensions=extensions,
        required=parse_entries(required),
        suggested=parse_entries(suggested),
        limits=limits,
    )


class End:
    """One end: a connection, fed by hand."""

    def __init__(self, role: Role, brought: Offer) -> None:
        self.connection = Connection(role, brought)

    def hear(self, *pieces: bytes) -> list[Event]:
        """What the connection tells of these octets; `messages_of` takes its runs apart."""
        told = [event for piece in pieces for event in self.connection.receive(piece)]
        return [event for event in told if event is not NOTHING]

    def written(self) -> bytes:
        """All that it has written since the last call."""
        return b"".join(self.connection.take_output())


def server(**brought: Any) -> End:
    """The end that was connected to, with what `offer` takes."""
    return End(Role.SERVER, offer(**brought))


def client(**brought: Any) -> End:
    """The end that connected; it has written its first step already."""
    return End(Role.CLIENT, offer(**{"identity": b"client", **brought}))


class Pair:
    """A server and a client whose handshake is over."""

    def __init__(self, required: str = "", extensions: Sequence[IMicroMsg2Extension] = BUILT_IN) -> None:
        """`required` is what the client requires; both ends have the same extensions."""
        self.server = server(extensions=extensions)
        self.client = client(required=required, extensions=extensions)
        self.talk()

    def talk(self) -> list[Event]:
        """Let each end read what the other has written, until neither writes any more; each message is safe as soon as
        it comes. Returns all that both told."""
        told: list[Event] = []
        ends = (self.client, self.server)
        is_quiet = False
        while not is_quiet:
            is_quiet = True
            for speaker, listener in (ends, ends[::-1]):
                speaker.connection.acknowledge_now()
                octets = speaker.written()
                is_quiet &= not octets
                for event in listener.hear(octets):
                    told.append(event)
                    for message in messages_of([event]):
                        listener.connection.safe(message.number)
        return told


def messages_of(events: Iterable[Event]) -> Iterator[Received]:
    """The messages among what was told, one by one."""
    for event in events:
        if isinstance(event, Run):
            yield from event.frames
        elif isinstance(event, Received):
            yield event
