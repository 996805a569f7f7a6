"""One UMQ conversation, either side of it: messages in, events and messages out. No I/O, no clock.

================ ====== ============================= ==================================
state            whose  may come                      may be said
================ ====== ============================= ==================================
hello awaited    server H, F                          the end
greeted          server F                             welcome, or the end
welcome awaited  client W, F                          hello, or the end
open             both   all but H and W               everything
closed           both   nothing is heard              nothing
================ ====== ============================= ==================================

Both sides call, answer, publish topics and set attributes alike; they differ in who greets first. Each side numbers its
own calls (reading 25), and a topic has the id that its subscriber chose (reading 31). What does not fit ends in an F of
ours and `Failed`; what is merely late is ignored (readings 26, 33, 37).

Who is to be known before anything is done for him has to be welcomed first: what he says earlier is his end.

What is to be sent: `take_texts` first, then `take_attachment` as long as there is room. An attachment is one message
and can be large; a carrier may cut it up, but sends nothing between its pieces. Texts that come up meanwhile go before
the attachments that are not begun (`fmqbus.protocols.umq.outgoing`).

It is long because UMQ has a dozen words, most of which either side can say and hear.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from fmqbus.calls import FailedAttachment
from fmqbus.errors import LocalError, Overloaded, PeerError
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.umq import codec
from fmqbus.protocols.umq.attachments import Arrivals, Attachment
from fmqbus.protocols.umq.attributes import Attributes
from fmqbus.protocols.umq.codec import Command, Fault
from fmqbus.protocols.umq.events import (
    Answered,
    AttributesChanged,
    Called,
    CalledBack,
    Event,
    Failed,
    Greeted,
    Raised,
    Refused,
    TopicClosed,
    Unsubscribed,
    Updated,
)
from fmqbus.protocols.umq.outgoing import Outgoing

#: The only version that there is; of H and W (reading 16).
VERSION = 1


class Role(enum.Enum):
    """Who of the two has connected to the other."""

    SERVER = "server"
    CLIENT = "client"


class State(enum.Enum):
    """See the table at the head of this file."""

    HELLO_AWAITED = "hello awaited"
    GREETED = "greeted"
    WELCOME_AWAITED = "welcome awaited"
    OPEN = "open"
    CLOSED = "closed"


class Peer:
    """The conversation. Give it what has come, act on its events, then send what is to be sent."""

    def __init__(self, role: Role, limits: Limits = DEFAULT_LIMITS) -> None:
        self.role = role
        self._enter(State.HELLO_AWAITED if role is Role.SERVER else State.WELCOME_AWAITED)
        #: What the other side has set.
        self.attributes = Attributes(limits.attributes_per_peer, limits.attribute_octets_per_peer)
        self._limits = limits
        self._arrivals = Arrivals(limits.incomplete_octets_per_peer)
        self._last_id = 0
        #: Calls of ours without an answer, and calls of theirs.
        self._asked: dict[int, Any] = {}
        self._to_answer: set[int] = set()
        self._callbacks: dict[int, Any] = {}
        #: Topics that we publish, and those that we have asked for.
        self._published: dict[int, Any] = {}
        self._expected: dict[int, Any] = {}
        self._outgoing = Outgoing()

    def _enter(self, state: State) -> None:
        self.state = state
        self._may_come = _MAY_COME[state]

    # what is to be sent

    def take_texts(self) -> list[bytes]:
        """The text messages that are to be sent now, in order; each only once."""
        return self._outgoing.take_texts()

    @property
    def has_attachments(self) -> bool:
        """Attachments are to be sent, after all texts."""
        return bool(self._outgoing)

    def take_attachment(self) -> bytes | None:
        """The next binary message to be sent, or None where a text message, now among `take_texts`, takes its place."""
        return self._outgoing.take_attachment()

    @property
    def held(self) -> int:
        """Octets held for what has not fully come."""
        return self._arrivals.held

    @property
    def awaited_attachments(self) -> int | None:
        """None if no attachment is to come; else a number that changes with each that comes. The same number after a
        long time tells that the other side does not send what it has announced (reading 12)."""
        return self._arrivals.filled if self._arrivals.is_waiting else None

    # greeting and ending

    def hello(self, payload: bytes = b"", attachments: Sequence[Attachment] = ()) -> None:
        """Begin, as a client."""
        assert self.state is State.WELCOME_AWAITED, "a server waits, and nobody begins twice"
        self._outgoing.send(codec.encode(codec.HELLO, VERSION, payload, len(attachments)), attachments)

    def welcome(self, payload: bytes = b"", attachments: Sequence[Attachment] = ()) -> None:
        """Let a client in that has said hello. One that has gone meanwhile is let go."""
        if self.state is State.GREETED:
            self._enter(State.OPEN)
            self._send(codec.WELCOME, VERSION, payload, attachments)

    def fail(self, code: int, text: str) -> None:
        """Say why this is the end. What is to be sent then is the last."""
        if self.state is not State.CLOSED:
            self._outgoing.send(codec.encode_fatal(code, text))
            self.close()

    def close(self) -> None:
        """Nothing more is said or heard; what was said is still to be sent, but for attachments."""
        self._enter(State.CLOSED)
        self._outgoing.forget_line()
        self._arrivals.forget()

    # calls

    def call(self, payload: bytes, attachments: Sequence[Attachment] = (), tag: Any = None) -> int:
        """Call the other side; `tag` comes back with the end of it. Returns the call's id. Raises `Overloaded` if too
        many calls of ours have no answer yet, see `make_room`."""
        return self._ask(codec.CALL, payload, attachments, tag)

    def call_back(self, callback: int, payload: bytes, attachments: Sequence[Attachment] = (), tag: Any = None) -> int:
        """As `call`, by a callback that the other side has registered with us."""
        return self._ask(codec.CALLBACK, codec.encode_id(callback) + b":" + payload, attachments, tag)

    def forget_call(self, id: int) -> None:
        """Ignore what comes of a call of ours."""
        self._asked.pop(id, None)

    def make_room(self, calls: int) -> None:
        """Forget the oldest calls of ours that would keep so many new ones from being made. For who has given them up
        long ago, and would otherwise wait for ever for a side that leaves calls unanswered."""
        for id in list(islice(self._asked, max(0, len(self._asked) + calls - self._limits.calls_in_hand_per_peer))):
            del self._asked[id]

    def add_callback(self, tag: Any, id: int | None = None) -> int:
        """Let the other side call back, once; returns the id that it has to be told of, which may be one of the
        caller's own that lives longer than this conversation. Raises `Overloaded`."""
        if len(self._callbacks) >= self._limits.callbacks_per_peer:
            raise Overloaded("too many callbacks")
        if id is None:
            id = self._next_id()
        self._callbacks[id] = tag
        return id

    def remove_callback(self, id: int) -> None:
        """It can be called no more."""
        self._callbacks.pop(id, None)

    def answer(self, id: int, payload: bytes, attachments: Sequence[Attachment] = ()) -> None:
        """Answer a call of theirs. One that was answered is not answered again."""
        if id in self._to_answer:
            self._to_answer.remove(id)
            self._send(codec.RESULT, id, payload, attachments)

    def refuse(self, id: int, code: int, text: str) -> None:
        """Answer a call of theirs by an error."""
        if id in self._to_answer:
            self._to_answer.remove(id)
            self._say(codec.encode_exception(id, code, text))

    # topics

    def open_topic(self, id: int, tag: Any) -> None:
        """Publish under the id that the other side has chosen. Raises `PeerError` if it is in use, and `Overloaded`."""
        if id in self._published:
            raise PeerError("this id is in use", "topic-id")
        if len(self._published) >= self._limits.subscriptions_per_peer:
            raise Overloaded("too many topics")
        self._published[id] = tag

    def withdraw_topic(self, id: int) -> None:
        """It did not come to be: the call that asked for it fails."""
        self._published.pop(id, None)

    def update(self, id: int, payload: bytes, attachments: Sequence[Attachment] = ()) -> None:
        """There is news of a topic that is open."""
        if id in self._published:
            self._send(codec.TOPIC_UPDATE, id, payload, attachments, topic=id)

    def close_topic(self, id: int) -> bool:
        """There will be no more of it. False if it was not open. The other side hears of it after what is attached to
        the last updates."""
        if id not in self._published:
            return False
        del self._published[id]
        self._send(codec.TOPIC_CLOSE, id, topic=id)
        return True

    def expect_topic(self, tag: Any) -> int:
        """Choose an id for a topic of the other side, to be told in a call."""
        id = self._next_id()
        self._expected[id] = tag
        return id

    def forget_topic(self, id: int) -> None:
        """It never came to be."""
        self._expected.pop(id, None)

    def unsubscribe(self, id: int) -> None:
        """Ask for no more of it. What comes before `TopicClosed` is still told."""
        if id in self._expected:
            self._send(codec.UNSUBSCRIBE, id)

    # attributes

    def set_attribute(self, name: str, value: str, attachments: Sequence[Attachment] = ()) -> None:
        """Set an attribute on the other side. Raises `LocalError` for a name with ``=`` (reading 40)."""
        if "=" in name:
            raise LocalError(f"an attribute's name has no =: {name!r}")
        self._send(codec.SET_ATTRIBUTE, 0, f"{name}={value}".encode(), attachments)

    def unset_attribute(self, name: str) -> None:
        """Take it back."""
        self._send(codec.UNSET_ATTRIBUTE, 0, name.encode())

    # what the other side says

    def receive_text(self, text: bytes) -> Sequence[Event]:
        """Act on a text message, of any octets. What it brings about has happened when this returns."""
        if self.state is State.CLOSED:
            return ()
        try:
            command = codec.decode(text, self._limits.attachments_per_message)
            self._expect(command)
            if command.letter == codec.ATTACHMENT_ERROR:
                return self._fill(FailedAttachment(command.payload.decode("utf-8", "replace")))
            refused = self._admit(command) if command.letter in _CALLS else ()
            if command.attachments:
                self._arrivals.announce(command, is_refused=bool(refused))
                return refused
            return refused or self._act(command, ())
        except Fault as fault:
            return self._failed(fault)

    def receive_binary(self, data: bytes) -> Sequence[Event]:
        """As `receive_text`, for a binary message, which is an attachment."""
        if self.state is State.CLOSED:
            return ()
        try:
            return self._fill(data)
        except Fault as fault:
            return self._failed(fault)

    def _fill(self, attachment: Attachment) -> Sequence[Event]:
        completed = self._arrivals.fill(attachment)
        if completed is None:
            return ()
        self._expect(completed[0])
        return self._act(*completed)

    def _expect(self, command: Command) -> None:
        """Both when it comes and when it is complete: of two greetings with attachments, the second is the end."""
        if command.letter not in self._may_come:
            raise Fault(f"{command.letter.decode()} is out of place")

    def _admit(self, command: Command) -> Sequence[Event]:
        """Note that a call is to be answered, from now on, whatever it waits for; or refuse it at once (reading 24)."""
        if command.id in self._to_answer:
            self._say(codec.encode_exception(command.id, codec.PROTOCOL_ERROR, "this call is not answered yet"))
            return (Refused("call-id"),)
        if len(self._to_answer) >= self._limits.calls_per_peer:
            self._say(codec.encode_exception(command.id, codec.REFUSED, "too many calls"))
            return (Refused("calls"),)
        self._to_answer.add(command.id)
        return ()

    def _act(self, command: Command, attachments: Sequence[Attachment]) -> Sequence[Event]:
        return _HEARD[command.letter](self, command, attachments)

    def _failed(self, fault: Fault) -> Sequence[Event]:
        self.fail(fault.code, str(fault))
        return (Failed(fault.reason, fault.code, str(fault)),)

    def _heard_hello(self, command: Command, attachments: Sequence[Attachment]) -> Sequence[Event]:
        if command.id < VERSION:
            raise Fault("Unsupported version", codec.VERSION_UNKNOWN, "version")
        self._enter(State.GREETED)
        return (Greeted(command.payload, attachments),)

    def _heard_welcome(self, command: Command, attachments: Sequence[Attachment]) -> Sequence[Event]:
        if command.id != VERSION:
            raise Fault("Unsupported version", codec.VERSION_UNKNOWN, "version")
        self._enter(State.OPEN)
        return (Greeted(command.payload, attachments),)

    def _heard_fatal(self, command: Command, attachments: Sequence[Attachment]) -> Sequence[Event]:
        self._outgoing.take_texts()  # nothing more is sent (reading 20)
        self.close()
        return (Failed("fatal", *codec.decode_code(command.payload), is_theirs=True),)

    def _heard_call(self, command: Command, attachments: Sequence[Attachment]) -> Sequence[Event]:
        return (Called(command.id, command.payload, attachments),)

    def _heard_callback(self, command: Command, attachments: Sequence[Attachment]) -> Sequence[Event]:
        id, payload = codec.decode_callback(command.payload)
        if id not in self._callbacks:
            self.refuse(command.id, codec.UNKNOWN_CALLBACK, "there is no such callback")
            return (Refused("callback"),)
        return (CalledBack(command.id, self._callbacks.pop(id), payload, attachments),)

    def _heard_result(self, command: Command, attachments: Sequence[Attachment]) -> Sequence[Event]:
        if command.id not in self._asked:
            return ()
        return (Answered(self._asked.pop(command.id), command.payload, attachments),)

    def _heard_exception(self, command: Command, attachments: Sequence[Attachment]) -> Sequence[Event]:
        if command.id not in self._asked:
            return ()
        return (Raised(self._asked.pop(command.id), *codec.decode_code(command.payload)),)

    def _heard_update(self, command: Command, attachments: Sequence[Attachment]) -> Sequence[Event]:
        if command.id not in self._expected:
            # nobody has asked for it (reading 38)
            self._send(codec.UNSUBSCRIBE, command.id)
            return ()
        return (Updated(self._expected[command.id], command.payload, attachments),)

    def _heard_topic_close(self, command: Command, attachments: Sequence[Attachment]) -> Sequence[Event]:
        if command.id not in self._expected:
            return ()
        return (TopicClosed(self._expected.pop(command.id)),)

    def _heard_unsubscribe(self, command: Command, attachments: Sequence[Attachment]) -> Sequence[Event]:
        if command.id not in self._published:
            return ()
        tag = self._published[command.id]
        self.close_topic(command.id)
        return (Unsubscribed(tag),)

    def _heard_set_attribute(self, command: Command, attachments: Sequence[Attachment]) -> Sequence[Event]:
        if not self.attributes.set(command.payload, attachments):
            return (Refused("attributes"),)
        return (AttributesChanged(command.payload.partition(b"=")[0].decode("utf-8", "replace")),)

    def _heard_unset_attribute(self, command: Command, attachments: Sequence[Attachment]) -> Sequence[Event]:
        if not self.attributes.unset(command.payload):
            return ()
        return (AttributesChanged(command.payload.decode("utf-8", "replace")),)

    # what we say

    def _ask(self, letter: bytes, payload: bytes, attachments: Sequence[Attachment], tag: Any) -> int:
        if len(self._asked) >= self._limits.calls_in_hand_per_peer:
            raise Overloaded("too many calls without an answer")
        id = self._next_id()
        self._asked[id] = tag
        self._send(letter, id, payload, attachments)
        return id

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _send(
        self,
        letter: bytes,
        id: int,
        payload: bytes = b"",
        attachments: Sequence[Attachment] = (),
        topic: int | None = None,
    ) -> None:
        self._say(codec.encode(letter, id, payload, len(attachments)), attachments, topic)

    def _say(self, text: bytes, attachments: Sequence[Attachment] = (), topic: int | None = None) -> None:
        if self.state is not State.CLOSED:
            assert self.state is State.OPEN, "nothing is said before both have greeted"
            self._outgoing.send(text, attachments, topic)


_CALLS = frozenset((codec.CALL, codec.CALLBACK))

#: See the table at the head of this file. What stands in the place of an attachment of a greeting can come before it.
_MAY_COME: Mapping[State, frozenset[bytes]] = {
    State.HELLO_AWAITED: frozenset((codec.HELLO, codec.FATAL, codec.ATTACHMENT_ERROR)),
    State.GREETED: frozenset((codec.FATAL,)),
    State.WELCOME_AWAITED: frozenset((codec.WELCOME, codec.FATAL, codec.ATTACHMENT_ERROR)),
    State.OPEN: codec.COMMANDS - {codec.HELLO, codec.WELCOME},
    State.CLOSED: frozenset(),
}

_Heard = Callable[[Peer, Command, Sequence[Attachment]], Sequence[Event]]
_HEARD: Mapping[bytes, _Heard] = {
    codec.HELLO: Peer._heard_hello,
    codec.WELCOME: Peer._heard_welcome,
    codec.FATAL: Peer._heard_fatal,
    codec.CALL: Peer._heard_call,
    codec.CALLBACK: Peer._heard_callback,
    codec.RESULT: Peer._heard_result,
    codec.EXCEPTION: Peer._heard_exception,
    codec.TOPIC_UPDATE: Peer._heard_update,
    codec.TOPIC_CLOSE: Peer._heard_topic_close,
    codec.UNSUBSCRIBE: Peer._heard_unsubscribe,
    codec.SET_ATTRIBUTE: Peer._heard_set_attribute,
    codec.UNSET_ATTRIBUTE: Peer._heard_unset_attribute,
}
