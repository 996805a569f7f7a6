"""What do the bus's methods have in common? How a payload is given, and what a vendor's method may return."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import msgspec

from fmqbus.calls import FailedAttachment
from fmqbus.errors import PeerError
from fmqbus.protocols.umq.attachments import Attachment


@attrs.frozen
class Result:
    """A result with attachments; without any, a method returns what is to be JSON by itself."""

    value: Any
    attachments: Sequence[Attachment] = ()


class Arguments(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    """What a method takes: the JSON array of the call. Its first member is the method's name."""

    method: str


class Properties(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The options of whatever is given a message."""

    properties: Mapping[str, str] = {}


def payload_of(text: str | None, attachments: Sequence[Attachment]) -> bytes:
    """The payload that a call brings: text as an argument, or octets as its one attachment. Raises `PeerError`."""
    if text is not None:
        if attachments:
            raise PeerError("a payload is text or an attachment, not both", "arguments")
        return text.encode("utf-8", "surrogatepass")
    if len(attachments) != 1:
        raise PeerError("a payload is expected: text, or one attachment", "arguments")
    (attachment,) = attachments
    if isinstance(attachment, FailedAttachment):
        raise PeerError(f"the payload could not be sent: {attachment.reason}", "attachments")
    return attachment
