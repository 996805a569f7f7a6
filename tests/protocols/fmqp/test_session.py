"""What does each packet ask of the bus, and what does the bus's word become on the link?

Without a bus: a session that writes down what it is asked, and a link that writes down what it sends.
"""

from __future__ import annotations

from typing import Any

import pytest
from zope.interface.verify import verifyObject

from fmqbus import errors
from fmqbus.errors import BusError, PeerError
from fmqbus.interfaces import ILink, IPeer
from fmqbus.model import Interest, Message, Principal, Publication, Subscription
from fmqbus.protocols.fmqp.codec import WIRE, Oversize, Packet
from fmqbus.protocols.fmqp.session import FMQPSession
from fmqbus.testing.bus import LOCAL
from fmqbus.testing.links import MemoryLink
from tests.protocols.fmqp.packets import CACHE, DEBUG, FEEDBACK, LAST_WILL, SUBSCRIPTION, UNSUBSCRIBE, feedback, packet


class Written:
    """Stands for router and session in one: every call becomes a row."""

    def __init__(self, error: BusError | None = None) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self._error = error

    def attach(self, peer: IPeer, principal: Principal) -> Written:
        return self

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **options: Any) -> None:
            self.rows.append((name, *arguments, *options.values()))
            if self._error is not None and not name.startswith("count_"):
                raise self._error

        return call


def session(error: BusError | None = None) -> tuple[FMQPSession, Written, MemoryLink]:
    """A session, what it asks, and what it sends. With `error`, all that is asked fails with it."""
    written, link = Written(error), MemoryLink()
    return FMQPSession(written, LOCAL, link), written, link  # type: ignore[arg-type]


def asks_for(flags: int) -> tuple[Any, ...]:
    """What the specification has a packet with these flags, topic ``a/`` and body ``x`` mean."""
    is_subscription, is_end, is_feedback, is_debug, is_will, is_cached = (bool(flags & 0x80 >> bit) for bit in range(6))
    if not is_subscription and is_feedback:
        return ("count_refused", "feedback-publication")
    if not is_subscription:
        return ("set_will" if is_will else "publish", Message(b"a", b"x", is_cached, is_will))
    if is_feedback:
        return ("unwatch_interest" if is_end else "watch_interest", b"a")
    return ("unsubscribe", b"a") if is_end else ("subscribe", b"a", is_debug)


@pytest.mark.parametrize("flags", range(256))
def test_every_flag_octet_asks_for_what_the_specification_says(flags: int) -> None:
    """FMQP, section Packets format; readings 2, 3, 6, 38 and 39."""
    fmqp, bus, _ = session()
    is_well_formed = fmqp.received(Packet(flags, b"a/", b"x"))
    assert bus.rows == [asks_for(flags)]
    assert is_well_formed is (bus.rows[0][0] != "count_refused")


def test_the_flags_have_the_names_of_the_specification() -> None:
    """FMQP, section Packets format: the list of flags, from bit 0."""
    assert [0x80 >> bit for bit in range(6)] == [SUBSCRIPTION, UNSUBSCRIBE, FEEDBACK, DEBUG, LAST_WILL, CACHE]


@pytest.mark.parametrize(
    ("topic", "reason"),
    [(b"", "topic-empty"), (b"//", "topic-empty"), (b"\xff", "topic-utf8"), (b"a\0", "topic-nul")],
)
@pytest.mark.parametrize("flags", range(0, 256, 32))
def test_an_incorrect_topic_is_counted_whatever_the_packet_wants(flags: int, topic: bytes, reason: str) -> None:
    """FMQP, section Processing of incorrect messages; reading 6. Nothing else happens."""
    fmqp, bus, link = session()
    assert not fmqp.received(Packet(flags, topic, b"x"))
    assert bus.rows == [("count_refused", reason)]
    assert (link.sent, link.calls) == (b"", [])


def test_a_packet_that_was_too_large_is_counted() -> None:
    """Reading 5."""
    fmqp, bus, _ = session()
    assert not fmqp.received(Oversize(1, 1 << 31))
    assert bus.rows == [("count_refused", "oversize")]


ERRORS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, BusError)]


@pytest.mark.parametrize("kind", ERRORS)
@pytest.mark.parametrize("flags", [0x00, 0x08, 0x80, 0xA0, 0xC0, 0xE0])
def test_whatever_the_bus_answers_the_packet_is_discarded_and_counted(kind: type[BusError], flags: int) -> None:
    """FMQP has no word for a refusal: the client is told nothing, and stays. What is refused was well formed."""
    fmqp, bus, link = session(kind())
    assert fmqp.received(Packet(flags, b"a", b"x")) is not issubclass(kind, PeerError)
    assert bus.rows[1:] == [("count_refused", kind.reason)]
    assert (link.sent, link.calls) == (b"", [])


def test_a_session_is_a_peer_over_a_link() -> None:
    """The two contracts it stands between."""
    fmqp, _, link = session()
    assert verifyObject(IPeer, fmqp)
    assert verifyObject(ILink, link)
    assert fmqp.is_blind


def test_publications_are_sent_as_they_came_or_encoded_once_and_counted() -> None:
    """Reading 49: what another protocol published becomes a publication without flags."""
    octets = 2 * packet(0, b"a", b"1")
    ours = Publication(WIRE, octets, 2, None, None)  # type: ignore[arg-type]
    foreign = Publication.of(Message(b"b", b"2", properties={"colour": "blue"}))
    fmqp, bus, link = session()
    fmqp.deliver([(ours, ()), (foreign, (Subscription(b"*"),))])
    assert link.sent == octets + packet(0, b"b", b"2")
    assert bus.rows == [("count_sent", 3, len(link.sent))]
    assert foreign.encoded(WIRE) is foreign.encoded(WIRE)


def test_changes_of_interest_are_sent_as_feedback_in_order() -> None:
    """FMQP, section Feedback topics; readings 34, 35 and 37."""
    fmqp, _, link = session()
    fmqp.interest_changed([Interest(b"a/*", 1), Interest(b"b", 258), Interest(b"a/*", 0)])
    assert link.sent == feedback(b"a/*", 1) + packet(FEEDBACK, b"b", b"\0\0\0\0\0\0\1\2") + packet(
        FEEDBACK, b"a/*", b""
    )


def test_what_fmqp_has_no_word_for_is_not_told() -> None:
    """A subscription that the policy ends brings just nothing more."""
    fmqp, bus, link = session()
    fmqp.subscription_ended(Subscription(b"a"), "policy")
    assert (link.sent, link.calls, bus.rows) == (b"", [], [])


def test_what_the_bus_asks_of_the_connection_goes_to_the_link() -> None:
    """`IPeer` on one side, `ILink` on the other."""
    fmqp, _, link = session()
    fmqp.pause_reading()
    fmqp.resume_reading()
    fmqp.stop_listening()
    fmqp.ending("drained")
    fmqp.abort("outbox-full")
    assert link.calls == ["pause_reading", "resume_reading", "stop_listening", "lose drained", "abort outbox-full"]
