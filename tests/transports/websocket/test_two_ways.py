"""A frame is taken in one of two ways, by the link where it is plain, or by the engine. Which one must not matter."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fmqbus.limits import Limits
from tests.transports.websocket.client import Client, Server, masked

PAYLOADS = st.one_of(
    st.text(max_size=20).map(str.encode),
    st.binary(max_size=20),
    st.sampled_from(
        [b"x" * 125, b"x" * 126, b"x" * 300, b"\x03\xe8", b"\x03\xe8bye", "ö".encode()[:1], "ö".encode()[1:]]
    ),
)
#: Most are good ones, so that many stand before the first bad one.
FIRST_OCTETS = st.one_of(
    st.sampled_from([0x81, 0x82, 0x81, 0x82, 0x01, 0x02, 0x00, 0x80, 0x89, 0x8A]), st.sampled_from([0x88, 0xC1, 0x83])
)
FRAMES = st.builds(masked, FIRST_OCTETS, PAYLOADS, mask=st.binary(min_size=4, max_size=4))
OCTETS = st.lists(FRAMES, max_size=12).map(b"".join) | st.binary(max_size=50)


def outcome(octets: bytes, cuts: list[int], is_plain_way_open: bool) -> tuple[list[str | bytes], bytes, bool]:
    """What the protocol hears of it, what the client gets, and whether it has to go."""
    client: Client = Server(limits=Limits(body_octets=250)).connect()
    if not is_plain_way_open:
        client.link._most_plain = -1
    bounds = sorted({0, len(octets), *(cut % (len(octets) + 1) for cut in cuts)})
    for at, end in pairwise(bounds):
        client.say(octets[at:end])
    return client.echo.heard, client.take(), client.is_closing


@given(OCTETS, st.lists(st.integers(0, 10_000), max_size=6))
def test_both_ways_come_to_the_same(octets: bytes, cuts: list[int]) -> None:
    """Whatever comes, and however it is cut."""
    both = outcome(octets, cuts, True)
    assert both == outcome(octets, cuts, False)
    assert both == outcome(octets, [], True)
