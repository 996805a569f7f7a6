"""Our worker, with times that are short enough for a campaign: ``python -m tests.chaos.worker ADDRESS QUEUE``.

It learns that the broker is another within seconds, where usually a quarter of a minute does.
"""

from __future__ import annotations

import sys

from twisted.internet import reactor
from twisted.logger import LogLevel, globalLogBeginner, textFileLogObserver

from fmqbus.protocols.emqp.queue_lists import Weighted
from fmqbus.worker.conversation import Conversation
from fmqbus.worker.service import WorkerService, WorkerSettings
from fmqbus.worker.settings import PoolSettings

_BEAT_SECONDS, _SILENCE_SECONDS = 0.5, 3.0


class HastyWorker(WorkerService):
    """See above."""

    def _new_conversation(self) -> Conversation:
        settings = self._settings
        return Conversation(
            settings.queues,
            settings.limits,
            lambda: self._pool.free,
            beat_seconds=_BEAT_SECONDS,
            silence_seconds=_SILENCE_SECONDS,
        )


def main(address: str, queue: str) -> None:
    """Until it is killed."""
    write = textFileLogObserver(sys.stdout)
    observer = lambda event: write(event) if event["log_level"] >= LogLevel.warn else None  # noqa: E731
    globalLogBeginner.beginLoggingTo([observer], redirectStandardIO=False)
    pool = PoolSettings(modules=("tests.chaos.jobs",), processes=2, jobs_per_process=500)
    HastyWorker(
        reactor, WorkerSettings(address=address, queues=(Weighted(10, queue.encode()),), pool=pool)
    ).startService()
    reactor.run()  # type: ignore[attr-defined]


main(*sys.argv[1:])
