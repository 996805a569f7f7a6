"""Do two peers ever disagree, whatever they say to each other and however slowly it travels?"""

from __future__ import annotations

from collections import deque
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from fmqbus.calls import FailedAttachment
from fmqbus.protocols.umq.events import (
    Answered,
    Called,
    CalledBack,
    Event,
    Failed,
    Raised,
    TopicClosed,
    Unsubscribed,
    Updated,
)
from fmqbus.testing.umq import End, Unit, client, server

ATTACHMENTS = st.lists(st.binary(max_size=3) | st.builds(FailedAttachment, st.text(max_size=3)), max_size=3)
PAYLOADS = st.text(max_size=5).map(str.encode)
SIDES = st.sampled_from((0, 1))


class Conversation(RuleBasedStateMachine):
    """Two ends, the messages between them, and what each end has a right to expect."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: tuple[End, End] = (client(), server())
        self.wires: tuple[deque[Unit], deque[Unit]] = (deque(), deque())
        #: By the end that is to hear of it: calls that are on their way, and those that have come.
        self.calls: tuple[dict[int, tuple[bytes, Any]], ...] = ({}, {})
        self.to_answer: tuple[list[int], ...] = ([], [])
        self.answers: tuple[dict[int, Any], ...] = ({}, {})
        #: By the end that publishes: topics that are open, and what has been published and not yet told.
        self.topics: tuple[list[int], ...] = ([], [])
        self.updates: tuple[dict[int, list[tuple[bytes, Any]]], ...] = ({}, {})

    @rule(side=SIDES, payload=PAYLOADS, attachments=ATTACHMENTS)
    def call(self, side: int, payload: bytes, attachments: Any) -> None:
        id = self.ends[side].peer.call(payload, attachments)
        self.ends[side].peer._asked[id] = id
        self.calls[1 - side][id] = (payload, attachments)
        self._send(side)

    @rule(side=SIDES, payload=PAYLOADS, attachments=ATTACHMENTS, fails=st.booleans())
    def answer(self, side: int, payload: bytes, attachments: Any, fails: bool) -> None:
        if not self.to_answer[side]:
            return
        id = self.to_answer[side].pop(0)
        if fails:
            self.ends[side].peer.refuse(id, 9, "no")
            self.answers[1 - side][id] = (9, "no")
        else:
            self.ends[side].peer.answer(id, payload, attachments)
            self.answers[1 - side][id] = (payload, attachments)
        self._send(side)

    @rule(side=SIDES)
    def open_topic(self, side: int) -> None:
        id = self.ends[1 - side].peer.expect_topic("")
        self.ends[1 - side].peer._expected[id] = id
        self.ends[side].peer.open_topic(id, id)
        self.topics[side].append(id)
        self.updates[side][id] = []

    @rule(side=SIDES, payload=PAYLOADS, attachments=ATTACHMENTS)
    def update(self, side: int, payload: bytes, attachments: Any) -> None:
        if self.topics[side]:
            id = self.topics[side][-1]
            self.ends[side].peer.update(id, payload, attachments)
            self.updates[side][id].append((payload, attachments))
            self._send(side)

    @rule(side=SIDES)
    def close_topic(self, side: int) -> None:
        if self.topics[side]:
            assert self.ends[side].peer.close_topic(self.topics[side].pop())
            self._send(side)

    @rule(side=SIDES)
    def unsubscribe(self, side: int) -> None:
        if self.topics[1 - side]:
            self.ends[side].peer.unsubscribe(self.topics[1 - side][0])
            self._send(side)

    def _send(self, side: int) -> None:
        self.wires[side].extend(self.ends[side].sent())

    @rule(side=SIDES, units=st.integers(1, 5))
    def carry(self, side: int, units: int) -> None:
        listener = 1 - side
        for _ in range(min(units, len(self.wires[side]))):
            for event in self.ends[listener].hear(self.wires[side].popleft()):
                self._check(listener, event)
        self._send(listener)

    def _check(self, listener: int, event: Event) -> None:
        assert not isinstance(event, Failed | CalledBack)
        match event:
            case Called(id, payload, attachments):
                assert self.calls[listener].pop(id) == (payload, list(attachments))
                self.to_answer[listener].append(id)
            case Answered(id, payload, attachments):
                assert self.answers[listener].pop(id) == (payload, list(attachments))
            case Raised(id, code, text):
                assert self.answers[listener].pop(id) == (code, text)
            case Updated(id, payload, attachments):
                # those with attachments may be overtaken by those without
                self.updates[1 - listener][id].remove((payload, list(attachments)))
            case TopicClosed(id):
                assert not self.updates[1 - listener].pop(id), "nothing that was published before the close is lost"
            case Unsubscribed(id):
                self.topics[listener].remove(id)

    @invariant()
    def nothing_is_left_over(self) -> None:
        if not any(self.wires):
            assert not any(self.calls)
            assert not any(self.answers)
            assert not any(updates for topics in self.updates for updates in topics.values())
            assert [end.peer.held for end in self.ends] == [0, 0]


Conversation.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestConversation = Conversation.TestCase
