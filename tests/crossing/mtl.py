"""How MTL says it: topics and queues, each on a data flow of its own."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from itertools import count

from fmqbus.model import NO_PROPERTIES
from fmqbus.protocols.mtl.field_table import FieldTable, write_table
from tests.crossing.speakers import Heard, Speaker
from tests.live.broker import Broker
from tests.live.mtl_client import CONFIRM, DISMISS, LEASE, LISTEN, REJECT, SUMMON, Flow, Place

_numbers = count()


class MTL(Speaker):
    """One client that reads and writes topics, and one that does so with queues."""

    protocol = "mtl"
    listens = LISTEN
    has_properties = True
    has_filters = False
    has_copies = False
    has_marks = False
    has_empty = True
    has_wills = False
    longest_topic = 255

    def __init__(self, place: Place) -> None:
        self._place = place
        self._flows = {profile: self._flow(profile) for profile in ("topic", "queue")}
        self._written = dict.fromkeys(self._flows, 0)
        #: Only this one publishes and listens there.
        self._own = b"mtl/%d" % next(_numbers)
        self.subscribe(self._own)

    @classmethod
    def join(cls, broker: Broker) -> MTL:
        return cls(Place(broker))

    def _flow(self, profile: str) -> Flow:
        control, flow = self._place.control().open(profile), self._place.flow()
        assert flow.asked(LEASE, control.lease("Reader")) == 200
        assert flow.asked(LEASE, control.lease("Writer", confirm="full")) == 200
        return flow

    def publish(
        self, topic: bytes, payload: bytes, *, retain: bool = False, properties: Mapping[str, str] = NO_PROPERTIES
    ) -> None:
        self._write("topic", topic, payload, {**properties, "retain": True} if retain else properties)

    def leave_will(self, topic: bytes, payload: bytes) -> None:
        raise AssertionError("there are none")

    def asked(self, profile: str, kind: int, name: bytes) -> int:
        """The code of the Response to a Summon or Dismiss on one of the flows."""
        return self._flows[profile].asked(kind, name)

    def enqueue(self, queue: bytes, payload: bytes) -> None:
        """Put a message into a queue."""
        self._write("queue", queue, payload, {})

    def _write(self, profile: str, name: bytes, payload: bytes, fields: Mapping[str, object]) -> None:
        """Returns when it is confirmed, or rejected."""
        self._written[profile] += 1
        flow, table = self._flows[profile], write_table(fields)
        flow.content(self._written[profile], payload, name, struct.pack(">I", len(table)) + table)
        while (come := flow.hear_any())[0][0] not in (CONFIRM, REJECT):
            flow.waiting.append(come)

    def subscribe(self, pattern: bytes, *filters: str) -> None:
        assert not filters, "there are none"
        assert self._flows["topic"].asked(SUMMON, pattern) in (200, 400)

    def unsubscribe(self, pattern: bytes) -> None:
        assert self._flows["topic"].asked(DISMISS, pattern) == 200

    def consume(self, queue: bytes) -> None:
        """Consume a queue, whose messages are heard as such."""
        assert self._flows["queue"].asked(SUMMON, queue) == 200

    def heard(self) -> Sequence[Heard]:
        """Names come as they were summoned, perhaps with outer slashes. What is kept may come in several turns, but
        comes before anything newer: so a word of our own is waited for."""
        topics = self._flows["topic"]
        self.publish(self._own, b"")
        come = [topics.next_content()]
        while come[-1][1] != self._own:
            come.append(topics.next_content())
        return [
            Heard(resource.strip(b"/"), body, _texts(table[4:]))
            for _, resource, table, body in (*come[:-1], *self._flows["queue"].contents())
        ]

    def close(self) -> None:
        self._place.close()


def _texts(table: bytes) -> Mapping[str, str]:
    """Properties that are text, which those of other protocols are."""
    return {name: value for name, value in FieldTable(table).items() if isinstance(value, str)}
