"""What does an operator hear about the broker? (EventMQ's command line; not in the specification)

The answers have the names that EventMQ's have. Who asks is told nothing unasked: its command line takes the next
message for the answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from fmqbus.interfaces import IRouter
from fmqbus.protocols.emqp.hands import Hands
from fmqbus.protocols.emqp.presence import Peer, Presence
from fmqbus.protocols.emqp.schedulers import Schedulers
from fmqbus.protocols.emqp.worker import WorkerSession
from fmqbus.protocols.emqp.workers import Workers
from fmqbus.schedules.errands import ScheduleStatus
from fmqbus.schedules.timing import Cron, Every

#: What can be asked for beside the numbers.
SHOW_WORKERS, SHOW_SCHEDULERS, SHOW_SCHEDULES = b"show_managers", b"show_schedulers", b"show_scheduled_jobs"
#: More queues, or schedules, than these are not told: an answer is one message.
_MOST_TOLD = 1_000


class Administration:
    """Reads what the tables of one place know."""

    def __init__(
        self,
        router: IRouter,
        workers: Workers[WorkerSession],
        schedulers: Schedulers,
        presence: Presence,
        hands: Hands,
        epoch: float,
    ) -> None:
        """`presence` is that of the workers; `epoch` is when the bus's clock showed 0, in POSIX seconds."""
        self._router = router
        self._workers = workers
        self._schedulers = schedulers
        self._presence = presence
        self._hands = hands
        self._epoch = epoch

    def answer(self, what: bytes) -> bytes:
        """JSON for STATUS, with the word that EventMQ 0.4 adds, or none."""
        if what == SHOW_WORKERS:
            content = self._show_workers()
        elif what == SHOW_SCHEDULERS:
            content = self._show_schedulers()
        elif what == SHOW_SCHEDULES:
            content = self._show_schedules()
        else:
            content = self._status()
        return json.dumps(content).encode()

    def _status(self) -> Mapping[str, Any]:
        figures = self._hands.figures
        statuses = {status.name: status for status in self._router.queues(most=_MOST_TOLD)}
        return {
            "inflight_messages_by_queue": {_text(queue): count for queue, count in self._hands.in_hand().items()},
            "latency_messages_by_queue": {
                _text(queue): round(1000 * seconds / figures.by_queue[queue], 3)
                for queue, seconds in figures.seconds.items()
            },
            "max_latency_messages_by_queue": {
                _text(queue): round(1000 * seconds, 3) for queue, seconds in figures.longest.items()
            },
            "waiting_messages_by_queue": {
                _text(name): status.ready + status.delayed for name, status in statuses.items()
            },
            "processed_messages_by_queue": {_text(queue): count for queue, count in figures.by_queue.items()},
            "processed_messages_by_worker": {_text(peer[1]): count for peer, count in figures.by_worker.items()},
        }

    def _show_workers(self) -> Mapping[str, Any]:
        workers = {}
        queues: dict[str, list[tuple[int, str]]] = {}
        for worker in self._workers:
            name = _text(worker.peer[1])
            workers[name] = {
                "queues": [[weight, _text(queue)] for weight, queue in worker.queues],
                "hb": self._epoch + self._presence.heard_at(worker.peer),
                "available_slots": worker.credit,
            }
            for weight, queue in worker.queues:
                queues.setdefault(_text(queue), []).append((weight, name))
        return {"connected_workers": workers, "connected_queues": queues}

    def _show_schedulers(self) -> Mapping[str, Any]:
        return {"connected_schedulers": {name: {} for name in _names(self._schedulers)}}

    def _show_schedules(self) -> Mapping[str, Any]:
        statuses = self._router.scheduling.page(most=_MOST_TOLD)
        return {"scheduled_jobs": {status.schedule.key: _told(status) for status in statuses}}


def _told(status: ScheduleStatus) -> Mapping[str, Any]:
    schedule = status.schedule
    timing = schedule.timing
    return {
        "queue": _text(schedule.what.errand.name),
        "interval": timing.seconds if isinstance(timing, Every) else None,
        "cron": timing.text if isinstance(timing, Cron) else None,
        "next_run": schedule.due,
        "runs_left": schedule.runs_left,
    }


def _names(peers: Iterable[Peer]) -> Iterable[str]:
    return (_text(identity) for _, identity in peers)


def _text(octets: bytes) -> str:
    """Identities may be any octets."""
    return octets.decode(errors="backslashreplace")
