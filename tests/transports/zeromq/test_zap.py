"""What ZeroMQ asks of us, and what it is told (ZAP, ZeroMQ's RFC 27)."""

from __future__ import annotations

import pytest

from fmqbus.errors import LocalError
from fmqbus.transports.zeromq.zap import parse, refusal, welcome

KEY = bytes(range(32))
#: As libzmq sends it, behind what a ROUTER puts before it.
ASKED = [b"\0k\x8bEg", b"", b"1.0", b"1", b"fmqbus", b"127.0.0.1", b"", b"CURVE", KEY]


def test_a_request_says_who_wants_to_be_let_in() -> None:
    """And whom to reply to."""
    request = parse(ASKED)
    assert (request.address, request.mechanism, request.credentials) == ("127.0.0.1", b"CURVE", (KEY,))
    assert welcome(request, "anna") == (b"\0k\x8bEg", b"", b"1.0", b"1", b"200", b"", b"anna", b"")


def test_a_refusal_is_final_or_not() -> None:
    """With 300 ZeroMQ tells the peer nothing; with 400 it tells that it is in vain. Nobody is told why."""
    request = parse(ASKED)
    assert refusal(request, is_final=True)[2:] == (b"1.0", b"1", b"400", b"", b"", b"")
    assert refusal(request, is_final=False)[4] == b"300"


@pytest.mark.parametrize(
    "parts",
    [
        [],
        ASKED[:7],
        [*ASKED[:2], b"2.0", *ASKED[3:]],
        [ASKED[0], b"x", *ASKED[2:]],
        [*ASKED[:4], b"", *ASKED[5:]],
        [*ASKED[:4], b"another", *ASKED[5:]],
        ASKED[:8],
        [*ASKED, KEY],
        [*ASKED[:7], b"GSSAPI", b"x"],
        [*ASKED[:7], b"PLAIN", b"anna"],
    ],
)
def test_what_is_no_request_of_ours_has_no_reply(parts: list[bytes]) -> None:
    """So it lets nobody in."""
    with pytest.raises(LocalError):
        parse(parts)


def test_a_password_is_not_shown_by_accident() -> None:
    """Such as in a log."""
    request = parse([*ASKED[:7], b"PLAIN", b"anna", b"open sesame"])
    assert "sesame" not in repr(request)
