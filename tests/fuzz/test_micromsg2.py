"""Do the checks of the fuzzer check anything, for MicroMsg2?"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.protocols.micromsg2.codec import Decoder, Event
from fmqbus.protocols.micromsg2.connection import Connection
from tests.fuzz import micromsg2_decoder, micromsg2_server
from tests.protocols.micromsg2.written import message


@pytest.mark.parametrize("octets", micromsg2_decoder.SEEDS)
def test_the_decoder_bears_every_vector(octets: bytes) -> None:
    """What the search begins with must not be what it finds."""
    micromsg2_decoder.check(octets)


@given(st.lists(st.sampled_from(micromsg2_decoder.SEEDS) | st.binary(max_size=64)).map(b"".join))
def test_the_decoder_bears_vectors_mixed_with_noise(octets: bytes) -> None:
    """A short search, in every run of the tests."""
    micromsg2_decoder.check(octets)


@pytest.mark.parametrize("octets", micromsg2_server.SEEDS)
def test_the_server_bears_every_vector(octets: bytes) -> None:
    """In place of a handshake, and after one."""
    micromsg2_server.check(octets)


@given(
    st.lists(st.sampled_from(micromsg2_server.SEEDS) | st.binary(max_size=64)).map(b"".join),
    st.sampled_from([b"", *micromsg2_server.OPENINGS]),
)
def test_the_server_bears_vectors_mixed_with_noise(octets: bytes, opening: bytes) -> None:
    """A short search, in every run of the tests."""
    micromsg2_server.check(opening + octets)


class ForgetfulDecoder(Decoder):
    """Forgets what it held whenever a single octet comes."""

    def feed(self, data: bytes) -> Iterator[Event]:
        if len(data) == 1:
            self._held = b""
        return super().feed(data)


def test_a_decoder_that_depends_on_the_cuts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check fails where it should."""
    monkeypatch.setattr(micromsg2_decoder, "Decoder", ForgetfulDecoder)
    with pytest.raises(AssertionError):
        micromsg2_decoder.check(micromsg2_decoder.SEEDS[0])


def test_a_server_that_acknowledges_what_it_has_not_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written is compared as well as what is told."""

    def acknowledge_too_much(self: Connection, number: int) -> None:
        self._receipts.safe(self._numbers.received, self._say_safe)

    octets = micromsg2_server.OPENINGS[1] + b"".join(message(number) for number in range(1, 6))
    micromsg2_server.check(octets)
    monkeypatch.setattr(Connection, "safe", acknowledge_too_much)
    with pytest.raises(AssertionError):
        micromsg2_server.check(octets)
