"""How is what an application asks for said in UMQ? (docs/protocols/umq.md)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from fmqbus.errors import LocalError, PeerError
from fmqbus.limits import Limits
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.updates import as_text

T = TypeVar("T")

#: The header of a message, at the most.
_HEADER_OCTETS = 40


def encode_call(call: Sequence[Any], attachments: Sequence[Attachment], limits: Limits) -> bytes:
    """A call's payload. Raises `LocalError` for what JSON has no form for, and for what is too large."""
    try:
        payload = msgspec.json.encode(call)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise LocalError(f"this has no form in JSON: {error}") from None
    _check_size(payload, attachments, limits)
    return payload


def check_attribute(name: str, value: str, attachments: Sequence[Attachment], limits: Limits) -> None:
    """Raises `LocalError` for what cannot be set: the first ``=`` ends the name (reading 40)."""
    if "=" in name:
        raise LocalError(f"an attribute's name has no =: {name!r}")
    try:
        said = f"{name}={value}".encode()
    except UnicodeEncodeError as error:
        raise LocalError(f"this has no form in UTF-8: {error}") from None
    _check_size(said, attachments, limits)


def _check_size(payload: bytes, attachments: Sequence[Attachment], limits: Limits) -> None:
    if len(payload) + _HEADER_OCTETS > limits.body_octets:
        raise LocalError(f"a text of {len(payload)} octets; at most {limits.body_octets} are sent, with a header")
    if len(attachments) > limits.attachments_per_message:
        raise LocalError(f"{len(attachments)} attachments; at most {limits.attachments_per_message} are sent")
    for each in attachments:
        if isinstance(each, bytes) and len(each) > limits.body_octets:
            raise LocalError(f"an attachment of {len(each)} octets; at most {limits.body_octets} are sent")


def decode_json(octets: bytes, form: type[T]) -> T:
    """Read what came as JSON. Raises `PeerError` if it is none, or not of this form."""
    try:
        return msgspec.json.decode(octets, type=form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PeerError(f"this cannot be read: {error}") from None


def payload_argument(payload: bytes) -> tuple[str | None, tuple[bytes, ...]]:
    """What a message carries, as argument and attachments: text, or octets that are none."""
    text = as_text(payload)
    return (None, (payload,)) if text is None else (text, ())
