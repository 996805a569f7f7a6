"""``x-sasl``: the client proves who it is, by a mechanism of SASL. An extension of ours, for who speaks it.

It is one EXTENSION frame each time, of one octet that says what it is, and what goes with that:

====  ======  ========================================================================================
1     client  begins a login: the mechanism's name; then, behind a NUL, what it says first, if it does
2     client  answers a challenge
3     server  a challenge
4     server  the client is who it says from now on; what the mechanism still has to tell, if anything
5     server  the login has failed: why, as text
====  ======  ========================================================================================

A client may begin anew at any time, and be somebody else then; a login that has not ended is given up.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.errors import PeerError
from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.limits import Limits
from fmqbus.protocols.micromsg2.events import Event, LoginSaid
from fmqbus.protocols.micromsg2.hooks import Hooks
from fmqbus.protocols.micromsg2.numbers import Numbers


class Word(enum.IntEnum):
    """The first octet."""

    BEGIN = 1
    RESPONSE = 2
    CHALLENGE = 3
    ADMITTED = 4
    REFUSED = 5


_WORDS = frozenset(Word)


@implementer(IPlugin, IMicroMsg2Extension)
class SASL:
    """`IMicroMsg2Extension` of logging in."""

    name = "x-sasl"
    aliases = ()
    choice = ""
    summary = "lets clients prove who they are"

    def answer(self, properties: Mapping[str, str], limits: Limits) -> Mapping[str, str]:
        return {}

    def activate(self, properties: Mapping[str, str], numbers: Numbers, limits: Limits) -> Hooks:
        return Hooks(frame_received=_said)


def _said(payload: bytes) -> Iterable[Event]:
    if not payload or payload[0] not in _WORDS:
        raise PeerError("x-sasl: a word that nobody knows", "login")
    return (LoginSaid(payload[0], payload[1:]),)


def write_begin(mechanism: str, response: bytes | None) -> bytes:
    """The payload that begins a login; None as a response differs from an empty one."""
    return _BEGIN + mechanism.encode("ascii") + (b"" if response is None else b"\0" + response)


def read_begin(octets: bytes) -> tuple[str, bytes | None]:
    """The mechanism, and what it says first, of what came with `Word.BEGIN`."""
    mechanism, nul, response = octets.partition(b"\0")
    return mechanism.decode("ascii", "replace"), response if nul else None


_BEGIN = bytes([Word.BEGIN])

X_SASL = SASL()
