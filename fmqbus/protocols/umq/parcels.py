"""How do calls of the bus cross to UMQ and back?

A UMQ call is a JSON array whose first member is the method; the rest of it is what the bus carries, marked as JSON.
What comes without that mark comes from another protocol: text is then one argument, and octets are attached.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from fmqbus import calls
from fmqbus.calls import Parcel
from fmqbus.errors import BusError, CallFailed, Detached, LocalError, PeerError, StoreFailed
from fmqbus.protocols.umq import codec
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.updates import as_text

#: The property that says what a payload is, and its value for what this protocol brings.
CONTENT_TYPE = "content-type"
JSON = "application/json"
_JSON_ONLY: Mapping[str, str] = {CONTENT_TYPE: JSON}
_NOTHING = b"null"


def to_bus(payload: bytes, attachments: Sequence[Attachment], properties: Mapping[str, str] | None = None) -> Parcel:
    """The arguments of a call, or a result, as the bus carries it."""
    marked = {**properties, **_JSON_ONLY} if properties else _JSON_ONLY
    return Parcel(payload or _NOTHING, marked, tuple(attachments))


def call_of(method: bytes, parcel: Parcel) -> tuple[bytes, Sequence[Attachment]]:
    """What a server is told: the array and its attachments. `method` is its name as JSON."""
    payload = parcel.payload
    if parcel.properties.get(CONTENT_TYPE) == JSON and payload[:1] == b"[" and payload[-1:] == b"]":
        arguments = payload[1:-1].strip()
        return b"[%b,%b]" % (method, arguments) if arguments else b"[%b]" % method, parcel.attachments
    if not payload:
        return b"[%b]" % method, parcel.attachments
    if (text := as_text(payload)) is not None:
        return b"[%b,%b]" % (method, msgspec.json.encode(text)), parcel.attachments
    return b"[%b]" % method, (payload, *parcel.attachments)


def result_of(parcel: Parcel) -> tuple[bytes, Sequence[Attachment]]:
    """What a caller is told."""
    payload = parcel.payload
    if not payload:
        return _NOTHING, parcel.attachments
    if parcel.properties.get(CONTENT_TYPE) == JSON:
        return payload, parcel.attachments
    if (text := as_text(payload)) is not None:
        return msgspec.json.encode(text), parcel.attachments
    return _NOTHING, (payload, *parcel.attachments)


def code_of(error: BusError) -> int:
    """The code that tells a caller what went wrong; see docs/protocols/umq.md."""
    if isinstance(error, CallFailed):
        return calls.code_of(error)
    if isinstance(error, PeerError | LocalError):
        return codec.PROTOCOL_ERROR
    if isinstance(error, StoreFailed | Detached):
        return codec.UNAVAILABLE
    return codec.REFUSED
