"""Does what reads MTL bear whatever it is given?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz import mtl_codec


@pytest.mark.parametrize("octets", mtl_codec.SEEDS)
def test_every_vector_is_borne(octets: bytes) -> None:
    """The valid and the others."""
    mtl_codec.check(octets)


@given(st.lists(st.sampled_from(mtl_codec.SEEDS) | st.binary(max_size=64)).map(b"".join))
def test_vectors_mixed_with_noise_are_borne(octets: bytes) -> None:
    """A short search, in every run of the tests."""
    mtl_codec.check(octets)


@given(st.sampled_from(mtl_codec.SEEDS), st.integers(0, 400), st.binary(min_size=1, max_size=3))
def test_vectors_with_some_octets_replaced_are_borne(octets: bytes, at: int, noise: bytes) -> None:
    """Deeper in than noise between them."""
    at = at % len(octets)
    mtl_codec.check(octets[:at] + noise + octets[at + len(noise) :])


def test_contents_that_are_written_otherwise_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check fails where it should."""
    monkeypatch.setattr(mtl_codec, "encode", lambda said: [b"\x08", b""])
    with pytest.raises(AssertionError):
        mtl_codec.check(mtl_codec.frames(mtl_codec.VECTORS["content_table"].parts))
