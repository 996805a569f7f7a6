"""How many jobs have ended, of which queue and by whom, and how long did they take? For people, and for their
programs."""

from __future__ import annotations

from collections import Counter

from fmqbus.protocols.emqp.presence import Peer
from fmqbus.vitals import Distribution, Kind, Metric, Reading, Readings

#: Jobs take from milliseconds to hours.
_JOB_SECONDS = (0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0)

JOB_SECONDS = Metric("fmqbus_job_seconds", Kind.HISTOGRAM, "How long jobs that have ended were in workers' hands")
JOBS_IN_HAND = Metric("fmqbus_jobs_in_hand", Kind.GAUGE, "Jobs in workers' hands")
WORKERS = Metric("fmqbus_workers", Kind.GAUGE, "EventMQ's workers that are there")
SCHEDULERS = Metric("fmqbus_schedulers", Kind.GAUGE, "EventMQ's schedulers that are there")
METRICS = (JOB_SECONDS, JOBS_IN_HAND, WORKERS, SCHEDULERS)

#: Names that are remembered; with more of them it begins anew.
_MOST_NAMES = 10_000


class Figures:
    """Since the broker began, as far as names do not become too many. Times are in seconds."""

    def __init__(self) -> None:
        self.by_queue: Counter[bytes] = Counter()
        self.by_worker: Counter[Peer] = Counter()
        #: In the workers' hands: all together, and the longest.
        self.seconds: dict[bytes, float] = {}
        self.longest: dict[bytes, float] = {}
        #: Of all jobs, whatever their names.
        self.job_seconds = Distribution(_JOB_SECONDS)

    def readings(self, in_hand: int, workers: int, schedulers: int) -> Readings:
        """What a scraper is told: no names, for those are the peers'."""
        yield Reading(JOB_SECONDS, self.job_seconds)
        yield Reading(JOBS_IN_HAND, in_hand)
        yield Reading(WORKERS, workers)
        yield Reading(SCHEDULERS, schedulers)

    def count(self, queue: bytes, worker: Peer, seconds: float) -> None:
        """A job has ended."""
        if len(self.by_queue) + len(self.by_worker) > _MOST_NAMES:
            for names in (self.by_queue, self.by_worker, self.seconds, self.longest):
                names.clear()
        self.job_seconds.add(seconds)
        self.by_queue[queue] += 1
        self.by_worker[worker] += 1
        self.seconds[queue] = seconds + self.seconds.get(queue, 0.0)
        self.longest[queue] = max(seconds, self.longest.get(queue, 0.0))
