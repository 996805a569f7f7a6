"""One connection of a UMQ client, from its welcome on: requests out, answers and news in. Knows nothing that outlives
it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from typing import Protocol as Contract

import attrs
import msgspec
from twisted.internet import protocol
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionLost
from twisted.python.failure import Failure

from fmqbus.client.link import Link, LinkOwner
from fmqbus.client.umq_conversation import Conversation
from fmqbus.client.umq_words import decode_json
from fmqbus.errors import CallFailed, PeerError, Refused
from fmqbus.protocols.umq import events
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.attributes import Attribute
from fmqbus.protocols.umq.codec import encode_id


@attrs.frozen(slots=True)
class Reply:
    """A result and what is attached to it: what a call brings, and what a function that serves may return."""

    value: Any = None
    attachments: Sequence[Attachment] = ()


@attrs.frozen(slots=True, eq=False)
class Request:
    """A call on its way, and who waits for its end."""

    payload: bytes
    attachments: Sequence[Attachment]
    answer: Deferred[Reply]

    def __len__(self) -> int:
        """About what it takes."""
        return len(self.payload) + sum(len(each) for each in self.attachments if isinstance(each, bytes))

    def fail(self, error: Exception | Failure) -> None:
        """There will be no answer. Who has cancelled it is not told."""
        if not self.answer.called:
            self.answer.errback(error)


class Topic(Contract):
    """Something that the client hears of: it is asked for on each connection anew, under another id."""

    #: What it is asked for with at present.
    standing: Standing | None

    def request(self, id: str) -> Sequence[Any]:
        """The call that asks for it."""

    def updated(self, standing: Standing, payload: bytes, attachments: Sequence[Attachment]) -> None:
        """There is news. Raises `PeerError` for what cannot be read."""

    def ended(self, error: Exception) -> None:
        """The bus does not let us have it, or not any more."""


@attrs.define(slots=True, eq=False)
class Standing:
    """A topic that was asked for on one connection."""

    topic: Topic
    link: UMQLink
    id: int = 0

    @property
    def text(self) -> str:
        """The id as methods take it."""
        return encode_id(self.id).decode()

    @property
    def is_current(self) -> bool:
        """It was not asked for again since."""
        return self.topic.standing is self


class UMQLinkOwner(LinkOwner, Contract):
    """What the connection tells besides, and to whom."""

    invalid: int

    def called(self, link: UMQLink, call: events.Called) -> None:
        """The bus calls: to be answered by `UMQLink.answer` or `UMQLink.refuse`."""

    def called_back(self, link: UMQLink, call: events.CalledBack) -> None:
        """As `called`, by a callback; the tag is its id."""


class UMQLink(Link):
    """The protocol on the connection."""

    _owner: UMQLinkOwner
    _conversation: Conversation

    def __init__(self, owner: UMQLinkOwner, clock: Any, most_calls: int) -> None:
        """So many calls may have no answer yet, before others wait."""
        super().__init__(owner, clock)
        self._most_calls = most_calls
        self._asked: dict[Request, int] = {}
        self._early: Iterable[events.Event] = ()
        #: Why the conversation has ended, if somebody said so.
        self._complaint = ""

    def begin(self, conversation: Conversation, early: Iterable[events.Event]) -> None:
        """Take over a conversation that is open, and what it has told since."""
        self._conversation = conversation
        self._early = early

    @property
    def has_room(self) -> bool:
        return super().has_room and len(self._asked) < self._most_calls and not self._conversation.peer.has_attachments

    @property
    def unanswered(self) -> Iterable[Deferred[Reply]]:
        """The ends of all calls that are on their way."""
        return [request.answer for request in self._asked]

    # what we say

    def send(self, request: Request) -> None:
        """Make a call."""
        had_room = self.has_room
        self._asked[request] = self._conversation.peer.call(request.payload, request.attachments, request)
        self._write()
        if had_room and not self.has_room:
            self._owner.room_changed(self)

    def forget(self, request: Request) -> None:
        """Nobody waits for the answer any more."""
        if request in self._asked:
            had_room = self.has_room
            self._conversation.peer.forget_call(self._asked.pop(request))
            self._tell_room(had_room)

    def ask(self, *call: Any, attachments: Sequence[Attachment] = ()) -> Deferred[Reply]:
        """Make a call that waits for no room. Fails as a call does."""
        answer: Deferred[Reply] = Deferred()
        self.send(Request(msgspec.json.encode(call), attachments, answer))
        return answer

    def begin_topic(self, topic: Topic) -> None:
        """Ask for a topic. What it had before is of the past, and ends."""
        standing = Standing(topic, self)
        standing.id = self._conversation.peer.expect_topic(standing)
        topic.standing = standing
        self.ask(*topic.request(standing.text)).addErrback(self._topic_refused, standing)

    def end_topic(self, standing: Standing) -> None:
        """Ask for no more of it."""
        self._conversation.peer.unsubscribe(standing.id)
        self._write()

    def answer(self, id: int, payload: bytes, attachments: Sequence[Attachment]) -> None:
        """Answer a call of the bus. After the connection has gone, nothing happens."""
        self._conversation.peer.answer(id, payload, attachments)
        self._write()

    def refuse(self, id: int, code: int, text: str) -> None:
        """Answer one by an error."""
        self._conversation.peer.refuse(id, code, text)
        self._write()

    def allow_callback(self, id: int) -> None:
        """Let the bus call back by this id, once."""
        self._conversation.peer.add_callback(id, id)

    def withdraw_callback(self, id: int) -> None:
        """And no more."""
        self._conversation.peer.remove_callback(id)

    @property
    def attributes(self) -> Mapping[str, Attribute]:
        """What the bus has set on this connection."""
        return self._conversation.peer.attributes

    def set_attribute(self, name: str, value: str, attachments: Sequence[Attachment]) -> None:
        """Tell the bus something of us."""
        self._conversation.peer.set_attribute(name, value, attachments)
        self._write()

    def unset_attribute(self, name: str) -> None:
        """Take it back."""
        self._conversation.peer.unset_attribute(name)
        self._write()

    def say_no_more(self, seconds: float) -> None:
        self._conversation.close()
        self._write()
        super().say_no_more(seconds)

    def _write(self) -> None:
        self.transport.writeSequence(self._conversation.take_output())
        while self._conversation.peer.has_attachments and not self._is_full:
            self.transport.writeSequence(self._conversation.take_attachment())

    def _tell_room(self, had_room: bool) -> None:
        if self.has_room and not had_room:
            self._owner.room_changed(self)

    # what the transport tells

    def connectionMade(self) -> None:
        super().connectionMade()
        self._hear(self._early)

    def dataReceived(self, data: bytes) -> None:
        self._hear(self._conversation.receive(data))

    def connectionLost(self, reason: Failure = protocol.connectionDone) -> None:
        """What was asked and not answered fails; only who has asked knows whether to ask again."""
        self._conversation.peer.close()
        super().connectionLost(reason)
        gone = ConnectionLost(self._complaint or "before the answer came")
        asked, self._asked = self._asked, {}
        for request in asked:
            request.fail(gone)

    def resumeProducing(self) -> None:
        self._is_full = False
        self._write()
        super().resumeProducing()

    # what the bus tells

    def _hear(self, told: Iterable[events.Event]) -> None:
        had_room = self.has_room
        for event in told:
            _HEARD[type(event)](self, event)
        self._write()
        self._tell_room(had_room)

    def _answered(self, answered: events.Answered) -> None:
        request: Request = answered.tag
        self._asked.pop(request, None)
        try:
            value = decode_json(answered.payload or b"null", object)
        except PeerError as error:
            self._owner.invalid += 1
            request.fail(error)
        else:
            if not request.answer.called:
                request.answer.callback(Reply(value, answered.attachments))

    def _raised(self, raised: events.Raised) -> None:
        self._asked.pop(raised.tag, None)
        raised.tag.fail(CallFailed(raised.text, raised.code))

    def _called(self, called: events.Called) -> None:
        self._owner.called(self, called)

    def _called_back(self, called: events.CalledBack) -> None:
        self._owner.called_back(self, called)

    def _updated(self, updated: events.Updated) -> None:
        standing: Standing = updated.tag
        try:
            standing.topic.updated(standing, updated.payload, updated.attachments)
        except PeerError:
            self._owner.invalid += 1

    def _topic_closed(self, closed: events.TopicClosed) -> None:
        if closed.tag.is_current:
            closed.tag.topic.ended(Refused("the bus has ended it"))

    def _topic_refused(self, reason: Failure, standing: Standing) -> None:
        """Where the connection has gone, the next one asks again."""
        self._conversation.peer.forget_topic(standing.id)
        if isinstance(reason.value, CallFailed) and standing.is_current:
            standing.topic.ended(Refused(str(reason.value)))

    def _no_matter(self, event: Any) -> None:
        """Attributes are read when they are wanted."""

    def _discarded(self, refused: events.Refused) -> None:
        self._owner.invalid += 1

    def _failed(self, failed: events.Failed) -> None:
        self._complaint = self._complaint or failed.text
        if not failed.is_theirs:
            self._owner.invalid += 1
        self._write()
        self.transport.loseConnection()


_HEARD: Mapping[type, Callable[[UMQLink, Any], None]] = {
    events.Answered: UMQLink._answered,
    events.Raised: UMQLink._raised,
    events.Called: UMQLink._called,
    events.CalledBack: UMQLink._called_back,
    events.Updated: UMQLink._updated,
    events.TopicClosed: UMQLink._topic_closed,
    events.AttributesChanged: UMQLink._no_matter,
    events.Refused: UMQLink._discarded,
    events.Failed: UMQLink._failed,
}
