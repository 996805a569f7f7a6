"""Does the check of the fuzzer check anything?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.model import Publication, Route
from fmqbus.protocols.fmqp.codec import Decoder, Oversize, Packet
from tests.fuzz import fmqp_decoder


@pytest.mark.parametrize("octets", fmqp_decoder.SEEDS)
def test_the_decoder_bears_every_vector(octets: bytes) -> None:
    """What the search begins with must not be what it finds."""
    fmqp_decoder.check(octets)


@given(st.lists(st.sampled_from(fmqp_decoder.SEEDS) | st.binary(max_size=64)).map(b"".join))
def test_the_decoder_bears_vectors_mixed_with_noise(octets: bytes) -> None:
    """A short search, in every run of the tests."""
    fmqp_decoder.check(octets)


class ForgetfulDecoder(Decoder):
    """Forgets what it held whenever a single octet comes."""

    def feed(self, data: bytes, routes: Mapping[bytes, Route]) -> Iterator[Publication | Packet | Oversize]:
        if len(data) == 1:
            self._held = b""
        return super().feed(data, routes)


def test_a_decoder_that_depends_on_the_cuts_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check fails where it should."""
    monkeypatch.setattr(fmqp_decoder, "Decoder", ForgetfulDecoder)
    with pytest.raises(AssertionError):
        fmqp_decoder.check(fmqp_decoder.SEEDS[0])
