"""How is a batch cut that is too large for one call? By the places of its messages alone, so always in the same way.

Which task has made a message does not matter: files that tasks read may be sealed together before a batch is done
again, and what tasks there are changes then, but not what they make one after the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import attrs

from fmqbus.limits import DEFAULT_LIMITS, MIB
from fmqbus.protocols.umq.batch import BatchMessage, pack, unpack

#: As many as a bus takes at once, unless its limits say otherwise.
MOST_MESSAGES = DEFAULT_LIMITS.batch_messages
#: Of one call, half of what a bus gathers for one client; and of one attachment.
_PORTION_OCTETS = 32 * MIB
_ATTACHMENT_OCTETS = 4 * MIB
#: What a message takes besides its name and its payload; properties are short.
_BESIDES = 64


@attrs.frozen
class Portion:
    """Messages that go in one call; `first` is the place of the first one in the batch."""

    first: int
    messages: int
    attachments: Sequence[bytes]


def portions(attachments: Iterable[bytes], most: int = MOST_MESSAGES) -> list[Portion]:
    """Cut a batch into portions of `most` messages at most, and of so many octets as a bus takes; one at least has one
    message, however large that is."""
    found: list[Portion] = []
    first = count = 0
    packed: list[bytes] = []
    waiting: list[BatchMessage] = []
    octets = waiting_octets = 0
    for message in _messages(attachments):
        size = len(message.payload) + len(message.name) + _BESIDES
        if waiting and (count >= most or octets + size > _PORTION_OCTETS or waiting_octets >= _ATTACHMENT_OCTETS):
            packed.append(pack(waiting))
            waiting, waiting_octets = [], 0
            if count >= most or octets + size > _PORTION_OCTETS:
                found.append(Portion(first, count, packed))
                first, count, packed, octets = first + count, 0, [], 0
        waiting.append(message)
        count += 1
        octets += size
        waiting_octets += size
    if waiting:
        found.append(Portion(first, count, [*packed, pack(waiting)]))
    return found


def digest_of(found: Sequence[Portion]) -> str:
    """What tells a batch from all others."""
    total = hashlib.sha256()
    for portion in found:
        for attachment in portion.attachments:
            total.update(attachment)
    return total.hexdigest()


def message_at(attachments: Iterable[bytes], place: int) -> BatchMessage | None:
    """The message at this place, if there is one."""
    return next((message for at, message in enumerate(_messages(attachments)) if at == place), None)


def _messages(attachments: Iterable[bytes]) -> Iterator[BatchMessage]:
    for attachment in attachments:
        yield from unpack(attachment)
