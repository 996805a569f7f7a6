"""Who says something, and what is it called?"""

from __future__ import annotations

import uuid


def new_id() -> bytes:
    """For a message, and for a peer itself: text, as EventMQ makes it, whose broker survives no other."""
    return str(uuid.uuid4()).encode()
