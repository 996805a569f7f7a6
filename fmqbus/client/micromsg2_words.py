"""How is what an application asks for said in MicroMsg2? (MicroMsg2, Handshake, MESSAGE frame, PUB/SUB)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fmqbus.client.micromsg2_link import Letter
from fmqbus.errors import LocalError, PeerError, Refused
from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.limits import Limits
from fmqbus.model import PLAIN_TERMS, Terms
from fmqbus.protocols.micromsg2.codec import encode_command
from fmqbus.protocols.micromsg2.events import ErrorReceived, Event, Failed
from fmqbus.protocols.micromsg2.extensions.built_in import BUILT_IN
from fmqbus.protocols.micromsg2.fields import to_text
from fmqbus.protocols.micromsg2.frames import MAX_DESTINATION_OCTETS
from fmqbus.protocols.micromsg2.handshake import MAX_IDENTITY_OCTETS, Entries, parse_entries, write_entries
from fmqbus.protocols.micromsg2.negotiation import Offer
from fmqbus.protocols.micromsg2.properties import from_bus, to_bus
from fmqbus.protocols.micromsg2.requests import properties_of

QUEUE = b"queue/"
#: Real servers read a list of ours into 256 octets (reading 6).
_MAX_LIST_OCTETS = 255


def offer(
    identity: str, window: int, required: str, suggested: str, extensions: Sequence[IMicroMsg2Extension], limits: Limits
) -> Offer:
    """What a client brings to a handshake. Raises `LocalError` for what nobody could agree to."""
    acknowledging = f"batch-ack:max-count={window};" if window else ""
    if len(identity.encode()) > MAX_IDENTITY_OCTETS:
        raise LocalError(f"an identity of more than {MAX_IDENTITY_OCTETS} octets")
    return Offer(
        identity=identity.encode(),
        extensions=(*BUILT_IN, *extensions),
        required=_entries(acknowledging + required),
        suggested=_entries(suggested),
        limits=limits,
    )


def _entries(text: str) -> Entries:
    try:
        entries = parse_entries(text)
    except PeerError as error:
        raise LocalError(str(error)) from None
    if len(write_entries(entries)) > _MAX_LIST_OCTETS:
        raise LocalError(f"a list of extensions of more than {_MAX_LIST_OCTETS} octets")
    return entries


def check_opened(event: Event) -> None:
    """How a handshake has ended: raises `Refused` with the server's own words, and `PeerError` where we cannot do what
    it requires."""
    if isinstance(event, ErrorReceived):
        raise Refused(event.text)
    if isinstance(event, Failed):
        raise PeerError(event.text, event.reason)


def letter(destination: bytes, payload: bytes, properties: Mapping[str, str], terms: Terms = PLAIN_TERMS) -> Letter:
    """A message. Raises `LocalError` for what has no place in it."""
    if len(destination) > MAX_DESTINATION_OCTETS:
        raise LocalError(f"a destination of {len(destination)} octets; it has at most {MAX_DESTINATION_OCTETS}")
    asked = {**properties, **properties_of(terms)}
    written = from_bus(asked)
    if bool(written) + written.count(b";") != len(asked):
        raise LocalError("names of properties are letters, digits, - and _; all together have at most 65,535 octets")
    return Letter(destination, payload, to_bus(written))


def consumption(word: str, queue: bytes) -> bytes:
    """To ``subscribe`` or ``unsubscribe`` to a queue."""
    return b"".join(encode_command(word, (("destination", to_text(QUEUE + queue)),)))


def concerns(text: str, destination: bytes) -> bool:
    """Whether an ERROR is about a destination: names it, with a colon after it, as ours does."""
    shown = "".join(char if " " <= char <= "~" else "?" for char in destination.decode("utf-8", "replace"))
    return f" {shown}: " in f" {text}"
