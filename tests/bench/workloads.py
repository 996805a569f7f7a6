"""What is measured, and which figure of it has which goals?"""

from __future__ import annotations

import attrs


@attrs.frozen
class Goal:
    """What a figure should come to: times that of a peer, or by itself where no peer is named."""

    bound: float
    peer: str = ""
    at_most: bool = False

    def is_reached(self, value: float) -> bool:
        """Compare a ratio to the peer, or the figure itself."""
        return value <= self.bound if self.at_most else value >= self.bound


@attrs.frozen
class Figure:
    """One row of the report: a figure of the load generator, and its goals."""

    title: str
    #: The load generator's name for it.
    key: str
    unit: str
    goals: tuple[Goal, ...]


@attrs.frozen(kw_only=True)
class Workload:
    """One run of the load generator."""

    name: str
    #: For the load generator, as on a command line.
    options: str
    #: Added where the run only has to show that nothing is broken.
    smoke: str = ""
    #: Needs a broker that has done nothing yet: for its memory, or its quiet.
    fresh: bool = False
    figures: tuple[Figure, ...]


def rate(title: str, *goals: Goal) -> tuple[Figure]:
    """The figure of most workloads: messages delivered a second, to all subscribers together."""
    return (Figure(title, "msgs_s", "/s", goals),)


def nats(bound: float, at_most: bool = False) -> Goal:
    """So many times NATS's figure."""
    return Goal(bound, "NATS", at_most)


#: Ten times Mosquitto's rate, wherever one publisher sends to plain topics.
MOSQUITTO = Goal(10, "Mosquitto")

WORKLOADS = (
    Workload(
        name="p2p-16",
        options="--workload p2p --payload 16",
        figures=rate("1 → 1, 16 B", nats(2), MOSQUITTO),
    ),
    Workload(
        name="p2p-128",
        options="--workload p2p --payload 128",
        figures=rate("1 → 1, 128 B", nats(1.5), MOSQUITTO),
    ),
    Workload(
        name="p2p-1k",
        options="--workload p2p --payload 1024",
        figures=rate("1 → 1, 1 KiB", nats(1), MOSQUITTO),
    ),
    Workload(
        name="p2p-64k",
        options="--workload p2p --payload 65536",
        figures=rate("1 → 1, 64 KiB", nats(2), MOSQUITTO),
    ),
    Workload(
        name="fanout",
        options="--workload fanout --subs 50",
        figures=rate("1 → 50", nats(4), MOSQUITTO),
    ),
    Workload(
        name="fanin",
        options="--workload fanin --pubs 50",
        figures=rate("50 → 1, by wildcard", nats(1)),
    ),
    Workload(
        name="mixed",
        options="--workload mixed --topics 1000",
        figures=rate("1,000 topics, 16 B to 2 KiB, shuffled", nats(1)),
    ),
    Workload(
        name="subs",
        options="--workload subs --conns 100 --per 1000",
        smoke="--conns 10",
        fresh=True,
        figures=rate("100,000 subscriptions", nats(1.5)),
    ),
    Workload(
        name="rtt",
        options="--workload rtt --rate 1000 --secs 5",
        fresh=True,
        figures=(
            Figure("1,000 round trips a second, median", "rtt_p50", " µs", (nats(1.3, at_most=True),)),
            Figure("the same, 99th percentile", "rtt_p99", " µs", (nats(1, at_most=True),)),
        ),
    ),
    Workload(
        name="idle",
        options="--workload idle --conns 2000 --secs 1",
        smoke="--conns 200",
        fresh=True,
        figures=(Figure("memory of a silent subscriber", "bytes_each", " B", (Goal(8192, at_most=True),)),),
    ),
)
