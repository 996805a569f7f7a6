"""Whom does a proxy speak for? The header of the PROXY protocol, versions 1 and 2, without any I/O.

Twisted's parser is not used: it gives up on a header whose first segment is short, which a proxy may well send, and
takes version 2 headers of any length.
"""

from __future__ import annotations

import struct
from ipaddress import IPv4Address, IPv6Address

import attrs

from fmqbus.errors import FramingLost

_V1_BEGIN = b"PROXY "
#: The longest line of version 1, its end included.
_V1_OCTETS = 107
_V1_FAMILIES: dict[bytes, type[IPv4Address | IPv6Address]] = {b"TCP4": IPv4Address, b"TCP6": IPv6Address}

_V2_BEGIN = b"\r\n\r\n\0\r\nQUIT\n"
_V2_FIXED = struct.Struct(">12sBBH")
_V2_VERSION = 0x20
_V2_LOCAL, _V2_PROXY = 0, 1
#: Family and transport → packed address type and size. Without an address: unspecified, and UNIX stream sockets.
_V2_FAMILIES: dict[int, type[IPv4Address | IPv6Address]] = {0x11: IPv4Address, 0x21: IPv6Address}
_V2_WITHOUT_ADDRESS = {0x00, 0x31}
#: Addresses take at most 216 octets; the rest are the proxy's remarks. It must fit the smallest TCP segment (536) as a
#: rule, remarks on a client's certificate may make it longer.
_V2_REST_OCTETS = 2048


@attrs.frozen
class Source:
    """Where the proxy's own client connects from."""

    host: str
    port: int


@attrs.frozen
class Introduction:
    """A whole header. `source` is None where the proxy speaks for itself or does not tell an internet address."""

    source: Source | None
    #: What followed the header: the first octets of the protocol itself.
    rest: bytes


class ProxyHeader:
    """Reads one header from octets that come in pieces of any size."""

    def __init__(self) -> None:
        self._octets = b""

    def feed(self, data: bytes) -> Introduction | None:
        """Take more octets. Returns None while the header is not whole; not to be called again after it was.

        Raises `FramingLost` with reason ``proxy-header`` as soon as it is clear that this is none.
        """
        self._octets += data
        if _agree(self._octets, _V1_BEGIN):
            return self._read_line()
        if _agree(self._octets, _V2_BEGIN):
            return self._read_binary()
        raise _lost("neither version begins like this")

    def _read_line(self) -> Introduction | None:
        end = self._octets.find(b"\r\n", 0, _V1_OCTETS)
        if end < 0:
            if len(self._octets) >= _V1_OCTETS:
                raise _lost("the line is too long")
            return None
        line, rest = self._octets[:end], self._octets[end + 2 :]
        match line.split(b" "):
            case [_, b"UNKNOWN", *_]:
                return Introduction(None, rest)
            case [_, family, source, destination, source_port, destination_port] if family in _V1_FAMILIES:
                address = _V1_FAMILIES[family]
                try:
                    host, _ = address(source.decode("ascii")), address(destination.decode("ascii"))
                except ValueError:
                    raise _lost("the line has a bad address") from None
                _port(destination_port)
                return Introduction(Source(str(host), _port(source_port)), rest)
            case _:
                raise _lost("the line has wrong fields")

    def _read_binary(self) -> Introduction | None:
        if len(self._octets) < _V2_FIXED.size:
            return None
        _, version_and_command, family, size = _V2_FIXED.unpack_from(self._octets)
        version, command = version_and_command & 0xF0, version_and_command & 0x0F
        if version != _V2_VERSION or command not in (_V2_LOCAL, _V2_PROXY):
            raise _lost("unknown version or command")
        if size > _V2_REST_OCTETS:
            raise _lost("the header is too long")
        end = _V2_FIXED.size + size
        if len(self._octets) < end:
            return None
        body, rest = self._octets[_V2_FIXED.size : end], self._octets[end:]
        if command == _V2_LOCAL or family in _V2_WITHOUT_ADDRESS:
            return Introduction(None, rest)
        return Introduction(_source(family, body), rest)


def _source(family: int, body: bytes) -> Source:
    """The source in version 2's address block: source, destination, then their ports."""
    if family not in _V2_FAMILIES:
        raise _lost("not a stream over an internet")
    address = _V2_FAMILIES[family]
    octets = address(0).max_prefixlen // 8
    try:
        host, _, port, _ = struct.unpack_from(f">{octets}s{octets}sHH", body)
    except struct.error:
        raise _lost("the addresses are cut short") from None
    return Source(str(address(host)), port)


def _port(text: bytes) -> int:
    if not (text.isdigit() and len(text) <= 5 and int(text) <= 0xFFFF):
        raise _lost("the line has a bad port")
    return int(text)


def _agree(octets: bytes, begin: bytes) -> bool:
    """Tell whether the octets begin so, as far as there are any yet."""
    return octets[: len(begin)] == begin[: len(octets)]


def _lost(detail: str) -> FramingLost:
    return FramingLost("proxy-header", detail)
