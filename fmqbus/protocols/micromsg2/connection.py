"""One MicroMsg2 conversation, as a server or as a client: octets in, events and octets out. No I/O, no clock.

What may come when:

=============== ====== =========================== ================================= ==============
state           whose  reads                       at an ERROR                       may send
=============== ====== =========================== ================================= ==============
request awaited server the client's first step     tells of it, closed               nothing
reply awaited   client the server's step           tells of it, closed               nothing
final awaited   server the client's last step      tells of it, closed               nothing
refused         both   the rest of an ERROR        tells of it, closed               nothing
open            both   frames                      tells of it; a server is closed   frames
closed          both   nothing                     --                                nothing
=============== ====== =========================== ================================= ==============

A step of the handshake and an ERROR in its place differ in one bit of the first octet (reading 3). Whatever does not
fit ends in an ERROR of ours and `Failed`. Both sides send messages, acknowledge them and keep to the window alike; only
what may be asked by COMMAND is the client's to ask (reading 55).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fmqbus.errors import BusError, PeerError
from fmqbus.model import NO_PROPERTIES, Publication
from fmqbus.protocols.micromsg2 import codec, frames, handshake, negotiation
from fmqbus.protocols.micromsg2.codec import Command, Decoder, Error, Extension, Part, Run
from fmqbus.protocols.micromsg2.events import (
    NOTHING,
    Acknowledged,
    ErrorReceived,
    Event,
    Failed,
    Opened,
    Refused,
    Released,
    Settled,
)
from fmqbus.protocols.micromsg2.fields import Pairs
from fmqbus.protocols.micromsg2.frames import Frames, Received
from fmqbus.protocols.micromsg2.handshake import Handshake
from fmqbus.protocols.micromsg2.hooks import NO_HOOKS, Hooks
from fmqbus.protocols.micromsg2.negotiation import Agreed, Offer
from fmqbus.protocols.micromsg2.numbers import Numbers
from fmqbus.protocols.micromsg2.outgoing import Outgoing
from fmqbus.protocols.micromsg2.properties import from_bus
from fmqbus.protocols.micromsg2.receipts import Receipts
from fmqbus.protocols.micromsg2.wire import WIRE


class Role(enum.Enum):
    """Who of the two has connected to the other (MicroMsg2, Client/Server architecture)."""

    SERVER = "server"
    CLIENT = "client"


class State(enum.Enum):
    """See the table at the head of this file."""

    REQUEST_AWAITED = "request awaited"
    REPLY_AWAITED = "reply awaited"
    FINAL_AWAITED = "final awaited"
    REFUSED = "refused"
    OPEN = "open"
    CLOSED = "closed"


class Connection:
    """The conversation. Give it what was read, act on its events, then write what is to be written."""

    def __init__(self, role: Role, offer: Offer) -> None:
        self.role = role
        self.state = State.REQUEST_AWAITED
        #: The extensions in use; known once it is open.
        self.agreed: tuple[Agreed, ...] = ()
        #: How many frames of messages may be sent before any is acknowledged; known then, too.
        self.window = 0
        self._offer = offer
        self._reply = Handshake()
        #: Of a handshake that is not whole.
        self._held = bytearray()
        self._decoder = Decoder(offer.limits)
        self._numbers = Numbers()
        self._hooks: Mapping[int, Hooks] = {}
        self._commands: Mapping[str, Callable[[Pairs], Iterable[Event]]] = {}
        self._message_received: Sequence[Callable[[int], Mapping[str, str]]] = ()
        self._outgoing = Outgoing(self._numbers, self._hooks)
        self._receipts = Receipts()
        self._chunks: list[bytes] = []
        if role is Role.CLIENT:
            self.state = State.REPLY_AWAITED
            self._chunks.append(handshake.encode(negotiation.request(offer)))

    @property
    def held(self) -> int:
        """Octets held for what has not fully arrived."""
        return len(self._held) + self._decoder.held

    @property
    def is_acknowledged(self) -> bool:
        """Whether the other side says which messages it has taken over; without that, what is sent is done."""
        return any(hooks.acknowledge for hooks in self._hooks.values())

    @property
    def is_waiting(self) -> bool:
        """Whether something that was to be sent waits for room. Give no more then, until `Released` comes."""
        return self._outgoing.is_waiting

    @property
    def is_owing(self) -> bool:
        """Whether something that is safe has not been acknowledged yet, so that more can go with it."""
        return self._receipts.is_owing

    def take_output(self) -> list[bytes]:
        """What is to be written, in order; each only once."""
        chunks, self._chunks = self._chunks, []
        return chunks

    # what is to be said

    def send(
        self, destination: bytes, payload: bytes, properties: Mapping[str, str] = NO_PROPERTIES, tag: Any = None
    ) -> None:
        """Send one message. `tag` comes back in `Acknowledged`, where messages are acknowledged. Raises `LocalError`
        for a destination of more than 255 octets."""
        self._send(Frames.of([(destination, from_bus(properties), payload)]), properties, [tag])

    def send_all(self, messages: Sequence[tuple[bytes, bytes, Mapping[str, str], Any]]) -> None:
        """Send several, each given as the arguments of `send`."""
        if self._outgoing.sees_messages:
            for message in messages:
                self.send(*message)
            return
        frames = Frames.of(
            [(destination, from_bus(properties), payload) for destination, payload, properties, _ in messages]
        )
        self._send(frames, tags=[tag for *_, tag in messages])

    def deliver(self, publications: Iterable[Publication]) -> None:
        """Send runs of messages to topics; each is encoded once for all who get it."""
        if not self._outgoing.sees_messages:
            self._send(Frames.joined([publication.encoded(WIRE) for publication in publications]))
            return
        for publication in publications:
            if publication.count == 1:
                self._send(publication.encoded(WIRE), publication.messages[0].properties)
            else:
                for message in publication.messages:
                    self._send(WIRE.encode([message]), message.properties)

    def command(self, name: str, arguments: Pairs = ()) -> None:
        """Send a COMMAND, as a client."""
        if self.state is State.OPEN:
            self._chunks += codec.encode_command(name, arguments)

    def extend(self, name: str, payload: bytes) -> None:
        """Send an EXTENSION frame for the extension of this name, if it was agreed on."""
        if self.state is State.OPEN:
            for agreed in self.agreed:
                if agreed.extension.name == name:
                    self._chunks += codec.encode_extension(agreed.index, payload)

    def safe(self, number: int) -> None:
        """All messages received up to this number are safe: they may be acknowledged. To be said in order."""
        self._receipts.safe(number, self._say_safe)

    def acknowledge_now(self) -> None:
        """Let nothing more go with what is owing."""
        self._receipts.say_now(self._say_safe)

    def refuse(self, text: str) -> None:
        """Tell a client that what it asked for cannot be; the connection goes on (reading 30). A client has no such
        word: to a server, an ERROR is the end."""
        if self.state is State.OPEN and self.role is Role.SERVER:
            self._chunks += codec.encode_error(text)

    def fail(self, text: str) -> None:
        """Say why this is the end. What is to be written then is the last."""
        if self.state is not State.CLOSED:
            self.state = State.CLOSED
            self._chunks += codec.encode_error(text)

    def close(self) -> None:
        """The other side has gone: say nothing more, and forget what had not fully arrived."""
        self.state = State.CLOSED
        self._held.clear()
        self._decoder = Decoder(self._offer.limits)

    # what the other side says

    def receive(self, data: bytes) -> Iterator[Event]:
        """Take what one read brought; yield what comes of it, in order. What is asked of the connection meanwhile takes
        effect at once. The iterator must be used up before the next call."""
        try:
            if self.state in _STEPS:
                data = yield from self._shake_hands(data)
            if self.state in (State.REFUSED, State.OPEN):
                yield from self._read(data)
        except PeerError as error:
            self.fail(str(error))
            yield Failed(error.reason, str(error))

    def _shake_hands(self, data: bytes) -> Generator[Event, None, bytes]:
        """Returns what came behind the handshake; that may be in the same segment (reading 21)."""
        self._held += data
        while self._held and (step := _STEPS.get(self.state)):
            if self._held[0] & frames.ERROR:
                self.state = State.REFUSED
                break
            decoded = handshake.decode(self._held)
            if decoded is None:
                return b""
            theirs, end = decoded
            del self._held[:end]
            yield from step(self, theirs)
        rest = bytes(self._held)
        self._held.clear()
        return rest

    def _answer(self, request: Handshake) -> Iterable[Event]:
        self._reply = negotiation.answer(self._offer, request)
        self._chunks.append(handshake.encode(self._reply))
        self.state = State.FINAL_AWAITED
        return ()

    def _conclude(self, reply: Handshake) -> Iterable[Event]:
        final = negotiation.conclude(self._offer, reply)
        self._open(reply, final)
        self._chunks.append(handshake.encode(final))
        return (Opened(reply.identity),)

    def _complete(self, final: Handshake) -> Iterable[Event]:
        self._open(self._reply, final)
        return (Opened(final.identity),)

    def _open(self, reply: Handshake, final: Handshake) -> None:
        self.agreed = negotiation.agree(self._offer, reply, final)
        self._hooks = {
            agreed.index: agreed.extension.activate(agreed.properties, self._numbers, self._offer.limits)
            for agreed in self.agreed
        }
        if self.role is Role.SERVER:
            self._commands = {name: said for hooks in self._hooks.values() for name, said in hooks.commands.items()}
        self._message_received = [hooks.message_received for hooks in self._hooks.values() if hooks.message_received]
        self._outgoing = Outgoing(self._numbers, self._hooks)
        self.window = self._outgoing.room()
        self.state = State.OPEN

    def _read(self, data: bytes) -> Iterator[Event]:
        for frame in self._decoder.feed(data):
            event: Event = NOTHING
            for event in _FRAMES[type(frame)](self, frame):
                yield event
                if self.state is State.CLOSED:
                    return
            if event is NOTHING:
                yield event

    def _take_run(self, run: Run) -> Iterable[Event]:
        if self._message_received:
            return map(self._annotated, run.frames)
        self._count_received(run.frames.last_number)
        return (run,)

    def _take_message(self, message: Received) -> Iterable[Event]:
        return (self._annotated(message),)

    def _take_part(self, part: Part) -> Iterable[Event]:
        self._numbers.received = part.number
        self._receipts.part(part.number, self._say_safe)
        return ()

    def _take_command(self, command: Command) -> Iterable[Event]:
        if hook := self._commands.get(command.name):
            return self._obeyed(hook, command.arguments)
        return self._obeyed(_unknown, command)

    def _take_extension(self, extension: Extension) -> Iterator[Event]:
        """An index that was not agreed on is skipped (reading 65), and so is one that is not in use."""
        frame_received = self._hooks.get(extension.index, NO_HOOKS).frame_received
        if frame_received is None:
            return
        yield from self._obeyed(frame_received, extension.payload)
        was_waiting = self._outgoing.is_waiting
        self._chunks += self._outgoing.go_on()
        if was_waiting and not self._outgoing.is_waiting:
            yield Released()

    def _take_error(self, error: Error) -> Iterable[Event]:
        if self.role is Role.SERVER or self.state is State.REFUSED:
            self.state = State.CLOSED
        return (ErrorReceived(error.text),)

    def _obeyed(self, hook: Callable[[Any], Iterable[Event]], said: Any) -> Iterator[Event]:
        """What comes of what an extension was told."""
        try:
            for event in hook(said):
                if not isinstance(event, Settled):
                    yield event
                elif tags := self._outgoing.settled(event.number):
                    yield Acknowledged(tags)
        except BusError as error:
            self.refuse(str(error))
            yield Refused(error.reason)

    def _annotated(self, message: Received) -> Received:
        self._count_received(message.number)
        annotations: Mapping[str, str] = NO_PROPERTIES
        for message_received in self._message_received:
            known = message_received(message.number)
            annotations = {**annotations, **known} if annotations else known
        return message._replace(annotations=annotations) if annotations else message

    def _count_received(self, number: int) -> None:
        self._numbers.received = number
        self._receipts.whole(number)

    # what we say

    def _send(self, frames: Frames, properties: Mapping[str, str] = NO_PROPERTIES, tags: Sequence[Any] = ()) -> None:
        if self.state is State.OPEN and frames:
            self._chunks += self._outgoing.send(frames, properties, tags)

    def _say_safe(self, number: int, at_once: bool) -> bool:
        is_said = True
        for index, hooks in self._hooks.items():
            if hooks.acknowledge:
                payload = hooks.acknowledge(number, at_once)
                if payload is None:
                    is_said = False
                elif self.state is State.OPEN:
                    self._chunks += codec.encode_extension(index, payload)
        return is_said


def _unknown(command: Command) -> Iterable[Event]:
    raise PeerError(f"unknown command: {command.name}", "command")


_STEPS: Mapping[State, Callable[[Connection, Handshake], Iterable[Event]]] = {
    State.REQUEST_AWAITED: Connection._answer,
    State.REPLY_AWAITED: Connection._conclude,
    State.FINAL_AWAITED: Connection._complete,
}

_FRAMES: Mapping[type, Callable[[Connection, Any], Iterable[Event]]] = {
    Run: Connection._take_run,
    Received: Connection._take_message,
    Part: Connection._take_part,
    Command: Connection._take_command,
    Extension: Connection._take_extension,
    Error: Connection._take_error,
}
