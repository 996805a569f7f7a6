"""What is kept of a password, and which names there can be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scramp.utils import saslprep

from fmqbus.auth.passwords import LEAST_ITERATIONS, check_name, fits, make_secret, prepared
from fmqbus.errors import LocalError


def test_a_password_fits_what_was_kept_of_it_and_no_other_does() -> None:
    """Also after normalization, which makes one of two ways to write it (RFC 4013)."""
    secret = make_secret("p\u00e5ss \u2168", LEAST_ITERATIONS)
    assert fits("p\u00e5ss \u2168", secret)
    assert fits("pa\u030ass IX", secret)
    assert not fits("pass IX", secret)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_letters_are_normalized_already(text: str) -> None:
    """As the library would have it (RFC 4013)."""
    assert prepared(text) == saslprep(text) == text


def test_what_is_kept_is_salted_and_shown_to_nobody() -> None:
    """Two users of one password do not look alike, and a log that gets hold of it has not got it."""
    first, second = (make_secret("same", LEAST_ITERATIONS) for _ in range(2))
    assert first.salt != second.salt
    assert first.stored_key != second.stored_key
    assert repr(first.stored_key) not in repr(first)


@pytest.mark.parametrize("password", ["", "\u00ad", "a\0b", "x" * 1025, "\ud800"])
def test_what_is_no_password(password: str) -> None:
    """Empty (also after normalization), too long, or with characters that nobody can type."""
    with pytest.raises(LocalError):
        make_secret(password, LEAST_ITERATIONS)


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "a\0", "\u00aa", "x" * 256, "\ud800", "\u202ea"])
def test_what_is_no_name(name: str) -> None:
    """Names are compared as they are, so there is one way to write each."""
    with pytest.raises(LocalError):
        check_name(name)


@pytest.mark.parametrize("name", ["anna", "Anna Berg", "j\u00fcrgen", "a,b=c", "op@example.org", "x" * 255])
def test_what_is_a_name(name: str) -> None:
    """Blanks within, commas and all."""
    check_name(name)
