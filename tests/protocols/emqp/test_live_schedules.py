"""Jobs at set times, by the bus's own scheduler or by one that has INFORMed. (eMQP, Scheduler)"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

from tests.live.broker import Broker
from tests.live.emqp_peers import FRONTEND, Place, body_of

Start = Callable[..., Broker]


def test_a_job_is_done_at_intervals_until_that_is_taken_back(place: Place, queue: str) -> None:
    """EventMQ's SCHEDULE, of nine parts; it is done at once, and then every second."""
    worker, client = place.worker().inform([(10, queue)]).ready(20), place.client()
    first, second = body_of("tick", queue, "first"), body_of("tick", queue, "second")
    client.say("SCHEDULE", queue, "", "1", first, "")
    assert [worker.job()[4] for _ in range(3)] == [first] * 3
    client.say("UNSCHEDULE", queue, "", "1", first, "")
    client.say("SCHEDULE", queue, "", "1", second, "")
    while worker.job()[4] != second:
        pass
    assert [worker.job()[4] for _ in range(2)] == [second] * 2
    client.say("UNSCHEDULE", queue, "", "1", second, "")
    client.heard()


def test_a_schedule_outlives_a_broker_that_is_killed(start: Start, tmp_path: Path) -> None:
    """Once it was acknowledged to whoever asked for that."""
    tables = f'message_store = "sqlite"\nschedule_store = "sqlite"\n[stores.sqlite]\npath = "{tmp_path}/bus.db"\n'
    first = start(tables=tables)
    with Place(first) as place:
        client = place.client()
        id = client.say("SCHEDULE", "q", "nohaste,reply-requested", "1", body_of("tick"), "")
        assert client.hear(b"ACK")[2] == id
    first.signal(signal.SIGKILL)
    first.wait()
    with Place(start(tables=tables)) as place:
        place.worker().inform([(10, "q")]).ready().job()


def test_a_scheduler_that_has_informed_is_told_instead(place: Place, queue: str) -> None:
    """As the client has said it, and made whole; never both."""
    scheduler, client = place.peer(FRONTEND), place.client()
    worker = place.worker().inform([(10, queue)]).ready()
    scheduler.say("INFORM", "", "scheduler")
    scheduler.hear(b"ACK")
    body = body_of("tick")
    id = client.say("SCHEDULE", queue, "nohaste", "1", body, "")
    assert scheduler.hear() == [b"SCHEDULE", id, queue.encode(), b"nohaste", b"1", body, b""]
    id = client.say("UNSCHEDULE", queue, "", "1", body, "")
    assert scheduler.hear()[:2] == [b"UNSCHEDULE", id]
    assert worker.heard() == []
    scheduler.say("KBYE")
    assert scheduler.heard() == []
