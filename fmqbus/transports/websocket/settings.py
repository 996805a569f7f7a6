"""What can be set for WebSocket: the table ``websocket`` in the table of a protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from fmqbus.errors import ConfigError
from fmqbus.settings import read_table
from fmqbus.transports.websocket.origins import ANY, normalised

#: Within a day. Zero is off.
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=86_400)]


class WebSocketSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One protocol's WebSocket, at all its listeners."""

    #: Where in the URL it is; all else is for HTTP.
    path: str
    #: From where pages may connect that are not from here: ``https://example.org``, ``null``, or ``*`` for any.
    origins: frozenset[str] = frozenset()
    #: Whether clients may compress (RFC 7692): for some 50 kB of memory each, and processor time that they decide on.
    compression: bool = False
    #: A client that has said nothing for so long is asked whether it is still there; below what proxies tolerate.
    ping_seconds: _Seconds = 30.0
    #: And is given so long to answer.
    pong_seconds: _Seconds = 30.0

    def __post_init__(self) -> None:
        if not self.path.startswith("/") or not self.path.isascii() or set(self.path) & set("?# \r\n"):
            raise ValueError(f"{self.path!r} is no path of a URL")
        for origin in self.origins:
            if origin not in (ANY, "null") and normalised(origin) is None:
                raise ValueError(f"{origin!r} is no origin; it is like https://example.org:8443")


def read_settings(table: Any, where: str, path: str) -> WebSocketSettings:
    """What the table says; `path` is that which holds if it names none. Raises `ConfigError` with `where` the table is,
    and the wrong key."""
    if not isinstance(table, Mapping):
        raise ConfigError(f"{where}: a table is expected")
    return read_table(WebSocketSettings, {"path": path, **table}, where)
