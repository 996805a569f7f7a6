"""`fmqbus.transports.units`: what every link of units does, however they are framed."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from zope.interface.verify import verifyObject

from fmqbus.errors import ConfigError
from fmqbus.interfaces import IFraming, IUnitFactory, IUnitLink, IUnitProtocol
from fmqbus.limits import Limits
from fmqbus.testing.links import MemoryListener
from fmqbus.transports.assembly import ACCOUNTED_FROM
from fmqbus.transports.carriers import units
from fmqbus.transports.length_prefixed import LengthPrefixed, LengthPrefixedLink, encode_unit
from fmqbus.transports.listener import Listener
from fmqbus.transports.stream import LinkState
from fmqbus.transports.units import PIECE_OCTETS
from fmqbus.turns import SHARE_SECONDS, Turns
from tests.transports.echo import Echo, EchoPlug
from tests.transports.memory import QuietProtocol


class Pair:
    """A link in memory with its protocol, and the client's end of its stream."""

    def __init__(self, listener: MemoryListener | None = None, **limits: Any) -> None:
        self.listener = listener or MemoryListener(Clock(), Limits(**limits))
        self.plug = EchoPlug(Turns(self.listener.clock), LengthPrefixed())
        factory = self.plug.make_factory(None, self.listener, {})  # type: ignore[arg-type]
        self.link: LengthPrefixedLink = factory.buildProtocol(None)
        self.transport = StringTransport()
        self.link.makeConnection(self.transport)
        self.echo: Echo = self.plug.made[0]

    def say(self, *units: str | bytes) -> None:
        """Units come in, in one read."""
        self.link.dataReceived(b"".join(octets(unit) for unit in units))

    def take(self) -> bytes:
        """What has come since the last time."""
        taken = self.transport.value()
        self.transport.clear()
        return taken


def octets(unit: str | bytes) -> bytes:
    """As it travels."""
    return b"".join(encode_unit(isinstance(unit, bytes), unit if isinstance(unit, bytes) else unit.encode()))


def test_links_and_framings_keep_their_contracts() -> None:
    """With the signatures that protocols and carriers call."""
    pair = Pair()
    assert verifyObject(IUnitLink, pair.link)
    assert verifyObject(IUnitProtocol, pair.echo)
    assert verifyObject(IFraming, LengthPrefixed())
    assert verifyObject(IUnitFactory, pair.plug.make_factory(None, pair.listener, {}))  # type: ignore[arg-type]


def test_units_come_and_go() -> None:
    """Text and binary, in order; the turn ends after all that one read has brought."""
    pair = Pair()
    pair.say("one", b"two", "three")
    assert pair.echo.heard == ["one", b"two", "three"]
    assert pair.take() == octets("one") + octets(b"two") + octets("three")
    assert pair.echo.told == ["turn over"]


def test_units_of_one_read_are_acted_on_over_turns() -> None:
    """Others are served in between, and the client is not read meanwhile."""
    pair = Pair()
    clock = pair.listener.clock

    def take_a_share(text: bytes) -> None:
        pair.echo.heard.append(text.decode())
        clock.rightNow += SHARE_SECONDS

    pair.echo.text_arrived = take_a_share  # type: ignore[method-assign]
    pair.say("one", "two", "three", "four")
    assert pair.echo.heard == ["one", "two"]
    assert pair.transport.producerState == "paused"
    clock.pump([0.0] * 10)
    assert pair.echo.heard == ["one", "two", "three", "four"]
    assert pair.transport.producerState == "producing"


def test_a_large_unit_leaves_as_there_is_room() -> None:
    """What is sent behind it waits, and the protocol is told of room when all has left."""
    pair = Pair()
    received = bytearray()

    def write(data: bytes) -> None:
        received.extend(data)
        if len(received) < 3 * PIECE_OCTETS:
            pair.link.pauseProducing()

    pair.transport.write = write  # type: ignore[method-assign]
    unit = bytes(5 * PIECE_OCTETS)
    pair.echo.link.send_binary(unit)
    pair.echo.link.send_texts([b"behind"])
    assert len(received) == PIECE_OCTETS + 5
    pair.link.resumeProducing()
    assert len(received) == 2 * PIECE_OCTETS + 5
    assert pair.echo.told == ["full", "full"]
    pair.link.resumeProducing()
    assert received == octets(unit) + octets("behind")
    assert pair.echo.told == ["full", "full", "clear"]


def test_small_units_leave_together() -> None:
    """One write for all, up to a bound."""
    pair = Pair()
    written: list[int] = []
    pair.transport.write = lambda data: written.append(len(data))  # type: ignore[method-assign]
    pair.echo.link.send_texts([b"x" * 95] * 1000)
    assert sum(written) == 100_000
    assert len(written) == 2


def test_a_client_that_asks_and_does_not_read_is_cut_off() -> None:
    """`Limits.outbox_octets`, counted from when the link is full; by reading, it begins anew."""
    pair = Pair(outbox_octets=1000)
    for _ in range(2):
        pair.link.pauseProducing()
        pair.say("x" * 600)
        pair.link.resumeProducing()
    pair.link.pauseProducing()
    pair.say("x" * 600, "x" * 600)
    assert pair.transport.disconnected


def test_a_client_that_reads_less_than_it_asks_for_is_cut_off() -> None:
    """What waits counts, not what was sent since the link was last full."""
    pair = Pair(outbox_octets=20 * PIECE_OCTETS)

    def write(data: bytes) -> None:
        pair.link.pauseProducing()

    pair.transport.write = write  # type: ignore[method-assign]
    for _ in range(6):
        pair.say(*[bytes(PIECE_OCTETS)] * 4)
        assert not pair.transport.disconnected
        pair.link.resumeProducing()
    pair.say(*[bytes(PIECE_OCTETS)] * 4)
    assert pair.transport.disconnected


def test_losing_waits_for_the_protocol_and_for_what_is_on_its_way() -> None:
    """In this order; then the stream ends, without a goodbye."""
    pair = Pair()
    pair.echo.sent = Deferred()
    pair.link.pauseProducing()
    pair.echo.link.send_binary(bytes(3 * PIECE_OCTETS))
    pair.echo.link.lose("enough")
    pair.echo.sent.callback(None)
    assert not pair.transport.disconnecting
    pair.link.resumeProducing()
    assert pair.transport.disconnecting
    assert pair.take() == octets(bytes(3 * PIECE_OCTETS))
    pair.say("too late")
    assert pair.echo.heard == []


def test_a_deaf_link_discards_units_and_still_sends() -> None:
    """Soft stop, step 2; it cannot be paused any more."""
    pair = Pair()
    pair.link.pause_reading()
    pair.link.stop_listening()
    pair.link.pause_reading()
    assert pair.transport.producerState == "producing"
    pair.say("not heard")
    pair.echo.link.send_texts([b"still told"])
    assert pair.echo.heard == []
    assert pair.take() == octets("still told")


def test_losing_in_the_middle_of_a_read_discards_the_rest() -> None:
    """And the link is read on, to its end."""
    pair = Pair()
    pair.say("one", "bye", "two")
    assert pair.echo.heard == ["one", "bye"]
    assert pair.transport.disconnecting


def test_losing_while_a_read_is_not_yet_acted_on_reads_on() -> None:
    """Else the client's end would never be seen."""
    pair = Pair()
    clock = pair.listener.clock

    def take_a_share(text: bytes) -> None:
        clock.rightNow += SHARE_SECONDS

    pair.echo.text_arrived = take_a_share  # type: ignore[method-assign]
    pair.echo.sent = Deferred()
    pair.say("one", "two", "three")
    pair.echo.link.lose("enough")
    assert pair.transport.producerState == "producing"
    assert pair.link.state is LinkState.FINISHING


def test_a_protocol_that_fails_loses_its_link() -> None:
    """Others do not notice."""
    pair = Pair()
    pair.say("raise", "more")
    assert pair.echo.heard == ["raise"]
    assert pair.transport.disconnecting


def test_what_cannot_be_framed_is_cut_off() -> None:
    """After what came before it."""
    pair = Pair()
    pair.link.dataReceived(octets("fine") + b"\x07garbage")
    assert pair.echo.heard == ["fine"]
    assert pair.transport.disconnected


def test_half_received_units_are_accounted_for() -> None:
    """From a size on; when they are complete or their connection has gone, no more."""
    pair = Pair()
    unit = octets(bytes(2 * ACCOUNTED_FROM))
    pair.link.dataReceived(unit[:ACCOUNTED_FROM])
    assert pair.listener.held == 0
    pair.link.dataReceived(unit[ACCOUNTED_FROM:-1])
    assert pair.listener.held == len(unit) - 1
    pair.link.dataReceived(unit[-1:] + unit[:-1])
    assert pair.echo.heard == [bytes(2 * ACCOUNTED_FROM)]
    assert pair.listener.held == len(unit) - 1
    pair.link.connectionLost(Failure(ConnectionDone()))
    assert pair.listener.held == 0


def test_who_half_sends_too_much_is_cut_off() -> None:
    """`Limits.assembly_octets` holds for all connections of a listener together."""
    listener = MemoryListener(Clock(), Limits(assembly_octets=50_000))
    first, second = Pair(listener), Pair(listener)
    first.link.dataReceived(octets(bytes(60_000))[:40_000])
    second.link.dataReceived(octets(bytes(60_000))[:40_000])
    assert not first.transport.disconnected
    assert second.transport.disconnected
    assert listener.held == 40_000


def test_a_lost_link_tells_its_protocol_once() -> None:
    """And keeps nothing."""
    pair = Pair()
    pair.link.pauseProducing()
    pair.echo.link.send_binary(bytes(10 * PIECE_OCTETS))
    pair.link.connectionLost(Failure(ConnectionDone()))
    pair.link.connectionLost(Failure(ConnectionDone()))
    pair.echo.link.send_binary(b"into the void")
    assert pair.echo.told == ["full", "lost ConnectionDone"]
    assert pair.listener.clock.getDelayedCalls() == []


def test_a_protocol_without_units_cannot_have_a_carrier_of_units() -> None:
    """The bus does not start."""
    router: Any = None
    carrier = units.endpoint(Clock(), ["tcp", "0"], {})
    with pytest.raises(ConfigError, match="listen string 'echo:units:tcp:0'"):
        Listener(Clock(), QuietProtocol(), carrier, router, Limits(), {}, "echo:units:tcp:0", lambda interface: ())
