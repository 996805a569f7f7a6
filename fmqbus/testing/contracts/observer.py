"""Does a part keep what `IObserver` promises?"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from zope.interface.verify import verifyObject

from fmqbus.interfaces import IObserver
from fmqbus.limits import Limits
from fmqbus.model import AS_WRITTEN, Message, Outcome, Overflow, Terms
from fmqbus.testing.bus import MemoryClient, make_router


class ObserverContract:
    """Derive from this, and say how to make the observer."""

    def make_observer(self) -> IObserver:
        """Return the observer."""
        raise NotImplementedError

    def _bus(self, **options: Any) -> Any:
        return make_router(observers=[self.make_observer()], **options)

    def test_it_provides_the_interface(self) -> None:
        """With the signatures that the router calls."""
        assert verifyObject(IObserver, self.make_observer())

    def test_it_bears_whatever_happens_on_a_bus(self) -> None:
        """Of all kinds of events it raises at none: an observer that raises is removed."""
        router = self._bus(limits=Limits(outbox_octets=1000), overflow=Overflow.CONFLATE)
        slow, writer = MemoryClient(router), MemoryClient(router)
        for pattern in (b"a", b"*", "straße/*".encode()):
            slow.subscribe(pattern)
        slow.subscribe(b"hidden", hidden=True)
        slow.pause()
        for topic in (b"a", b"*", "straße/日".encode()):
            for payload in (b"1", b"\0\xff", bytes(1000)):
                writer.publish(topic, payload, retain=True)
        writer.set_will(b"a", b"bye")
        writer.close("gone")
        router.publish_service(Message(b"$/info", b"from the bus"))
        slow.unsubscribe(b"a")
        slow.close("")
        assert len(router.observers) == 1

    def test_it_bears_properties_of_whatever_kind(self) -> None:
        """Protocols read those that have come only when somebody asks, so they are a mapping, and seldom a dict."""
        router = self._bus()
        properties = MappingProxyType({"city": "Zürich", AS_WRITTEN: "city=TZ\xfcrich"})
        session = MemoryClient(router).session
        for retain in (False, True):
            session.publish(Message(b"a", b"1", retain, properties=properties))
        session.enqueue(b"a", Message(b"a", b"1", properties=properties), Terms())
        session.flush()
        assert len(router.observers) == 1

    def test_it_bears_however_a_call_can_end(self) -> None:
        """With a reply, and without."""
        router = self._bus()
        caller, server = MemoryClient(router), MemoryClient(router)
        service = server.serve("straße".encode(), window=2)
        calls = [caller.call("straße".encode(), b"\0\xff", key="ü") for _ in range(4)]
        server.reply(calls[0], b"\xff")
        server.fail(calls[1], 7, "ü")
        caller.abandon(calls[2])
        server.unserve(service)
        server.close()
        assert len(router.observers) == 1

    def test_it_bears_whatever_happens_to_messages_of_queues(self) -> None:
        """Also to those that nobody accepts."""
        router = self._bus()
        producer, worker = MemoryClient(router), MemoryClient(router)
        for outcome in Outcome:
            producer.enqueue("straße".encode(), b"\0\xff")
            consumer = worker.consume("straße".encode(), window=1)
            worker.settle(consumer, outcome=outcome, reason="ü")
            worker.cancel(consumer)
        router.requeue(b"dead")
        router.purge("straße".encode())
        assert len(router.observers) == 1

    def test_it_changes_nothing_of_what_passes(self) -> None:
        """With and without it, everybody gets the same."""
        received = []
        for router in (self._bus(), make_router()):
            reader, writer = MemoryClient(router), MemoryClient(router)
            reader.watch(b"*")
            reader.subscribe(b"*")
            for number in range(10):
                writer.publish(b"a", b"%d" % number, retain=number % 2 == 0)
            late = MemoryClient(router)
            late.subscribe(b"a")
            late.close()
            received.append((reader.received, late.received))
        assert received[0] == received[1]
