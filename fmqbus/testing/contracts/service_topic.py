"""Does a part keep what `IServiceTopic` promises?"""

from __future__ import annotations

import pytest
from zope.interface.verify import verifyObject

from fmqbus import names
from fmqbus.interfaces import IServiceTopic
from fmqbus.model import Message
from fmqbus.testing.bus import LOCAL
from fmqbus.testing.service_context import MemoryServiceContext


class ServiceTopicContract:
    """Derive from this, and say how to make the service topic."""

    def make_topic(self) -> IServiceTopic:
        """Return the service topic."""
        raise NotImplementedError

    def test_it_provides_the_interface(self) -> None:
        """With the signatures that the bus calls."""
        assert verifyObject(IServiceTopic, self.make_topic())

    def test_its_name_is_one_topic_below_the_dollar(self) -> None:
        """In its one form, and no wildcard."""
        topic = self.make_topic().topic
        assert names.parse(topic) == topic
        assert names.is_service(topic)
        assert topic != names.SERVICE_LEVEL
        assert not names.is_wild(topic)

    def test_it_says_in_one_line_what_it_is_for(self) -> None:
        """For lists of all topics."""
        summary = self.make_topic().summary
        assert summary.strip()
        assert len(summary.splitlines()) == 1

    def test_it_goes_through_its_life_and_leaves_no_timer(self) -> None:
        """Start, clients that come and go, time, stop; what it says is octets."""
        topic, context = self.make_topic(), MemoryServiceContext()
        topic.start(context)
        topic.clients_changed(context)
        context.clock.pump([1.0] * 5)
        topic.clients_changed(context)
        topic.stop(context)
        assert context.clock.getDelayedCalls() == []
        assert all(isinstance(payload, bytes) for payload, _ in context.published)

    @pytest.mark.parametrize("payload", [b"", b"x", b"\xff\0", bytes(100_000)])
    def test_it_bears_whatever_clients_publish_to_it(self, payload: bytes) -> None:
        """It answers or ignores it, and raises nothing."""
        topic, context = self.make_topic(), MemoryServiceContext()
        topic.start(context)
        for retain in (False, True):
            topic.received(context, LOCAL, Message(topic.topic, payload, retain))
        topic.stop(context)

    def test_it_serves_several_buses_at_once_and_apart(self) -> None:
        """Its state is the context's: what ends on one bus goes on at the other, as if that were alone."""
        topic = self.make_topic()
        ended, alone, beside = (MemoryServiceContext() for _ in range(3))
        self.make_topic().start(alone)
        topic.start(ended)
        topic.start(beside)
        topic.stop(ended)
        silent_from = len(ended.published)
        for context in (alone, ended, beside):
            context.clock.pump([1.0] * 5)
        assert len(ended.published) == silent_from
        assert len(beside.published) == len(alone.published)
