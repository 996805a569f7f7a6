"""Is a PROXY header read the same however it arrives, and is everything else refused?"""

from __future__ import annotations

import ipaddress
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import FramingLost
from fmqbus.transports.proxy_header import Introduction, ProxyHeader, Source

V2 = b"\r\n\r\n\0\r\nQUIT\n"


def v2(command: int, family: int, body: bytes) -> bytes:
    """A version 2 header."""
    return V2 + struct.pack(">BBH", command, family, len(body)) + body


def addresses(source: str, destination: str = "") -> bytes:
    """The address block of version 2, from port 4711 to 7700."""
    packed = [ipaddress.ip_address(address).packed for address in (source, destination or source)]
    return b"".join(packed) + struct.pack(">HH", 4711, 7700)


V4, V6 = addresses("192.0.2.1"), addresses("2001:db8::1")
REMARK = b"\x04\0\x03abc"
VALID = {
    "TCP4": (b"PROXY TCP4 192.0.2.1 192.0.2.2 4711 7700\r\n", Source("192.0.2.1", 4711)),
    "TCP6": (b"PROXY TCP6 2001:db8::1 2001:db8::2 4711 7700\r\n", Source("2001:db8::1", 4711)),
    "UNKNOWN": (b"PROXY UNKNOWN\r\n", None),
    "UNKNOWN with more": (b"PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n", None),
    "longest": (b"PROXY UNKNOWN " + b"f" * 91 + b"\r\n", None),
    "v2 IPv4": (v2(0x21, 0x11, V4), Source("192.0.2.1", 4711)),
    "v2 IPv6": (v2(0x21, 0x21, V6), Source("2001:db8::1", 4711)),
    "v2 with remarks": (v2(0x21, 0x11, V4 + REMARK), Source("192.0.2.1", 4711)),
    "v2 longest": (v2(0x21, 0x11, V4.ljust(2048, b"\0")), Source("192.0.2.1", 4711)),
    "v2 UNIX": (v2(0x21, 0x31, bytes(216)), None),
    "v2 unspecified": (v2(0x21, 0x00, b""), None),
    "v2 local": (v2(0x20, 0x11, V4), None),
}
INVALID = {
    "another protocol": b"GET / HTTP/1.1\r\n",
    "v1 lower case": b"proxy TCP4 192.0.2.1 192.0.2.2 4711 7700\r\n",
    "v1 too long": b"PROXY UNKNOWN " + b"f" * 92 + b"\r\n",
    "v1 never ends": b"PROXY " + b" " * 200,
    "v1 UDP": b"PROXY UDP4 192.0.2.1 192.0.2.2 4711 7700\r\n",
    "v1 no family": b"PROXY \r\n",
    "v1 a field too few": b"PROXY TCP4 192.0.2.1 192.0.2.2 4711\r\n",
    "v1 a field too many": b"PROXY TCP4 192.0.2.1 192.0.2.2 4711 7700 1\r\n",
    "v1 two spaces": b"PROXY TCP4  192.0.2.1 192.0.2.2 4711 7700\r\n",
    "v1 wrong family": b"PROXY TCP6 192.0.2.1 192.0.2.2 4711 7700\r\n",
    "v1 a name": b"PROXY TCP4 localhost 192.0.2.2 4711 7700\r\n",
    "v1 bad destination": b"PROXY TCP4 192.0.2.1 there 4711 7700\r\n",
    "v1 not ASCII": b"PROXY TCP4 192.0.2.\xb9 192.0.2.2 4711 7700\r\n",
    "v1 port too high": b"PROXY TCP4 192.0.2.1 192.0.2.2 65536 7700\r\n",
    "v1 negative port": b"PROXY TCP4 192.0.2.1 192.0.2.2 -1 7700\r\n",
    "v1 endless port": b"PROXY TCP4 192.0.2.1 192.0.2.2 000004711 7700\r\n",
    "v2 version 1": v2(0x11, 0x11, V4),
    "v2 unknown command": v2(0x22, 0x11, V4),
    "v2 datagrams": v2(0x21, 0x12, V4),
    "v2 unknown family": v2(0x21, 0x41, V4),
    "v2 cut addresses": v2(0x21, 0x21, V4),
    "v2 too long": V2 + struct.pack(">BBH", 0x21, 0x11, 2049),
}


@pytest.mark.parametrize(("octets", "source"), VALID.values(), ids=VALID)
@pytest.mark.parametrize("rest", [b"", b"PROXY", b"\r\n\r\n"])
def test_a_header_cut_at_any_octet_says_the_same(octets: bytes, source: Source | None, rest: bytes) -> None:
    """Proxies do not promise one segment, and what follows belongs to the protocol."""
    whole = octets + rest
    for cut in range(len(whole) + 1):
        header = ProxyHeader()
        first = header.feed(whole[:cut])
        if cut < len(octets):
            assert first is None
            assert header.feed(whole[cut:]) == Introduction(source, rest)
        else:
            assert first == Introduction(source, whole[len(octets) : cut])


@pytest.mark.parametrize(("octets", "source"), VALID.values(), ids=VALID)
def test_a_header_may_arrive_octet_by_octet(octets: bytes, source: Source | None) -> None:
    """It is whole with its last octet, not earlier or later."""
    header = ProxyHeader()
    answers = [header.feed(octets[at : at + 1]) for at in range(len(octets))]
    assert answers == [None] * (len(octets) - 1) + [Introduction(source, b"")]


@pytest.mark.parametrize("octets", INVALID.values(), ids=INVALID)
def test_what_is_no_header_is_refused(octets: bytes) -> None:
    """Whole or octet by octet, with a reason that can be counted."""
    with pytest.raises(FramingLost, match="proxy-header"):
        ProxyHeader().feed(octets)
    header = ProxyHeader()
    with pytest.raises(FramingLost):
        for at in range(len(octets)):
            header.feed(octets[at : at + 1])


def test_a_wrong_first_octet_is_enough() -> None:
    """Nothing is waited for once it is clear."""
    with pytest.raises(FramingLost):
        ProxyHeader().feed(b"G")


@given(st.lists(st.binary(max_size=300), max_size=12))
def test_a_header_never_holds_more_than_its_longest_form(pieces: list[bytes]) -> None:
    """Any octets are taken, refused or complete; nothing else comes out, nothing grows for ever."""
    header = ProxyHeader()
    taken = 0
    for piece in [b"\r\n\r\n", *pieces]:
        try:
            introduction = header.feed(piece)
        except FramingLost:
            return
        if introduction is not None:
            return
        taken += len(piece)
        assert taken < 16 + 2048
