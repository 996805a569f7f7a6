"""Compressed messages: inflated within a bound, and made. No I/O. (RFC 7692, section 7)

Each message is compressed by itself: nothing is kept from one to the next, on either side.

The inflater stands in for autobahn's, which lets messages pass that are a little too long, without their end: zlib can
have taken all of its input and still hold output back when a bound is reached. One octet more than the bound tells.
"""

from __future__ import annotations

import zlib

from autobahn.exception import PayloadCorruptError, PayloadExceededError

#: What each message would end with; it is left out on the wire (7.2.1).
_FLUSH = b"\0\0\xff\xff"
#: A last, empty block. Behind it there is nothing, if all that came before was complete.
_LAST_BLOCK = b"\1\0\0\xff\xff"
#: Below a block that says it is the last, a message may still have this much (7.2.3.4).
_PADDING = 1


class Inflater:
    """Inflates one message after the other. The names are autobahn's."""

    EXTENSION_NAME = "permessage-deflate"

    def __init__(self) -> None:
        self.start_decompress_message()

    def start_decompress_message(self) -> None:
        """A message begins."""
        self._stream = zlib.decompressobj(-zlib.MAX_WBITS)

    def decompress_message_data(self, data: bytes, max_output_len: int) -> bytes:
        """Inflate a piece of it, to so many octets at most. Raises `PayloadExceededError` and `PayloadCorruptError`."""
        octets = self._inflate(data, max_output_len + 1)
        if len(octets) > max_output_len:
            raise PayloadExceededError(f"more than {max_output_len} octets")
        if len(self._stream.unused_data) > _PADDING:
            raise PayloadCorruptError("it goes on behind its end")
        return octets

    def end_decompress_message(self) -> None:
        """The message ends. Raises `PayloadCorruptError` if something is missing."""
        if self._inflate(_FLUSH + _LAST_BLOCK, 1) or not self._stream.eof:
            raise PayloadCorruptError("its end is missing")
        self.start_decompress_message()

    def _inflate(self, data: bytes, most_octets: int) -> bytes:
        try:
            return self._stream.decompress(data, most_octets)
        except zlib.error as error:
            raise PayloadCorruptError(str(error)) from error


def deflated(payload: bytes, window_bits: int) -> bytes:
    """The payload of a compressed message."""
    compressor = zlib.compressobj(zlib.Z_BEST_SPEED, zlib.DEFLATED, -window_bits)
    octets = compressor.compress(payload) + compressor.flush(zlib.Z_SYNC_FLUSH)
    return octets.removesuffix(_FLUSH)
