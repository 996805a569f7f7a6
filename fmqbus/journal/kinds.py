"""What can a row be about? The kinds with their numbers in the log, known to the broker without Arrow.

What is said by the columns beside ``offset`` to ``principal``, which all kinds have, stands with each; see
`fmqbus.journal.journal_schema`. Numbers are given once and never again.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

SCHEMA_VERSION = 1


class Kind(enum.IntEnum):
    """What happened; ``topic`` is the name of a topic, queue or method."""

    #: `lost` rows that should stand here could not be written.
    GAP = 0
    #: Published to `topic`: payload, size, properties, retain, will. It went to `subscribers` clients.
    PUBLISH = 1
    #: On its way to this client, and given up there: topic, size. `outcome` is the reason.
    DROP = 2
    #: Put into the queue `topic`: as publish, and message_id, priority, deliveries, expires_at, not_before.
    ENQUEUE = 3
    #: Handed to this consumer for the first time: topic, size, message_id, deliveries.
    DELIVER = 4
    #: As deliver, for a message that may have been handed to somebody before.
    REDELIVER = 5
    #: Accepted by this consumer: topic, size, message_id, deliveries; latency_us since it was handed over.
    SETTLE = 6
    #: As settle, given back to the queue; without latency_us.
    RELEASE = 7
    #: As settle, refused for good.
    REJECT = 8
    #: Nobody accepted it in time: topic, size, message_id, deliveries.
    EXPIRE = 9
    #: The queue has let it go: as expire. `outcome` is the reason.
    GIVE_UP = 10
    #: This client has called the method `topic`: payload, size, properties, message_id.
    CALL = 11
    #: A call is handed to this client, a server: topic, size, message_id.
    SERVE = 12
    #: This client's call has ended: topic, payload, size, properties, message_id; latency_us since it began. `outcome`
    #: is ``replied`` or why not.
    REPLY = 13
    #: There are now `subscribers` visible subscriptions to the pattern `topic`.
    DEMAND = 14
    #: A client has come.
    CONNECT = 15
    #: It has gone: latency_us since it came. `outcome` is the reason.
    DISCONNECT = 16


#: What a row's column says.
NAMES: Mapping[int, str] = {kind: kind.name.lower().replace("_", "-") for kind in Kind}
