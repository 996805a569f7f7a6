"""Do the checks of the fuzzer check anything, for UMQ?"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.protocols.umq.attachments import Arrivals
from fmqbus.protocols.umq.peer import Peer
from tests.fuzz import umq_peer


@pytest.mark.parametrize("octets", umq_peer.SEEDS)
def test_the_peer_bears_every_vector(octets: bytes) -> None:
    """What the search begins with must not be what it finds."""
    umq_peer.check(octets)


@given(st.lists(st.sampled_from(umq_peer.SEEDS) | st.binary(max_size=64)).map(b"".join))
def test_the_peer_bears_vectors_mixed_with_noise(octets: bytes) -> None:
    """A short search, in every run of the tests."""
    umq_peer.check(octets)


def test_a_peer_that_answers_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check fails where it should."""
    answer = Peer.answer

    def answer_twice(self: Peer, id: int, *result: Any) -> None:
        answer(self, id, *result)
        self._to_answer.add(id)
        answer(self, id, *result)

    umq_peer.check(b"C1:x\x1e")
    monkeypatch.setattr(Peer, "answer", answer_twice)
    with pytest.raises(AssertionError):
        umq_peer.check(b"C1:x\x1e")


def test_a_peer_that_does_not_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that waits for nothing has an answer at the end."""
    monkeypatch.setattr(Peer, "answer", lambda *_: None)
    with pytest.raises(AssertionError):
        umq_peer.check(b"C1:x\x1e")


def test_a_peer_that_forgets_its_bounds_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is held is looked at after each message."""

    def hold(self: Arrivals, octets: int) -> None:
        self.held += octets

    octets = 30 * b"A1:C1:x\x1e"
    umq_peer.check(octets)
    monkeypatch.setattr(Arrivals, "_hold", hold)
    with pytest.raises(AssertionError):
        umq_peer.check(octets)
