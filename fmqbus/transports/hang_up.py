"""Has the other end of a connection gone that is not read for now?

Its end comes behind what it sent before, and is not seen until that is read. The kernel tells it all the same.
"""

from __future__ import annotations

import select
from typing import Any

from twisted.internet.interfaces import IReadDescriptor

#: The other end sends no more. Systems other than Linux tell only that it can neither send nor be sent anything.
_SENDS_NO_MORE: int = getattr(select, "POLLRDHUP", 0)


def has_hung_up(transport: Any) -> bool:
    """Whether the other end has ended or lost the connection; False where that cannot be told."""
    if not IReadDescriptor.providedBy(transport):
        return False
    descriptor = transport.fileno()
    if descriptor < 0:
        return False
    look = select.poll()
    look.register(descriptor, _SENDS_NO_MORE)
    return bool(look.poll(0))
