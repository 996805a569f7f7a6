"""Do two peers ever disagree, whatever they say to each other and however slowly it travels?"""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from fmqbus.calls import FailedAttachment
from fmqbus.protocols.umq.codec import UNKNOWN_CALLBACK
from fmqbus.protocols.umq.events import (
    Answered,
    AttributesChanged,
    Called,
    CalledBack,
    Event,
    Raised,
    Refused,
    TopicClosed,
    Unsubscribed,
    Updated,
)
from fmqbus.testing.umq import End, Unit, client, server

ATTACHMENTS = st.lists(st.binary(max_size=3) | st.builds(FailedAttachment, st.text(max_size=3)), max_size=3)
PAYLOADS = st.text(max_size=5).map(str.encode)
#: No callback has this id: those that there are begin at 1.
NO_CALLBACK = 0


class Side:
    """One end, what is on its way to it, and what it is still to hear of."""

    def __init__(self, end: End) -> None:
        self.end = end
        self.peer = end.peer
        self.wire: deque[Unit] = deque()
        #: By their ids: calls, with what they bring, and with the tag of the callback where there is one.
        self.calls: dict[int, tuple[Any, ...]] = {}
        #: By their tags: how calls of it end, as far as that is known.
        self.answers: dict[int, tuple[Any, ...]] = {}
        #: By their tags: topics that it may hear of, with their ids, and updates of them in order.
        self.ids: dict[int, int] = {}
        self.updates: dict[int, list[tuple[Any, ...]]] = {}
        #: By their tags: topics that it publishes, with their ids.
        self.published: dict[int, int] = {}
        #: Attributes with what they will be.
        self.attributes: dict[str, tuple[Any, ...]] = {}
        #: Calls that it has heard and not answered: their ids here, and their tags over there.
        self.unanswered: list[tuple[int, int]] = []


class Conversation(RuleBasedStateMachine):
    """Two sides that say what they like. Whatever has been said is heard once, as it was said."""

    def __init__(self) -> None:
        super().__init__()
        self.sides = (Side(client()), Side(server()))
        self.tags = count(1)

    def _others(self, which: int) -> tuple[Side, Side]:
        return self.sides[which], self.sides[1 - which]

    @rule(which=st.integers(0, 1), payload=PAYLOADS, attachments=ATTACHMENTS)
    def call(self, which: int, payload: bytes, attachments: Any) -> None:
        one, other = self._others(which)
        tag = next(self.tags)
        other.calls[one.peer.call(payload, attachments, tag)] = (tag, payload, attachments)

    @rule(which=st.integers(0, 1), payload=PAYLOADS, attachments=ATTACHMENTS)
    def call_back(self, which: int, payload: bytes, attachments: Any) -> None:
        one, other = self._others(which)
        tag = next(self.tags)
        callback = other.peer.add_callback(tag)
        other.calls[one.peer.call_back(callback, payload, attachments, tag)] = (tag, payload, attachments, tag)

    @rule(which=st.integers(0, 1), attachments=ATTACHMENTS)
    def call_back_nobody(self, which: int, attachments: Any) -> None:
        one, _ = self._others(which)
        tag = next(self.tags)
        one.peer.call_back(NO_CALLBACK, b"", attachments, tag)
        one.answers[tag] = (UNKNOWN_CALLBACK, "there is no such callback")

    @rule(which=st.integers(0, 1), payload=PAYLOADS, attachments=ATTACHMENTS, fails=st.booleans())
    def answer(self, which: int, payload: bytes, attachments: Any, fails: bool) -> None:
        one, other = self._others(which)
        if not one.unanswered:
            return
        id, tag = one.unanswered.pop(0)
        if fails:
            one.peer.refuse(id, 9, "no")
            other.answers[tag] = (9, "no")
        else:
            one.peer.answer(id, payload, attachments)
            other.answers[tag] = (payload, attachments)

    @rule(which=st.integers(0, 1))
    def begin_topic(self, which: int) -> None:
        one, other = self._others(which)
        tag = next(self.tags)
        one.ids[tag] = one.peer.expect_topic(tag)
        one.updates[tag] = []
        other.peer.open_topic(one.ids[tag], tag)
        other.published[tag] = one.ids[tag]

    @rule(which=st.integers(0, 1), payload=PAYLOADS, attachments=ATTACHMENTS, data=st.data())
    def update(self, which: int, payload: bytes, attachments: Any, data: st.DataObject) -> None:
        one, other = self._others(which)
        if other.ids:
            tag, id = data.draw(st.sampled_from(sorted(other.ids.items())))
            one.peer.update(id, payload, attachments)
            if tag in one.published:
                other.updates[tag].append((payload, attachments))

    @rule(which=st.integers(0, 1), data=st.data(), by_publisher=st.booleans())
    def end_topic(self, which: int, data: st.DataObject, by_publisher: bool) -> None:
        """More than once, perhaps, and from both sides at a time."""
        one, other = self._others(which)
        if one.ids:
            tag, id = data.draw(st.sampled_from(sorted(one.ids.items())))
            if by_publisher:
                assert other.peer.close_topic(id) is (other.published.pop(tag, None) is not None)
            else:
                one.peer.unsubscribe(id)

    @rule(which=st.integers(0, 1), text=st.text(max_size=3), attachments=ATTACHMENTS)
    def set_attribute(self, which: int, text: str, attachments: Any) -> None:
        one, other = self._others(which)
        name = str(next(self.tags))
        one.peer.set_attribute(name, text, attachments)
        other.attributes[name] = (text, attachments)

    @rule(which=st.integers(0, 1), attachments=st.integers(0, 3))
    def send(self, which: int, attachments: int) -> None:
        """All texts, and as many attachments as there is room for."""
        one, other = self._others(which)
        other.wire.extend(text.decode() for text in one.peer.take_texts())
        while attachments and one.peer.has_attachments:
            attachments -= 1
            octets = one.peer.take_attachment()
            other.wire.extend([text.decode() for text in one.peer.take_texts()] if octets is None else [octets])

    @rule(which=st.integers(0, 1), units=st.integers(1, 5))
    def carry(self, which: int, units: int) -> None:
        one, _ = self._others(which)
        for _ in range(min(units, len(one.wire))):
            for event in one.end.hear(one.wire.popleft()):
                self._check(one, event)

    def _check(self, one: Side, event: Event) -> None:
        match event:
            case Called(id, payload, attachments):
                tag, *said = one.calls.pop(id)
                assert said == [payload, list(attachments)]
                one.unanswered.append((id, tag))
            case CalledBack(id, callback, payload, attachments):
                tag, *said = one.calls.pop(id)
                assert said == [payload, list(attachments), callback]
                one.unanswered.append((id, tag))
            case Answered(tag, payload, attachments):
                assert one.answers.pop(tag) == (payload, list(attachments))
            case Raised(tag, code, text):
                assert one.answers.pop(tag) == (code, text)
            case Updated(tag, payload, attachments):
                assert one.updates[tag].pop(0) == (payload, list(attachments))
            case TopicClosed(tag):
                del one.ids[tag]
                assert one.updates.pop(tag) == []
            case AttributesChanged(name):
                attribute = one.peer.attributes[name]
                assert one.attributes.pop(name) == (attribute.text, list(attribute.attachments))
            case Unsubscribed(tag):
                del one.published[tag]
            case _:
                assert event == Refused("callback")

    def teardown(self) -> None:
        is_quiet = False
        while not is_quiet:
            for which in (0, 1):
                self.send(which, 1000)
            is_quiet = not any(side.wire for side in self.sides)
            for which in (0, 1):
                self.carry(which, 1000)
        for side, other in (self.sides, self.sides[::-1]):
            assert [side.calls, side.answers, side.attributes] == [{}, {}, {}]
            assert side.ids == other.published
            assert not any(side.updates.values())
            assert side.peer.held == 0
            assert side.peer.awaited_attachments is None


Conversation.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestConversation = Conversation.TestCase
