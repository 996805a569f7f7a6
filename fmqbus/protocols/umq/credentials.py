"""What a client says of itself in its hello: a JSON object with a mechanism of SASL, and what that says first.

``{"mechanism": "PLAIN", "response": "AGFubmEAc2VjcmV0"}``, the response in base64; left out, it is none. A hello has
one answer (UMQ, Commands H, W and F), so a mechanism that asks the client anything further cannot be spoken here.
"""

from __future__ import annotations

import msgspec

from fmqbus.protocols.umq.codec import Fault


class Credentials(msgspec.Struct, frozen=True):
    """The object; other members mean nothing to us."""

    mechanism: str
    response: bytes | None = None

    def __repr__(self) -> str:
        return f"<Credentials by {self.mechanism!a}>"


def read_credentials(payload: bytes, most_octets: int) -> Credentials | None:
    """Return what a hello says; None if its payload is something else, which may be anything (reading 19). Raises
    `Fault` where it was meant to be this, and is not."""
    if len(payload) > most_octets:
        raise Fault("the hello is too long", reason="credentials")
    try:
        members = msgspec.json.decode(payload, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    except RecursionError:  # nobody can tell what it was meant to be
        raise Fault("the hello is nested too deeply", reason="credentials") from None
    if "mechanism" not in members:
        return None
    try:
        return msgspec.json.decode(payload, type=Credentials)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Fault("the credentials cannot be read", reason="credentials") from None
