"""Who is busy, who is slow, and what is lost? From what a bus tells of itself, one answer after the other. No I/O, no
clock."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

Answer = Mapping[str, Any]


@attrs.frozen
class ProtocolLine:
    """One protocol; rates are per second."""

    protocol: str
    sessions: int
    messages_in_per_second: float
    messages_out_per_second: float
    octets_in_per_second: float
    octets_out_per_second: float


@attrs.frozen
class DropLine:
    """Messages that were lost, or refused, for one reason."""

    protocol: str
    #: ``lost`` on their way to slow clients, or ``refused`` when a client said them.
    what: str
    reason: str
    messages: int
    per_second: float


@attrs.frozen
class PeerLine:
    """One client."""

    protocol: str
    #: Where it is, and who, as far as that is known.
    peer: str
    subscriptions: int
    messages_in_per_second: float
    messages_out_per_second: float
    kept_octets: int
    lost: int
    is_slow: bool


@attrs.frozen
class QueueLine:
    """One queue."""

    name: str
    ready: int
    unsettled: int
    delayed: int
    consumers: int
    enqueued_per_second: float
    accepted_per_second: float


@attrs.frozen
class Overview:
    """A bus at one moment, with the rates since the one before."""

    version: str
    subscriptions: int
    #: What is not well, by check.
    complaints: Mapping[str, str]
    protocols: Sequence[ProtocolLine]
    drops: Sequence[DropLine]
    peers: Sequence[PeerLine]
    queues: Sequence[QueueLine]


class Observation:
    """Takes answers of ``$/manage/status``, gives overviews."""

    def __init__(self) -> None:
        #: By what it is, of the answer before.
        self._before: dict[tuple[object, ...], int] = {}
        self._now: dict[tuple[object, ...], int] = {}
        self._seconds = 0.0

    def look(self, answer: Answer, seconds: float) -> Overview:
        """The overview `seconds` after the answer before. What has just come to be has no rate yet, nor has anything at
        first."""
        self._before, self._now, self._seconds = self._now, {}, seconds
        return Overview(
            version=answer["version"],
            subscriptions=answer["subscriptions"],
            complaints={check: reason for check, reason in answer["checks"].items() if reason},
            protocols=[self._protocol(name, told) for name, told in sorted(answer["protocols"].items())],
            drops=sorted(
                (
                    DropLine(name, what, reason, messages, self._rate(messages, "drop", name, what, reason))
                    for name, told in answer["protocols"].items()
                    for what in ("lost", "refused")
                    for reason, messages in told[what].items()
                ),
                key=lambda drop: (-drop.per_second, -drop.messages),
            ),
            peers=[self._peer(told) for told in answer["sessions"]],
            queues=[self._queue(told) for told in answer["queues"]],
        )

    def _rate(self, total: int, *what: object) -> float:
        """Of a total that is called so in each answer. One that has fallen has begun anew."""
        self._now[what] = total
        before = self._before.get(what, total)
        return max(0, total - before) / self._seconds if self._seconds > 0 else 0.0

    def _protocol(self, name: str, told: Mapping[str, Any]) -> ProtocolLine:
        return ProtocolLine(
            name,
            told["sessions"],
            self._rate(told["messages_in"], "protocol", name, "in"),
            self._rate(told["messages_out"], "protocol", name, "out"),
            self._rate(told["octets_in"], "protocol", name, "octets in"),
            self._rate(told["octets_out"], "protocol", name, "octets out"),
        )

    def _peer(self, told: Mapping[str, Any]) -> PeerLine:
        number = told["number"]
        return PeerLine(
            told["protocol"],
            _name_of(told),
            told["subscriptions"],
            self._rate(told["messages_in"], "peer", number, "in"),
            self._rate(told["messages_out"], "peer", number, "out"),
            told["kept_octets"],
            told["lost"],
            told["is_slow"],
        )

    def _queue(self, told: Mapping[str, Any]) -> QueueLine:
        name = told["name"]
        return QueueLine(
            name,
            told["ready"],
            told["unsettled"],
            told["delayed"],
            told["consumers"],
            self._rate(told["enqueued"], "queue", name, "enqueued"),
            self._rate(told["accepted"], "queue", name, "accepted"),
        )


def _name_of(told: Mapping[str, Any]) -> str:
    place = told["address"] or told["carrier"]
    if told["port"] is not None:
        place = f"[{place}]:{told['port']}" if ":" in place else f"{place}:{told['port']}"
    elif told["uid"] is not None:
        place = f"{place} uid {told['uid']}"
    return f"{told['identity']} at {place}" if told["identity"] else place
