"""Is each content settled once, by what covers it, and confirmed only when it is safe?"""

from __future__ import annotations

from sys import maxsize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import LocalError
from fmqbus.model import Outcome
from fmqbus.protocols.mtl.commands import Confirm, Reject
from fmqbus.protocols.mtl.confirmations import Received, Sent, outcome_of

# what was sent


def make_sent(count: int, window: int = 100) -> Sent[str]:
    sent: Sent[str] = Sent(True, window)
    assert [sent.next(f"content {number}") for number in range(1, count + 1)] == list(range(1, count + 1))
    return sent


@pytest.mark.parametrize(
    ("settling", "outcome"),
    [
        (Confirm(1), Outcome.ACCEPT),
        (Reject(1, recycle=True), Outcome.RELEASE),
        (Reject(1, recycle=False), Outcome.REJECT),
    ],
)
def test_what_becomes_of_a_message(settling: Confirm | Reject, outcome: Outcome) -> None:
    """Recycled, it is put back in front; rejected without, it is a dead letter. (reading 17)"""
    assert outcome_of(settling) is outcome


@pytest.mark.parametrize("kind", [Confirm, Reject])
def test_one_content_or_all_up_to_one_are_settled(kind: type[Confirm] | type[Reject]) -> None:
    """Whatever resources they are of; each once. (MTL, Content Confirmation; reading 45)"""
    sent = make_sent(5)
    assert sent.settle(kind(2, False)) == ["content 2"]
    assert sent.settle(kind(2, False)) == []
    assert sent.settle(kind(4, True)) == ["content 1", "content 3", "content 4"]
    assert sent.settle(kind(4, True)) == []
    assert sent.settle(kind(5, True)) == ["content 5"]
    assert len(sent) == 0


@pytest.mark.parametrize("sequence", [0, 4, 99, 2**63, 2**64 - 1])
@pytest.mark.parametrize("multiple", [False, True])
def test_what_was_never_sent_is_not_settled(sequence: int, multiple: bool) -> None:
    """Nor is anything before it: such a command is invalid, and ignored.
    (MTL, Content Confirmation; reading 50)"""
    sent = make_sent(3)
    assert sent.settle(Confirm(sequence, multiple)) == []
    assert sent.settle(Reject(sequence, multiple)) == []
    assert len(sent) == 3


def test_what_is_settled_already_may_stand_for_all_before_it() -> None:
    """Over a gap. (reading 45)"""
    sent = make_sent(3)
    sent.settle(Confirm(2))
    assert sent.settle(Confirm(2, multiple=True)) == ["content 1"]
    assert sent.take_all() == ["content 3"]
    assert sent.take_all() == []


def test_a_reader_that_confirms_nothing_is_sent_no_more() -> None:
    """So it costs no more memory, either. (reading 51)"""
    sent = make_sent(3, window=3)
    assert sent.room == 0
    with pytest.raises(LocalError):
        sent.next("one too many")
    sent.settle(Confirm(2))
    assert sent.room == 1
    assert sent.next("content 4") == 4


def test_without_confirmation_contents_are_only_counted() -> None:
    """Confirmations are ignored. (readings 50 and 51)"""
    sent: Sent[str] = Sent(False, 1)
    assert [sent.next("") for _ in range(1000)] == list(range(1, 1001))
    assert (len(sent), sent.room) == (0, maxsize)
    assert sent.settle(Confirm(1000, multiple=True)) == []
    assert sent.take_all() == []


@given(st.lists(st.tuples(st.sampled_from("scr"), st.integers(0, 30), st.booleans()), max_size=60))
def test_settling_is_as_a_plain_table_would_have_it(steps: list[tuple[str, int, bool]]) -> None:
    """In whatever order contents and confirmations cross. (reading 43)"""
    sent: Sent[int] = Sent(True, 20)
    plain: list[int] = []
    last = 0
    for step, sequence, multiple in steps:
        if step == "s":
            if sent.room:
                last += 1
                plain.append(sent.next(last))
            continue
        covered = [one for one in plain if (one <= sequence if multiple else one == sequence) and sequence <= last]
        assert sent.settle((Confirm if step == "c" else Reject)(sequence, multiple)) == covered
        plain = [one for one in plain if one not in covered]
        assert len(sent) == len(plain) == 20 - sent.room
    assert sent.take_all() == plain


# what was received


def test_what_is_safe_is_confirmed_together() -> None:
    """Once for all, when somebody wants to say it. (reading 48)"""
    received = Received(100)
    for sequence in range(1, 11):
        received.safe(received.came(sequence))
    assert received.is_owing
    assert received.to_say() == [Confirm(10, multiple=True)]
    assert not received.is_owing
    assert received.to_say() == []


def test_what_is_not_safe_holds_up_what_comes_behind_it() -> None:
    """For a confirmation covers all before it. (MTL, Content Confirmation)"""
    received = Received(100)
    first, second, third = (received.came(sequence) for sequence in (1, 2, 3))
    received.safe(second)
    assert received.to_say() == []
    received.safe(first)
    assert received.to_say() == [Confirm(2, multiple=True)]
    received.safe(third)
    assert received.to_say() == [Confirm(3, multiple=True)]


def test_what_is_rejected_is_said_before_a_confirmation_that_covers_it() -> None:
    """The sender has settled it by then. Alone it is not confirmed at all. (readings 47 and 49)"""
    received = Received(100)
    receipts = [received.came(sequence) for sequence in (1, 2, 3)]
    received.rejected(receipts[1], recycle=False)
    received.safe(receipts[2])
    received.safe(receipts[0])
    assert received.to_say() == [Reject(2), Confirm(3, multiple=True)]
    received.rejected(received.came(4), recycle=True)
    assert received.to_say() == [Reject(4, recycle=True)]


def test_what_is_refused_at_once_waits_for_nobody() -> None:
    """And what comes behind it is in line all the same. (reading 47)"""
    received = Received(100)
    first = received.came(1)
    received.refused(2, recycle=False)
    received.safe(received.came(3))
    assert received.to_say() == [Reject(2)]
    received.safe(first)
    assert received.to_say() == [Confirm(3, multiple=True)]


@pytest.mark.parametrize("sequences", [[1, 2, 4, 5], [2, 3], [0, 1], [1, 1, 2], [1, 2, 1], [5], [1, 3, 2]])
def test_after_a_gap_each_content_is_confirmed_by_itself(sequences: list[int]) -> None:
    """What is missing may be lost: it must not be taken for safe. (reading 44)"""
    received = Received(100)
    for sequence in sequences:
        received.safe(received.came(sequence))
    said = received.to_say()
    covered = [one.sequence for one in said if isinstance(one, Confirm) and one.multiple]
    in_line = covered[0] if covered else 0
    assert sequences[:in_line] == list(range(1, in_line + 1))
    assert [one.sequence for one in said if isinstance(one, Confirm) and not one.multiple] == sequences[in_line:]


def test_a_sequence_that_cannot_go_on_is_no_trouble() -> None:
    """2^64-1 is the last there is."""
    received = Received(100)
    received.safe(received.came(2**64 - 1))
    assert received.to_say() == [Confirm(2**64 - 1)]


def test_a_sender_that_is_too_fast_is_asked_to_send_again_later() -> None:
    """What waits to be safe is bounded, and so is what waits behind it. (reading 49)"""
    received = Received(3)
    receipts = [received.came(sequence) for sequence in (1, 2, 3)]
    assert not received.has_room
    with pytest.raises(LocalError):
        received.came(4)
    received.refused(4, recycle=True)
    assert received.to_say() == [Reject(4, recycle=True)]
    received.safe(receipts[1])
    received.safe(receipts[2])
    assert len(received) == 1
    assert not received.has_room
    received.safe(receipts[0])
    assert received.has_room
    assert received.to_say() == [Confirm(3, multiple=True)]
    received.safe(received.came(5))
    assert received.to_say() == [Confirm(5, multiple=True)]
    received = Received(2)
    receipts = [received.came(sequence) for sequence in (5, 6)]
    assert not received.has_room
    received.safe(receipts[0])
    assert received.has_room


@given(
    st.lists(st.integers(0, 8), max_size=20),
    st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.booleans()), max_size=40),
)
def test_nothing_is_confirmed_that_is_not_safe(sequences: list[int], ends: list[tuple[int, bool, bool]]) -> None:
    """And in the end everything is settled as it ended, at a sender that counts as it should and one that does not."""
    received = Received(100)
    waiting = [(sequence, received.came(sequence)) for sequence in sequences]
    safe: list[int] = []
    settled: list[int] = []
    confirmed: set[int] = set()
    for at, is_safe, says in [*ends, *[(0, True, True)] * len(waiting)]:
        if waiting:
            sequence, receipt = waiting.pop(at % len(waiting))
            if is_safe:
                received.safe(receipt)
                safe.append(sequence)
            else:
                received.rejected(receipt, recycle=True)
                settled.append(sequence)
        if says:
            for one in received.to_say():
                if isinstance(one, Confirm):
                    covered = range(1, one.sequence + 1) if one.multiple else [one.sequence]
                    assert {*covered} <= {*safe, *settled}
                    confirmed.update(covered)
    assert len(received) == 0
    assert {*safe} <= confirmed <= {*safe, *settled}
