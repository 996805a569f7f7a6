"""How FMQP says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from socket import socket

from fmqbus.model import NO_PROPERTIES
from tests.crossing.speakers import Heard, Speaker
from tests.live.fmqp_client import Client
from tests.protocols.fmqp.packets import CACHE, FEEDBACK, LAST_WILL, publication, subscribe, unsubscribe, watch

_MARKS = {CACHE: "retained", LAST_WILL: "will"}
_HEADER_OCTETS = 6


class FMQP(Speaker):
    """A client of FMQP."""

    protocol = "fmqp"
    has_properties = False
    has_filters = False
    has_copies = False
    has_marks = True
    has_empty = False
    longest_topic = 255

    def __init__(self, connection: socket) -> None:
        self._client = Client(connection)
        self._heard: list[Heard] = []
        self._demand: list[tuple[bytes, int]] = []

    def publish(
        self, topic: bytes, payload: bytes, *, retain: bool = False, properties: Mapping[str, str] = NO_PROPERTIES
    ) -> None:
        assert not properties, "there are none"
        self._say(publication(topic, payload, CACHE if retain else 0))

    def leave_will(self, topic: bytes, payload: bytes) -> None:
        self._say(publication(topic, payload, LAST_WILL))

    def subscribe(self, pattern: bytes, *filters: str) -> None:
        assert not filters, "there are none"
        self._say(subscribe(pattern))

    def unsubscribe(self, pattern: bytes) -> None:
        self._say(unsubscribe(pattern))

    def watch(self, pattern: bytes) -> None:
        """Ask for feedback on who subscribes."""
        self._say(watch(pattern))

    def heard(self) -> Sequence[Heard]:
        self._say()
        heard, self._heard = self._heard, []
        return heard

    def demand(self) -> Sequence[tuple[bytes, int]]:
        """The feedback since the last call: patterns, and how many subscribe to each now."""
        self._say()
        demand, self._demand = self._demand, []
        return demand

    def close(self) -> None:
        self._client.close()

    def _say(self, *packets: bytes) -> None:
        """Returns when the bus has acted on it."""
        self._client.say(*packets)
        for packet in self._client.heard():
            flags, body_at = packet[0], _HEADER_OCTETS + packet[1]
            topic, body = packet[_HEADER_OCTETS:body_at], packet[body_at:]
            if flags & FEEDBACK:
                self._demand.append((topic, int.from_bytes(body, "big")))
            else:
                self._heard.append(Heard(topic, body, marks=frozenset(m for flag, m in _MARKS.items() if flags & flag)))
