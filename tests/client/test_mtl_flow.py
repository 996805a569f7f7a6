"""What does an MTL client say on a data flow? Without sockets, and with times of the test's own."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.client.mtl_flow import Came, ClientFlow, Ended, Left, NotSummoned, Safe, Standing, State, Summoned, Unwanted
from fmqbus.client.mtl_in_hand import InHand
from fmqbus.errors import Detached, PeerError
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.model import Outcome
from fmqbus.protocols.mtl.commands import (
    Command,
    Confirm,
    Content,
    Dismiss,
    Lease,
    Ping,
    Pong,
    Reader,
    Reject,
    Response,
    Summon,
    Writer,
)
from fmqbus.protocols.mtl.confirmations import Sent
from fmqbus.protocols.mtl.data_codec import decode_command, encode_command
from tests.protocols.mtl.written import VECTORS


def begun(flow: Reader | Writer, window: int = 3, most_in_hand: int = 3) -> ClientFlow[str]:
    """A flow whose lease has been said."""
    begun: ClientFlow[str] = ClientFlow(flow, window, most_in_hand)
    begun.lease(b"K7Q2", 0.0)
    assert begun.take_output() == [Lease(1, b"K7Q2")]
    return begun


def standing(flow: Reader | Writer, **options: Any) -> ClientFlow[str]:
    """One whose lease was good."""
    flow_ = begun(flow, **options)
    assert flow_.heard(Response(1, 200)) == [Standing()]
    return flow_


READS, WRITES = Reader(is_confirmed=True), Writer(is_confirmed=True)


def test_a_flow_as_the_vectors_have_it() -> None:
    """What is said is octet by octet theirs, and what they answer is understood."""
    flow: ClientFlow[str] = ClientFlow(Reader((b"resource",), is_confirmed=True), 3, 3)

    def says(name: str) -> None:
        (said,) = flow.take_output()
        assert encode_command(said) == list(VECTORS[name].parts)

    def hears(parts: Sequence[bytes]) -> list[Any]:
        return flow.heard(decode_command(parts, DEFAULT_LIMITS))

    def answered(name: str) -> list[Any]:
        (parts,) = VECTORS[name].reply or ()
        return hears(parts)

    flow.lease(b"K7Q2", 0.0)
    says("lease")
    assert answered("lease") == [Standing()]
    flow.summon(b"resource", 0.0)
    says("summon")
    assert answered("summon") == [Summoned(b"resource")]
    assert hears(VECTORS["content_delivered"].parts) == [Came(Content(1, b"resource", b"", b"hello"))]
    for parts in (VECTORS["content_table"].parts, VECTORS["content_no_table"].parts):
        hears(parts)
    for sequence in (3, 1, 2):
        flow.settle(sequence, Outcome.ACCEPT)
        if sequence == 3:
            flow.say_settled()
            says("confirm_one")
    flow.say_settled()
    assert flow.take_output() == [Confirm(2, multiple=True)]
    hears(VECTORS["content_no_resource"].parts)
    flow.settle(4, Outcome.RELEASE)
    flow.say_settled()
    assert flow.take_output() == [Reject(4, recycle=True)]
    flow.ping(5.0)
    ping, _ = flow.take_output()
    assert encode_command(ping) == list(VECTORS["ping"].parts)
    assert answered("ping") == []
    assert hears(VECTORS["ping"].parts) == []
    (pong,) = flow.take_output()
    assert [encode_command(pong)] == [list(parts) for parts in VECTORS["ping"].reply or ()]


def test_a_lease_comes_first_and_summons_need_not_wait() -> None:
    """Commands are told apart by their sequences (MTL, Initializing a Data Flow)."""
    flow = begun(READS)
    flow.summon(b"a", 1.0)
    flow.summon(b"b", 2.0)
    assert flow.take_output() == [Summon(2, b"a"), Summon(3, b"b")]
    assert flow.owed_since(9.0) == 0.0
    assert flow.heard(Response(1, 200)) == [Standing()]
    assert flow.owed_since(9.0) == 1.0
    assert flow.heard(Response(3, 200)) == [Summoned(b"b")]
    (refused,) = flow.heard(Response(2, 400))
    assert isinstance(refused, NotSummoned)
    assert refused.resource == b"a"
    assert (flow.is_owed, flow.owed_since(9.0)) == (False, 9.0)


@pytest.mark.parametrize("code", [400, 403, 500])
def test_without_a_good_lease_there_is_no_flow(code: int) -> None:
    """Whatever else is under way on it."""
    flow = begun(READS)
    flow.summon(b"a", 0.0)
    (ended,) = flow.heard(Response(1, code))
    assert isinstance(ended, Ended)
    assert flow.heard(Response(2, 403)) == []
    assert flow.take_output() == []


def test_contents_are_in_hand_until_something_becomes_of_them() -> None:
    """What several confirmations cover is said by one (MTL, Content Confirmation)."""
    flow = standing(READS)
    contents = [Content(number, b"a", b"", b"%d" % number) for number in (1, 2, 3)]
    assert [flow.heard(content) for content in contents] == [[Came(content)] for content in contents]
    assert flow.in_hand == 3
    assert flow.settle(2, Outcome.ACCEPT)
    assert flow.settle(1, Outcome.ACCEPT)
    assert not flow.settle(1, Outcome.ACCEPT)
    assert not flow.settle(9, Outcome.ACCEPT)
    assert flow.settle(3, Outcome.REJECT)
    flow.say_settled()
    assert flow.take_output() == [Reject(3), Confirm(2, multiple=True)]
    flow.say_settled()
    assert flow.take_output() == []


def test_more_than_can_be_in_hand_goes_back() -> None:
    """A broker that does not know our window has one of its own; without any it would cost memory."""
    flow = standing(READS)
    for number in (1, 2, 3):
        flow.heard(Content(number, b"a"))
    assert flow.heard(Content(4, b"a")) == []
    assert flow.take_output() == [Reject(4, recycle=True)]
    assert flow.in_hand == 3


def test_where_nothing_is_confirmed_nothing_is_in_hand() -> None:
    """Whatever number it has."""
    flow = standing(Reader())
    assert flow.heard(Content(1, b"a")) == flow.heard(Content(1, b"a")) == [Came(Content(1, b"a"))]
    assert not flow.settle(1, Outcome.ACCEPT)
    flow.say_settled()
    assert flow.take_output() == []


def test_what_is_written_has_a_window() -> None:
    """Until the lease is known to be good there is no room, for the bus drops what comes before (reading 29)."""
    assert begun(WRITES).room == 0
    flow = standing(WRITES)
    for number in (1, 2, 3):
        assert flow.room == 4 - number
        flow.write(b"a", b"", b"x", f"tag {number}")
    assert flow.take_output() == [Content(number, b"a", b"", b"x") for number in (1, 2, 3)]
    assert flow.room == 0
    assert flow.heard(Reject(2, recycle=True)) == [Unwanted(["tag 2"], is_for_now=True)]
    assert flow.heard(Confirm(3, multiple=True)) == [Safe(["tag 1", "tag 3"])]
    assert flow.heard(Confirm(3, multiple=True)) == flow.heard(Confirm(9)) == []
    assert flow.room == 3


def test_to_leave_is_to_give_back_what_is_in_hand() -> None:
    """The first is in front again; and what still comes goes back too, until the Dismiss is answered (reading 43)."""
    flow = standing(READS)
    for number in (1, 2):
        flow.heard(Content(number, b"a"))
    flow.settle(1, Outcome.ACCEPT)
    assert flow.leave([b"a"], 0.0) == []
    assert flow.take_output() == [Dismiss(2, b"a"), Reject(2, recycle=True), Confirm(1)]
    assert flow.heard(Content(3, b"a")) == []
    assert flow.take_output() == [Reject(3, recycle=True)]
    assert flow.heard(Response(2, 200)) == [Left()]
    flow = standing(READS)
    for number in (1, 2):
        flow.heard(Content(number, b"a"))
    assert flow.leave([], 0.0) == [Left()]
    assert flow.take_output() == [Reject(2, recycle=True), Reject(1, recycle=True)]


def test_who_has_no_lease_yet_has_nothing_to_leave() -> None:
    """It ends at once."""
    flow = begun(READS)
    (ended,) = flow.leave([b"a"], 0.0)
    assert isinstance(ended, Ended)
    assert flow.end(Detached()) == []
    assert flow.take_output() == []


def test_a_broker_that_has_forgotten_the_flow_is_found_out() -> None:
    """It answers a Ping all the same (readings 29 and 40)."""
    flow = standing(READS)
    flow.ping(5.0)
    assert flow.take_output() == [Ping(), Dismiss(2, b"")]
    assert flow.heard(Pong()) == flow.heard(Response(2, 400)) == []
    flow.ping(10.0)
    (ended,) = flow.heard(Response(3, 403))
    assert isinstance(ended, Ended)


def test_a_ping_is_answered_at_any_time() -> None:
    """Also while the lease is under way (reading 53)."""
    flow = begun(WRITES)
    flow.heard(Ping())
    assert flow.take_output() == [Pong()]
    flow.ping(1.0)
    assert flow.take_output() == [Ping()]


def test_an_answer_to_nothing_is_wrong() -> None:
    """And so is a content that is in hand already."""
    flow = standing(READS)
    with pytest.raises(PeerError):
        flow.heard(Response(7, 200))
    flow.heard(Content(1, b"a"))
    with pytest.raises(PeerError):
        flow.heard(Content(1, b"a"))


def leaving(flow: Reader | Writer) -> ClientFlow[str]:
    """One that is about to end."""
    left = standing(flow)
    left.leave([b"a"], 0.0)
    return left


def ended(flow: Reader | Writer) -> ClientFlow[str]:
    """One that has."""
    over = standing(flow)
    over.end(Detached())
    return over


COMMANDS: Sequence[Command] = [
    Lease(1, b"x"),
    Response(1, 200),
    Summon(1, b"a"),
    Dismiss(1, b"a"),
    Content(1, b"a"),
    Confirm(1),
    Reject(1),
    Ping(),
    Pong(),
]


@pytest.mark.parametrize(
    ("make", "flow", "command"),
    list(product([begun, standing, leaving, ended], [READS, WRITES, Reader(), Writer()], COMMANDS)),
    ids=lambda part: getattr(part, "__name__", type(part).__name__),
)
def test_whatever_comes_only_a_peers_error_may_come_of_it(make: Any, flow: Any, command: Command) -> None:
    """In every state."""
    tried = make(flow)
    try:
        tried.heard(command)
    except PeerError:
        assert tried.state is not State.ENDED or isinstance(command, Lease | Summon | Dismiss)


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(Outcome), st.booleans())), st.integers(0, 10))
def test_each_content_is_told_of_just_as_the_application_said(said: list[Any], count: int) -> None:
    """In whatever order, and however much is said at a time: the broker, which has our own account of what it sent,
    learns of each the right thing, once."""
    sent: Sent[int] = Sent(True, 100)
    in_hand = InHand()
    for number in range(count):
        in_hand.came(sent.next(number))
    expected: dict[int, Outcome] = {}
    told: dict[int, str] = {}

    def tell() -> None:
        for settling in in_hand.to_say():
            for number in sent.settle(settling):
                assert number not in told
                told[number] = "accept" if isinstance(settling, Confirm) else str(settling.recycle)

    for number, outcome, is_told in said:
        if in_hand.settle(number + 1, outcome):
            expected[number] = outcome
        if is_told:
            tell()
    tell()
    words = {Outcome.ACCEPT: "accept", Outcome.RELEASE: "True", Outcome.REJECT: "False"}
    assert told == {number: words[outcome] for number, outcome in expected.items()}
    assert len(in_hand) == len(sent) == count - len(expected)


def test_of_a_broker_that_does_not_count_nothing_is_confirmed_together() -> None:
    """Nobody could tell what that covers (reading 44)."""
    in_hand = InHand()
    for number in (7, 3, 9):
        in_hand.came(number)
    for number in (7, 9):
        in_hand.settle(number, Outcome.ACCEPT)
    assert in_hand.to_say() == [Confirm(7), Confirm(9)]
