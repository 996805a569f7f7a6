"""A worker of ours, with all its processes. What it takes, its jobs write down; it has nothing else to say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from fmqbus.protocols.emqp.queue_lists import Weighted
from fmqbus.worker.conversation import Conversation
from fmqbus.worker.service import WorkerService, WorkerSettings
from fmqbus.worker.settings import PoolSettings
from tests.live.broker import Broker
from tests.live.emqp_peers import ports_of
from tests.soak.emqp import EMQP
from tests.soak.mail import JOBS, MODULE, QUEUES
from tests.soak.words import Party

#: Within these it learns that the broker is another; usually it takes a quarter of a minute.
_BEAT_SECONDS, _SILENCE_SECONDS = 1.0, 6.0
_SERVED = tuple(Weighted(10, queue.encode()) for queue in (*QUEUES, JOBS))


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


class EMQPWorker(Party):
    """At the same listener as eMQP's clients."""

    protocol = EMQP.protocol
    listens = EMQP.listens
    has_to_beat = True

    def __init__(self, address: str, name: str, reactor: Any) -> None:
        pool = PoolSettings(modules=(MODULE,), processes=2, jobs_per_process=500, grace_seconds=10.0)
        self._worker = HastyWorker(reactor, WorkerSettings(address=address, queues=_SERVED, pool=pool))

    @classmethod
    def address(cls, broker: Broker) -> str:
        return f"tcp://127.0.0.1:{ports_of(broker)['backend']}"

    @classmethod
    def listens_again(cls, broker: Broker) -> str:
        return EMQP.listens_again(broker)

    def start(self, came: Callable[[], None], lost: Callable[[], None]) -> None:
        self._worker.startService()
        came()

    def stop(self) -> Deferred[None]:
        return self._worker.stopService()

    @property
    def is_connected(self) -> bool:
        return True
