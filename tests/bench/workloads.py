"""What is measured, and which figure of it has which goals?"""

from __future__ import annotations

import attrs

from tests.bench.brokers import (
    CROSSBAR,
    DISK,
    DURABLE_QUEUES,
    FMQBUS,
    FMQP,
    FORWARDER,
    HEADS_JOURNALED,
    JOURNALED,
    MOSQUITTO,
    MTL,
    NATS,
    QUEUES,
    RABBITMQ,
    RULED,
    UMQ,
    UNACKNOWLEDGED,
    UNJOURNALED,
    UNRULED,
    Broker,
)
from tests.bench.job_brokers import CELERY, EMQP, EMQP_FOR_EVENTMQ, EMQP_WHOLE, EVENTMQ, EVENTMQ_WHOLE, RQ


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
    #: Ours first; None for those of the contest.
    brokers: tuple[Broker, ...] | None = None


def rate(title: str, *goals: Goal) -> tuple[Figure]:
    """The figure of most workloads: messages delivered a second, to all subscribers together."""
    return (Figure(title, "msgs_s", "/s", goals),)


def nats(bound: float, at_most: bool = False) -> Goal:
    """So many times NATS's figure."""
    return Goal(bound, "NATS", at_most)


#: Ten times Mosquitto's rate, wherever one publisher sends to plain topics.
_TEN_TIMES_MOSQUITTO = Goal(10, "Mosquitto")

_TOPICS = (
    Workload(
        name="p2p-16",
        options="--workload p2p --payload 16",
        figures=rate("1 → 1, 16 B", nats(2), _TEN_TIMES_MOSQUITTO),
    ),
    Workload(
        name="p2p-128",
        options="--workload p2p --payload 128",
        figures=rate("1 → 1, 128 B", nats(1.5), _TEN_TIMES_MOSQUITTO),
    ),
    Workload(
        name="p2p-1k",
        options="--workload p2p --payload 1024",
        figures=rate("1 → 1, 1 KiB", nats(1), _TEN_TIMES_MOSQUITTO),
    ),
    Workload(
        name="p2p-64k",
        options="--workload p2p --payload 65536",
        figures=rate("1 → 1, 64 KiB", nats(2), _TEN_TIMES_MOSQUITTO),
    ),
    Workload(
        name="fanout",
        options="--workload fanout --subs 50",
        figures=rate("1 → 50", nats(4), _TEN_TIMES_MOSQUITTO),
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

_QUEUES = (
    Workload(
        name="queue",
        options="--workload queue --window 100",
        figures=(
            Figure("queue in memory, 1 → 1", "msgs_s", "/s", (Goal(1, "RabbitMQ"),)),
            Figure("the same, from sending to receiving, median", "one_p50", " µs", ()),
        ),
        brokers=(QUEUES, RABBITMQ),
    ),
    Workload(
        name="queue-durable",
        options="--workload queue --window 100 --durable --queue durable",
        figures=(
            Figure("durable queue, 1 → 1", "msgs_s", "/s", (Goal(1, "RabbitMQ"),)),
            Figure("the same, from sending to receiving, median", "one_p50", " µs", ()),
        ),
        brokers=(DURABLE_QUEUES, RABBITMQ),
    ),
    Workload(
        name="fanout-micromsg2",
        options="--workload fanout --subs 50",
        figures=(Figure("topic, 1 → 50", "msgs_s", "/s", (Goal(0.3, "FMQP"),)),),
        brokers=(UNACKNOWLEDGED, FMQP),
    ),
)

_CROSSBAR = Goal(3, "Crossbar.io")

_CALLS = (
    Workload(
        name="call",
        options="--workload call --callers 1 --window 20",
        figures=rate("calls, 1 caller", _CROSSBAR),
    ),
    Workload(
        name="call-50",
        options="--workload call --callers 50 --window 20",
        figures=rate("calls, 50 callers", _CROSSBAR),
    ),
    Workload(
        name="fanout-websocket",
        options="--workload fanout --subs 50 --window 20",
        figures=rate("topic, 1 → 50", _CROSSBAR),
    ),
    Workload(
        name="call-rtt",
        options="--workload rtt --rate 500",
        fresh=True,
        figures=(
            Figure("500 calls a second, median", "rtt_p50", " µs", ()),
            Figure("the same, 99th percentile", "rtt_p99", " µs", ()),
        ),
    ),
    Workload(
        name="idle-websocket",
        options="--workload idle --conns 5000",
        smoke="--conns 100",
        fresh=True,
        figures=(
            Figure("memory of a silent subscriber, of 5,000", "bytes_each", " B", ()),
            Figure("a message to one of them, median", "rtt_p50", " µs", ()),
            Figure("the same, 99th percentile", "rtt_p99", " µs", ()),
        ),
    ),
)

_CALLS_EXPLAINED = """
JSON over WebSocket: UMQ here, WAMP there. An argument, a result and a message are text of 128 characters. Each caller
has 20 calls unanswered, and the publisher 20 messages unacknowledged. One client answers all calls. Crossbar.io may use
both cores. Compression is off on both sides.
"""

_ROUND_TRIPS = (
    Figure("the same, 100 jobs a second: from REQUEST to its end, median", "rtt_p50", " µs", ()),
    Figure("the same, 99th percentile", "rtt_p99", " µs", ()),
)

_JOBS = (
    Workload(
        name="emqp-router",
        options="--workload router --window 64 --credits 64",
        figures=(
            Figure("broker alone", "msgs_s", "/s", (Goal(5, "EventMQ"),)),
            Figure("the same, processor time for a job", "broker_us_msg", " µs", ()),
        ),
        brokers=(EMQP, EVENTMQ),
    ),
    Workload(
        name="emqp-router-rtt",
        options="--workload router --rate 100",
        figures=_ROUND_TRIPS,
        brokers=(EMQP, EVENTMQ),
    ),
    Workload(
        name="emqp-jobmanager",
        options="--workload jobs --completions --window 64 --path tests.bench.jobs.plain --callable told",
        figures=(Figure("with EventMQ's jobmanager, 4 processes", "msgs_s", "/s", (Goal(2, "EventMQ"),)),),
        brokers=(EMQP_FOR_EVENTMQ, EVENTMQ_WHOLE),
    ),
    Workload(
        name="emqp-jobmanager-rtt",
        options="--workload jobs --completions --rate 100 --path tests.bench.jobs.plain --callable told",
        figures=_ROUND_TRIPS,
        brokers=(EMQP_FOR_EVENTMQ, EVENTMQ_WHOLE),
    ),
    Workload(
        name="emqp-worker",
        options="--window 64",
        figures=(Figure("with a worker of its own, 4 processes", "msgs_s", "/s", (Goal(1, "rq"), Goal(1, "Celery"))),),
        brokers=(EMQP_WHOLE, RQ, CELERY),
    ),
    Workload(
        name="emqp-worker-rtt",
        options="--rate 100",
        figures=_ROUND_TRIPS,
        brokers=(EMQP_WHOLE, RQ, CELERY),
    ),
)

_JOBS_EXPLAINED = """
A job does nothing, and its result is asked for; 64 of them are under way. It ends when the result has come to its
client. EventMQ's router relays no results, so there, and wherever EventMQ's jobmanager works, it ends when the worker
has done it.

- Broker alone: one client and one worker with 64 credits, which are one program and answer at once.
- With EventMQ's jobmanager, unmodified, and the same for both brokers.
- With a worker of its own: `fmqbus work`; rq and Celery with Redis in memory, rq with its worker that begins no process
  for each job. The clients are in Python: ours has nothing but pyzmq. For the round trips one job is under way at a
  time.
"""


_CEILING = Goal(0.5, "forwarder")

_MTL = (
    Workload(
        name="mtl-topic",
        options="--profile topic --subs 1",
        figures=rate("profile topic, 1 → 1", _CEILING),
    ),
    Workload(
        name="mtl-topic-20",
        options="--profile topic --subs 20",
        figures=rate("profile topic, 1 → 20", _CEILING),
    ),
    Workload(
        name="mtl-queue",
        options="--profile queue --confirm full",
        fresh=True,
        figures=rate("profile queue, confirmed both ways", _CEILING),
    ),
)

_MTL_EXPLAINED = """
The ceiling is a ROUTER socket and a loop in Python that passes everything on: it asks nobody who may, keeps nothing and
counts nothing. One process writes, another reads, both by pyzmq alone; they are pinned to the first core, which they
share, and the brokers are not pinned. Where these two were the bound (`*`), a ratio says little. At most 2,000 contents
are under way. In the last row the writer has at most 1,000 unconfirmed, and the reader confirms up to 50 at a time,
which the forwarder passes on to the writer.
"""


def _within(figure: Figure) -> Figure:
    """The same with one goal: at most 5 % worse than without a policy."""
    is_rate = figure.unit == "/s"
    return attrs.evolve(figure, goals=(Goal(0.95 if is_rate else 1.05, UNRULED.name, at_most=not is_rate),))


_POLICY = tuple(
    attrs.evolve(each, name=f"{each.name}-ruled", figures=tuple(map(_within, each.figures))) for each in _TOPICS
)

_POLICY_EXPLAINED = """
The workloads of the first section with a [policy](access.md) of 1,000 rules, and with none. Only the last rule allows
what the load generator does; half of the others are about it too, but about other names. All goals ask for the same: to
be no more than 5 % worse.
"""

_JOURNAL = tuple(
    Workload(
        name=f"journal-{name}",
        options=options,
        figures=rate(title, Goal(goal, "no journal")),
        brokers=(broker, UNJOURNALED, *((DISK,) if "p2p" in options and broker is JOURNALED else ())),
    )
    for name, options, title, goal, broker in (
        ("16", "--workload p2p --payload 16", "1 → 1, 16 B", 0.6, JOURNALED),
        ("128", "--workload p2p --payload 128", "1 → 1, 128 B", 0.6, JOURNALED),
        ("1k", "--workload p2p --payload 1024", "1 → 1, 1 KiB", 0.6, JOURNALED),
        ("fanout", "--workload fanout --subs 50", "1 → 50", 0.6, JOURNALED),
        ("mixed", "--workload mixed --topics 1000", "1,000 topics, shuffled", 0.4, JOURNALED),
        ("128-heads", "--workload p2p --payload 128", "1 → 1, 128 B, payloads not kept", 0.6, HEADS_JOURNALED),
        ("mixed-heads", "--workload mixed --topics 1000", "shuffled, payloads not kept", 0.4, HEADS_JOURNALED),
    )
)

_JOURNAL_EXPLAINED = """
The same broker, with the journal and without. The thread that writes has no core of its own. Goals are 0.6 of the rate
where there are runs, and 0.4 where there are none. Beside them stands what the disk takes of such rows where a program
does nothing but write them, in the same way: with payloads kept, no journal can be faster than that. (The disk is not
steady either, so a ratio to it may be above 1.)
"""

_TOPICS_EXPLAINED = """
fmqbus runs complete and with its defaults: access control, statistics, limits and outbox policies are on.

- The load generator is one thread and has the first core. fmqbus and Mosquitto, which use one core, have the second;
  NATS may use both.
- fmqbus profits from neighbours with the same topic and size. The shuffled workload is made to leave none.
"""

_QUEUES_EXPLAINED = """
One producer, one consumer, over MicroMsg2 with `batch-ack` here and AMQP with publisher confirms there: 100 messages
unacknowledged at most on either side, each side acknowledging 50 at a time, 2,000 under way at most. Durable is SQLite
with `synchronous = "full"` here, a durable classic queue with persistent messages there. RabbitMQ may use both cores.

The last row is MicroMsg2 beside our own FMQP, which has no acknowledgements, and without them.
"""


@attrs.frozen
class Contest:
    """Brokers that are measured beside each other: a section of the report."""

    name: str
    title: str
    #: Whose columns there are; ours first.
    brokers: tuple[Broker, ...]
    workloads: tuple[Workload, ...]
    explanation: str
    #: Modules that are in a Python of their own, which the command line names.
    pythons: tuple[str, ...] = ()


CONTESTS = (
    Contest("topics", "Topics: FMQP beside NATS and Mosquitto", (FMQBUS, NATS, MOSQUITTO), _TOPICS, _TOPICS_EXPLAINED),
    Contest("queues", "Queues: MicroMsg2 beside RabbitMQ", (QUEUES, RABBITMQ, FMQP), _QUEUES, _QUEUES_EXPLAINED),
    Contest("calls", "Calls: UMQ beside Crossbar.io", (UMQ, CROSSBAR), _CALLS, _CALLS_EXPLAINED),
    Contest(
        "jobs",
        "Jobs: eMQP beside EventMQ, rq and Celery",
        (EMQP, EVENTMQ, RQ, CELERY),
        _JOBS,
        _JOBS_EXPLAINED,
        pythons=("eventmq", "rq", "celery"),
    ),
    Contest("mtl", "MTL beside a bare forwarder", (MTL, FORWARDER), _MTL, _MTL_EXPLAINED),
    Contest("policy", "Rules: FMQP with a policy and without", (RULED, UNRULED), _POLICY, _POLICY_EXPLAINED),
    Contest(
        "journal",
        "The journal's cost: FMQP with it and without",
        (JOURNALED, UNJOURNALED, DISK),
        _JOURNAL,
        _JOURNAL_EXPLAINED,
    ),
)
