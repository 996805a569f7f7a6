"""What does ZeroMQ ask of those who know whom to let in, and how is it told? (ZAP, ZeroMQ's RFC 27.)

For each handshake ZeroMQ sends one request, within the process, and the handshake waits for the reply.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from fmqbus.errors import LocalError

#: Where ZeroMQ looks for somebody who answers (section "ZAP and Sessions").
PLACE = "inproc://zeromq.zap.01"
#: What our sockets have for a domain. Without one ZeroMQ would let in whoever comes while nobody answers.
DOMAIN = b"fmqbus"

_VERSION = b"1.0"
#: Credentials of each mechanism that we know.
_CREDENTIALS = {b"NULL": 0, b"PLAIN": 2, b"CURVE": 1}

#: Statuses: welcome; try again later; never.
_WELCOME, _LATER, _NEVER = b"200", b"300", b"400"


@attrs.frozen
class Request:
    """Somebody wants to be let in."""

    #: Whom to reply to: what stands before the request itself.
    envelope: Sequence[bytes]
    request_id: bytes
    #: Where the peer is.
    address: str
    mechanism: bytes
    #: Of CURVE the key, 32 octets; of PLAIN the name and the password.
    credentials: Sequence[bytes] = attrs.field(repr=False)


def parse(parts: Sequence[bytes]) -> Request:
    """Raises `LocalError` for what is no request of one of our sockets; better not reply to it at all."""
    if len(parts) < 8 or parts[1] != b"" or parts[2] != _VERSION:
        raise LocalError("no request of ZAP")
    if parts[4] != DOMAIN:
        raise LocalError("a request of another domain")
    mechanism, credentials = parts[7], tuple(parts[8:])
    if len(credentials) != _CREDENTIALS.get(mechanism):
        raise LocalError("not the credentials of a mechanism that is known")
    return Request(tuple(parts[:2]), parts[3], parts[5].decode("ascii", "replace"), mechanism, credentials)


def welcome(request: Request, user_id: str) -> Sequence[bytes]:
    """Let it in. Each message of its connection will have this for its ``User-Id``."""
    return _reply(request, _WELCOME, user_id.encode())


def refusal(request: Request, is_final: bool) -> Sequence[bytes]:
    """Do not let it in. If that is final, ZeroMQ tells the peer, who then gives up; else it tries again when its
    handshake has taken too long."""
    return _reply(request, _NEVER if is_final else _LATER, b"")


def _reply(request: Request, status: bytes, user_id: bytes) -> Sequence[bytes]:
    return (*request.envelope, _VERSION, request.request_id, status, b"", user_id, b"")
