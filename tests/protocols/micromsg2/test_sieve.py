"""Filters are applied in steps, so that nobody has to wait for those of somebody else. (MicroMsg2, Filters)"""

from __future__ import annotations

from itertools import product

from twisted.internet.error import ConnectionDone
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from fmqbus.model import Message
from fmqbus.protocols.micromsg2.extensions.built_in import BUILT_IN
from fmqbus.protocols.micromsg2.negotiation import Offer
from fmqbus.protocols.micromsg2.protocol import MicroMsg2Protocol
from fmqbus.testing.bus import MemoryClient, make_router
from fmqbus.testing.links import MemoryListener
from fmqbus.turns import SHARE_SECONDS
from tests.protocols.fmqp.test_turns import SlowClock
from tests.protocols.micromsg2.written import command, handshake, payload_of, split

TOPIC = b"a/a/a/a"
#: All fit the topic, and none but the last lets the number 7 through.
PATTERNS = [b"/".join(levels) for levels in product([b"a", b"*"], repeat=4)]
ENOUGH_TURNS = 2_000


class BusyClock(SlowClock):
    """A third of a share goes by with each look at it: time enough for a step or two in each turn."""

    def seconds(self) -> float:
        self.rightNow += SHARE_SECONDS / 3
        return self.rightNow


class Sieving:
    """A bus whose turns are soon over, with a client of many filters."""

    def __init__(self) -> None:
        self.clock = BusyClock()
        self.router = make_router(self.clock)
        self.publisher = MemoryClient(self.router)
        self.transport = StringTransport()
        offer = Offer(identity=b"", extensions=BUILT_IN)
        self.client = MicroMsg2Protocol(self.router, MemoryListener(self.clock), offer, b"default")
        self.client.makeConnection(self.transport)
        self.client.dataReceived(2 * handshake(b"pubsub"))
        for pattern in PATTERNS:
            wanted = b">" if pattern is PATTERNS[-1] else b"<"
            self.client.dataReceived(command(b"subscribe;topic=%b,filter=n%b=N7" % (pattern, wanted)))
        self.take_turns()
        self.transport.clear()

    def publish(self, *numbers: int) -> None:
        """Messages in one turn, each with its number as a property."""
        for number in numbers:
            message = Message(TOPIC, b"%d" % number, properties={"n": str(number)})
            self.publisher.session.publish(message)
        self.publisher.session.flush()

    def take_turns(self) -> None:
        """As many as it takes."""
        for _ in range(ENOUGH_TURNS):
            self.clock.advance(1.0)

    def heard(self) -> list[bytes]:
        """The payloads that the client has been sent."""
        return [payload_of(frame) for frame in split(self.transport.value())]


def test_filters_of_many_subscriptions_let_others_in_between() -> None:
    """What passes any of them comes in its order, in good time; others need not wait for that."""
    bus = Sieving()
    other = MemoryClient(bus.router)
    other.subscribe(b"other")
    bus.publish(*range(20))
    assert bus.heard() == []
    bus.publisher.publish(b"other", b"at once")
    assert other.payloads == [b"at once"]
    bus.take_turns()
    assert bus.heard() == [b"%d" % number for number in range(20)]


def test_what_comes_meanwhile_comes_behind() -> None:
    """Also where the link tells meanwhile that it has room."""
    bus = Sieving()
    bus.publish(1, 9)
    bus.publish(2)
    bus.client.link_clear()
    bus.publish(10, 3)
    bus.take_turns()
    assert bus.heard() == [b"1", b"9", b"2", b"10", b"3"]
    bus.publish(4)
    bus.take_turns()
    assert bus.heard()[-1] == b"4"


def test_for_a_client_that_has_gone_nothing_more_is_looked_at() -> None:
    """After its subscriptions have ended, no turn is taken for it."""
    bus = Sieving()
    bus.publish(*range(20))
    bus.client.connectionLost(Failure(ConnectionDone()))
    for _ in range(3 * len(PATTERNS)):
        bus.clock.advance(1.0)
    assert bus.router.subscriptions == 0
    assert bus.clock.getDelayedCalls() == []
