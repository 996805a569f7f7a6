"""What the router tells those who run the bus. All of it is counted anyway; here it is only read.

Names of topics, clients and methods are the peers' to invent, so none of them is a label. Queues are told apart by the
rules of the configuration: an operator who wants to see a queue by itself gives it a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from fmqbus import names
from fmqbus.router.queue_tally import QueueTally
from fmqbus.router.slices import STEP
from fmqbus.vitals import Kind, Metric, Reading, Readings, Vitals

if TYPE_CHECKING:
    from fmqbus.router.service import Router

#: In the place of a rule's pattern, for queues that no rule is for.
NO_RULE = "(others)"


def _counter(name: str, summary: str, *labels: str) -> Metric:
    return Metric(f"fmqbus_{name}_total", Kind.COUNTER, summary, labels)


def _gauge(name: str, summary: str, *labels: str) -> Metric:
    return Metric(f"fmqbus_{name}", Kind.GAUGE, summary, labels)


MESSAGES_RECEIVED = _counter("messages_received", "Well-formed units read from clients", "protocol")
MESSAGES_SENT = _counter("messages_sent", "Publications written to clients", "protocol")
BYTES_RECEIVED = _counter("received_bytes", "Bytes read from clients", "protocol")
BYTES_SENT = _counter("sent_bytes", "Bytes written to clients", "protocol")
DROPPED = _counter("messages_dropped", "Publications that the outbox of a slow client let go", "protocol", "reason")
REFUSED = _counter("refusals", "What clients said that was discarded", "protocol", "reason")
SESSIONS = _gauge("sessions", "Sessions of clients, detached ones included", "protocol")
SESSIONS_OPENED = _counter("sessions_opened", "Sessions that have begun")
SESSIONS_DETACHED = _gauge("detached_sessions", "Sessions whose clients have gone and may come back")
SUBSCRIPTIONS = _gauge("subscriptions", "Subscriptions of all clients, hidden ones included")
RETAINED = _gauge("retained_messages", "Retained messages")

SLOW = _gauge("slow_sessions", "Sessions whose links take no data, or for which something is kept", "protocol")
OUTBOX_BYTES = _gauge("outbox_bytes", "What is kept for slow clients, its cost in memory included", "protocol")
OUTBOX_LARGEST = _gauge("outbox_largest_bytes", "What is kept for the client that has the most", "protocol")

#: Metric → the attribute of `QueueTally` that it tells.
OF_QUEUES: Mapping[Metric, str] = {
    _gauge("queues", "Queues", "queue"): "queues",
    _gauge("queue_ready_messages", "Messages that wait for a consumer", "queue"): "ready",
    _gauge("queue_unsettled_messages", "Messages in the hands of consumers", "queue"): "unsettled",
    _gauge("queue_delayed_messages", "Messages whose time has not come", "queue"): "delayed",
    _gauge("queue_bytes", "Topics, payloads and properties of all messages", "queue"): "octets",
    _gauge("queue_consumers", "Consumers", "queue"): "consumers",
    _counter("queue_enqueued", "Messages put into queues", "queue"): "enqueued",
    _counter("queue_delivered", "Messages handed to consumers, each time", "queue"): "delivered",
    _counter("queue_accepted", "Messages that consumers have done with", "queue"): "accepted",
    _counter("queue_released", "Messages that consumers gave back", "queue"): "released",
    _counter("queue_dead_lettered", "Messages put away into another queue", "queue"): "dead_lettered",
    _counter("queue_requeued", "Dead letters sent back", "queue"): "requeued",
    _counter("queue_dropped", "Messages forgotten for good", "queue"): "dropped",
    _counter("queue_expired", "Messages too old before anybody accepted them", "queue"): "expired",
    _counter("queue_refused", "Messages that found no room", "queue"): "refused",
}

METHODS = _gauge("methods", "Methods that somebody serves")
CALLS_WAITING = _gauge("calls_waiting", "Calls that no server has room for yet")
CALLS_UNDER_WAY = _gauge("calls_under_way", "Calls that have not ended, waiting ones included")
CALLS = _counter("calls", "Calls that have begun")
CALLS_ENDED = _counter("calls_ended", "Calls that have ended: replied, or why not", "outcome")
CALLS_REFUSED = _counter("calls_refused", "Calls that found all servers busy")

SCHEDULES = _gauge("schedules", "Schedules")
SCHEDULED_BYTES = _gauge("scheduled_bytes", "What schedules carry")
SCHEDULE_RUNS = _counter("schedule_runs", "Runs of schedules")
SCHEDULE_FAILURES = _counter("schedule_failures", "Runs of schedules that came to nothing", "reason")

COMMIT_SECONDS = Metric(
    "fmqbus_store_commit_seconds", Kind.HISTOGRAM, "How long producers of durable queues wait for a commit"
)
STORE_FAILED = _gauge("store_failed", "1 if the store takes nothing more", "store")


#: Each store, and the key of the configuration that names it.
_KEYS = {"messages": "message_store", "retained": "retained_store", "schedules": "schedule_store"}


def make_vitals(router: Router) -> Vitals:
    """The vitals of a router that is made, with its own figures and checks in them."""
    vitals = Vitals()
    for metrics, read in _SOURCES.items():
        vitals.add_figures(metrics, partial(read, router))
    vitals.ready.add("router", lambda: router.unready)
    for name in _KEYS:
        vitals.ready.add(_KEYS[name], partial(_failure_of, router, name))
    return vitals


def _failure_of(router: Router, store: str) -> str | None:
    return _failures(router)[store]


def _failures(router: Router) -> dict[str, str | None]:
    """Why each store takes nothing more, in words."""
    failures = {
        "messages": router.store_failure,
        "retained": router.retained.failure,
        "schedules": router.scheduling.store_failure,
    }
    return {name: None if failure is None else str(failure) for name, failure in failures.items()}


def _traffic(router: Router) -> Readings:
    for protocol, traffic in list(router.traffic.items()):
        labels = (protocol,)
        yield Reading(MESSAGES_RECEIVED, traffic.messages_in, labels)
        yield Reading(MESSAGES_SENT, traffic.messages_out, labels)
        yield Reading(BYTES_RECEIVED, traffic.octets_in, labels)
        yield Reading(BYTES_SENT, traffic.octets_out, labels)
        yield Reading(SESSIONS, router.connected(protocol), labels)
        for reason, count in traffic.losses.items():
            yield Reading(DROPPED, count, (protocol, reason))
        for reason, count in traffic.refusals.items():
            yield Reading(REFUSED, count, (protocol, reason))
    yield Reading(SESSIONS_OPENED, router.opened)
    yield Reading(SESSIONS_DETACHED, router.detached)
    yield Reading(SUBSCRIPTIONS, router.subscriptions)
    yield Reading(RETAINED, len(router.retained))


def _outboxes(router: Router) -> Readings:
    slow: dict[str, list[int]] = {protocol: [] for protocol in router.traffic}
    for number, session in enumerate(router.sessions()):
        if session.is_slow:
            slow[session.principal.protocol].append(session.outbox.kept_octets)
        if number % STEP == 0:
            yield None
    for protocol, kept in slow.items():
        yield Reading(SLOW, len(kept), (protocol,))
        yield Reading(OUTBOX_BYTES, sum(kept), (protocol,))
        yield Reading(OUTBOX_LARGEST, max(kept, default=0), (protocol,))


def _queues(router: Router) -> Readings:
    tallies: dict[bytes, QueueTally] = {}
    for _ in router.queuing.table.tally(tallies):
        yield None
    for rule, tally in tallies.items():
        label = (names.to_text(rule) if rule else NO_RULE,)
        for metric, attribute in OF_QUEUES.items():
            yield Reading(metric, getattr(tally, attribute), label)


def _calls(router: Router) -> Readings:
    calling = router.calling
    waiting = 0
    for number, method in enumerate(calling.methods):
        waiting += len(method.waiting)
        if number % STEP == 0:
            yield None
    yield Reading(METHODS, len(calling.methods))
    yield Reading(CALLS_WAITING, waiting)
    yield Reading(CALLS_UNDER_WAY, calling.called - calling.ended.total())
    yield Reading(CALLS, calling.called)
    yield Reading(CALLS_REFUSED, calling.refused)
    for outcome, count in list(calling.ended.items()):
        yield Reading(CALLS_ENDED, count, (outcome,))


def _schedules(router: Router) -> Readings:
    scheduling = router.scheduling
    yield Reading(SCHEDULES, len(scheduling))
    yield Reading(SCHEDULED_BYTES, scheduling.octets)
    yield Reading(SCHEDULE_RUNS, scheduling.runs)
    for reason, count in scheduling.failed.items():
        yield Reading(SCHEDULE_FAILURES, count, (reason,))


def _stores(router: Router) -> Readings:
    if (seconds := router.queuing.commit_seconds) is not None:
        yield Reading(COMMIT_SECONDS, seconds)
    for name, failure in _failures(router).items():
        yield Reading(STORE_FAILED, failure is not None, (name,))


_SOURCES: dict[tuple[Metric, ...], Callable[[Router], Readings]] = {
    (
        MESSAGES_RECEIVED, MESSAGES_SENT, BYTES_RECEIVED, BYTES_SENT, SESSIONS, DROPPED, REFUSED, SESSIONS_OPENED,
        SESSIONS_DETACHED, SUBSCRIPTIONS, RETAINED,
    ): _traffic,
    (SLOW, OUTBOX_BYTES, OUTBOX_LARGEST): _outboxes,
    tuple(OF_QUEUES): _queues,
    (METHODS, CALLS_WAITING, CALLS_UNDER_WAY, CALLS, CALLS_REFUSED, CALLS_ENDED): _calls,
    (SCHEDULES, SCHEDULED_BYTES, SCHEDULE_RUNS, SCHEDULE_FAILURES): _schedules,
    (COMMIT_SECONDS, STORE_FAILED): _stores,
}  # fmt: skip
