"""Does a protocol's session keep what `IPeer` promises?"""

from __future__ import annotations

import pytest
from zope.interface.verify import verifyObject

from fmqbus.interfaces import IPeer, IRouter, ISession
from fmqbus.model import Interest, Message, Publication, Subscription
from fmqbus.testing.bus import MemoryClient, make_router

Delivery = tuple[Publication, tuple[Subscription, ...]]


class PeerContract:
    """Derive from this, and say how a client of your protocol comes to the bus."""

    def attach(self, router: IRouter) -> tuple[IPeer, ISession]:
        """Return a new client's peer and the session that the router gave it, over a link in memory."""
        raise NotImplementedError

    def test_it_provides_the_interface(self) -> None:
        """With the signatures that the router calls, and a session that knows it."""
        router = make_router()
        peer, session = self.attach(router)
        assert verifyObject(IPeer, peer)
        assert isinstance(peer.is_blind, bool)
        assert session in router.sessions()

    def test_it_takes_deliveries_of_every_kind_and_counts_them(self) -> None:
        """One message or many, of whatever topic, plain, retained, or a will."""
        router = make_router()
        _, session = self.attach(router)
        writer = MemoryClient(router)
        for pattern in (b"a", b"b/*"):
            session.subscribe(pattern)
        session.flush()
        writer.publish(b"a", b"1")
        writer.publish(b"b/*", bytes(range(256)), retain=True)
        for number in range(100):
            writer.session.publish(Message(b"b/%d" % number, b"x" * number or b"-"))
        writer.set_will(b"a", b"bye")
        writer.close()
        assert router.traffic_of(session.principal.protocol).messages_out == 103

    def test_a_batch_is_left_as_it_is(self) -> None:
        """Publications are shared by all their receivers."""
        peer, session = self.attach(make_router())
        subscription = session.subscribe(b"a")
        publication = Publication.of(Message(b"a", b"x"))
        batch: list[Delivery] = [(publication, () if peer.is_blind else (subscription,))]
        peer.deliver(list(batch))
        peer.deliver(batch)
        assert publication.messages == (Message(b"a", b"x"),)
        assert publication.count == 1

    def test_it_takes_changes_of_interest(self) -> None:
        """Any number, of any pattern, the last unsubscription among them."""
        peer, _ = self.attach(make_router())
        peer.interest_changed([Interest(b"a", 1), Interest(b"*/*", 4_000_000), Interest(b"a", 0)])

    @pytest.mark.parametrize("method", ["pause_reading", "resume_reading"])
    def test_being_paused_and_resumed_may_be_repeated(self, method: str) -> None:
        """In any order."""
        peer, _ = self.attach(make_router())
        for each in (method, method, "pause_reading", "resume_reading", "resume_reading"):
            getattr(peer, each)()

    def test_it_bears_the_end_of_a_subscription(self) -> None:
        """Whether its protocol has a word for it or not."""
        peer, session = self.attach(make_router())
        peer.subscription_ended(session.subscribe(b"a"), "policy")

    @pytest.mark.parametrize("ending", ["ending", "abort"])
    def test_it_bears_being_ended_and_whatever_still_comes(self, ending: str) -> None:
        """The soft stop's order; a delivery that crosses the end of the link does no harm."""
        peer, session = self.attach(make_router())
        peer.stop_listening()
        getattr(peer, ending)("drained")
        peer.deliver([(Publication.of(Message(b"a", b"x")), ())])
        peer.interest_changed([Interest(b"a", 1)])
        peer.abort("drained")
        session.close("gone")
