"""How much room do messages take while they wait in an outbox?"""

from __future__ import annotations

from fmqbus.limits import Limits
from fmqbus.router.outbox import ITEM_OCTETS


def room_for(messages: int, octets: int = 10) -> Limits:
    """Limits by which an outbox keeps just so many messages of so many octets, topic and payload."""
    return Limits(outbox_octets=messages * (octets + ITEM_OCTETS))
