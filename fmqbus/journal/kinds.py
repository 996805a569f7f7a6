"""What can a row be about? The kinds with their numbers in the log, known to the broker without Arrow.

What is said by the columns beside ``offset`` to ``principal``, which all kinds have, stands with each; see
`fmqbus.journal.journal_schema`. Numbers are given once and never again.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

SCHEMA_VERSION = 1


class Kind(enum.IntEnum):
    """What happened, with its meaning for the documentation; ``topic`` is the name of a topic, queue or method."""

    meaning: str

    def __new__(cls, number: int, meaning: str) -> Kind:
        kind = int.__new__(cls, number)
        kind._value_ = number
        kind.meaning = meaning
        return kind

    GAP = 0, "`lost` rows that should stand here could not be written"
    PUBLISH = 1, "published to `topic`: payload, size, properties, retain, will. It went to `subscribers` clients"
    DROP = 2, "on its way to this client, and given up there: topic, size. `outcome` is the reason"
    ENQUEUE = 3, "put into the queue `topic`: as publish, and message_id, priority, deliveries, expires_at, not_before"
    DELIVER = 4, "handed to this consumer for the first time: topic, size, message_id, deliveries"
    REDELIVER = 5, "as deliver, for a message that may have been handed to somebody before"
    SETTLE = 6, "accepted by this consumer: topic, size, message_id, deliveries; latency_us since it was handed over"
    RELEASE = 7, "as settle, given back to the queue; without latency_us"
    REJECT = 8, "as settle, refused for good"
    EXPIRE = 9, "nobody accepted it in time: topic, size, message_id, deliveries"
    GIVE_UP = 10, "the queue has let it go: as expire. `outcome` is the reason"
    CALL = 11, "this client has called the method `topic`: payload, size, properties, message_id"
    SERVE = 12, "a call is handed to this client, a server: topic, size, message_id"
    REPLY = 13, "a call of this client has ended: as call, and latency_us. `outcome` is `replied` or why not"
    DEMAND = 14, "there are now `subscribers` visible subscriptions to the pattern `topic`"
    CONNECT = 15, "a client has come"
    DISCONNECT = 16, "it has gone: latency_us since it came. `outcome` is the reason"


#: What a row's column says.
NAMES: Mapping[int, str] = {kind: kind.name.lower().replace("_", "-") for kind in Kind}
