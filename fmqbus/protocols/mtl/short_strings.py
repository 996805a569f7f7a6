"""What is a short string? (MTL, Field Encodings; reading 34)

Up to 255 octets of UTF-8 without control characters. Names of resources are short strings wherever they are said.
"""

from __future__ import annotations

import re
from functools import lru_cache

from fmqbus.errors import PeerError

LONGEST = 255

#: Names come again and again: whoever writes contents says one each time.
_REMEMBERED = 10_000

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


@lru_cache(_REMEMBERED)
def check_short_string(octets: bytes) -> bytes:
    """The same octets, which are no more than fit. Raises `PeerError` with reason ``text`` for what nobody could
    print."""
    try:
        text = octets.decode()
    except UnicodeDecodeError as error:
        raise PeerError(str(error), "text") from None
    if _CONTROL.search(text) is not None:
        raise PeerError("a control character", "text")
    return octets
