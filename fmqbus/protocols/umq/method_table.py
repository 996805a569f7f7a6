"""Which method is meant by a call, and with which arguments?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from fmqbus.errors import PeerError
from fmqbus.interfaces import IUMQMethod


class _Named(msgspec.Struct, array_like=True):
    """Any call: only the name is looked at."""

    method: str


class Asked(NamedTuple):
    """A call that was understood."""

    name: str
    #: None if the bus itself has no such method.
    method: IUMQMethod | None
    #: What the method has asked for; else the other members of the array, as JSON.
    arguments: Any


class MethodTable:
    """The installed methods, ready to be called."""

    def __init__(self, methods: Iterable[IUMQMethod]) -> None:
        self._methods = {method.name: (method, msgspec.json.Decoder(method.arguments)) for method in methods}
        self._named = msgspec.json.Decoder(_Named)
        self._members = msgspec.json.Decoder(list[msgspec.Raw])

    def read(self, payload: bytes) -> Asked:
        """Raises `PeerError` for what is no JSON array that begins with a name, and for wrong arguments."""
        try:
            name = self._named.decode(payload).method
            found = self._methods.get(name)
            if found is not None:
                method, decoder = found
                return Asked(name, method, decoder.decode(payload))
            members = self._members.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise PeerError(f"the call cannot be read: {error}", "arguments") from None
        return Asked(name, None, b"[%b]" % b",".join(map(bytes, members[1:])))
