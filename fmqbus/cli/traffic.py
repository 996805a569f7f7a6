"""How much goes by under each topic? Counts messages, and tells rates. No I/O and no clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import attrs

from fmqbus.client.events import Message

#: Topics are the peers' to invent; beyond this number they are counted together.
MAX_TOPICS = 10_000
OTHERS = "(others)"
SERVICE_PREFIX = "$/"


@attrs.define
class Flow:
    """What went by under one topic."""

    messages: int = 0
    octets: int = 0
    #: As of the sample before.
    messages_before: int = 0
    octets_before: int = 0


@attrs.frozen
class Rate:
    """One topic's line in a sample; rates are per second."""

    topic: str
    messages_per_second: float
    octets_per_second: float
    messages: int
    octets: int


@attrs.frozen
class Sample:
    """What was seen until now, and the rates since the sample before. The busiest topic is the first."""

    #: The bus's own numbers: the last level or levels of ``$/info/...`` → value.
    bus: dict[str, int]
    topics: Sequence[Rate]

    def to_fields(self) -> dict[str, Any]:
        """The sample for JSON."""
        return attrs.asdict(self)


class Traffic:
    """Takes messages, gives samples."""

    def __init__(self) -> None:
        self._bus: dict[str, int] = {}
        self._flows: defaultdict[str, Flow] = defaultdict(Flow)

    def add(self, message: Message) -> None:
        """Count a message; one below ``$/info`` is a number of the bus instead."""
        if message.topic.startswith(SERVICE_PREFIX):
            if len(message.payload) == 8 and len(self._bus) < MAX_TOPICS:
                self._bus[message.topic.removeprefix("$/info/")] = int.from_bytes(message.payload, "big")
            return
        known = message.topic in self._flows or len(self._flows) < MAX_TOPICS
        flow = self._flows[message.topic if known else OTHERS]
        flow.messages += 1
        flow.octets += len(message.payload)

    def sample(self, seconds: float, most: int) -> Sample:
        """Return the sample after so many seconds, with at most so many topics."""
        rates = [
            Rate(
                topic,
                (flow.messages - flow.messages_before) / seconds,
                (flow.octets - flow.octets_before) / seconds,
                flow.messages,
                flow.octets,
            )
            for topic, flow in self._flows.items()
        ]
        for flow in self._flows.values():
            flow.messages_before, flow.octets_before = flow.messages, flow.octets
        rates.sort(key=lambda rate: (-rate.messages_per_second, -rate.messages, rate.topic))
        return Sample(dict(sorted(self._bus.items())), rates[:most])
