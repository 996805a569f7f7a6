"""What if one is killed? EventMQ's peers come back to a broker, and jobs come back from a jobmanager that is dead."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.interop.places import RealClient, endpoints_of, same_places
from tests.interop.programs import Programs, marks, wait_for
from tests.live.broker import Broker
from tests.live.emqp_peers import Place, args_of

Start = Callable[..., Broker]

#: A jobmanager beats every three to four seconds.
_HASTY = "silence = 7\ngrace = 1"
#: EventMQ's peers find out after 12 to 17 s that nobody answers.
_BACK_SECONDS = 25.0


def test_peers_come_back_to_a_broker_that_was_killed(start: Start, programs: Programs, tmp_path: Path) -> None:
    """Jobs that it has acknowledged are done after all, and others follow."""
    tables = f'message_store = "sqlite"\n[stores.sqlite]\npath = "{tmp_path}/bus.db"\n'
    first = start(tables=tables)
    places, path = endpoints_of(first), tmp_path / "marks"
    jobmanager, scheduler = programs.jobmanager(places["backend"], slots=1), programs.scheduler(places["frontend"])
    client = RealClient(programs, places["frontend"])
    client.defer("mark", str(path), "before")
    assert wait_for(lambda: marks(path) == ["before"]) is not None
    busy = tmp_path / "busy"
    client.defer("mark_and_sleep", str(busy), "busy", 5)
    assert wait_for(lambda: marks(busy)) is not None
    kept = client.defer("mark", str(path), "kept", reply_requested=True, guarantee=True)
    assert wait_for(lambda: any(parts[2] == "ACK" and parts[4] == kept for parts in client.heard)) is not None

    first.signal(signal.SIGKILL)
    first.wait()
    second = start(tables=tables, listen=same_places(first))
    begun = time.monotonic()
    assert wait_for(lambda: "kept" in marks(path), _BACK_SECONDS) is not None
    print(f"the jobmanager was back after {time.monotonic() - begun:.1f} s")
    assert client.result(kept) == {"value": "kept"}
    client.defer("mark", str(path), "after")
    assert wait_for(lambda: "after" in marks(path)) is not None
    assert wait_for(lambda: scheduler.log.count("Received ACK") == 2, _BACK_SECONDS) is not None
    assert jobmanager.process.poll() is None
    assert second.stop() == 0
    assert "Traceback" not in second.text


def test_a_job_of_a_jobmanager_that_was_killed_is_done_by_another(
    start: Start, programs: Programs, tmp_path: Path
) -> None:
    """If it says that it may be tried once more; and the client hears of that one."""
    places, path = endpoints_of(start(_HASTY)), tmp_path / "marks"
    dying = programs.jobmanager(places["backend"], slots=1)
    client = RealClient(programs, places["frontend"])
    id = client.defer("mark_and_sleep", str(path), "job", 600, reply_requested=True, retry_count=1)
    assert wait_for(lambda: marks(path) == ["job"]) is not None
    programs.jobmanager(places["backend"], slots=1)
    dying.kill()
    assert client.result(id) == {"value": "job"}
    assert marks(path) == ["job", "job"]


def test_a_job_that_may_not_be_tried_again_is_a_dead_letter_and_a_failure(
    start: Start, programs: Programs, tmp_path: Path
) -> None:
    """It has run once, and may be looked at."""
    broker = start(_HASTY, '[queues]\ndead_letter = "dead"\n')
    places, path = endpoints_of(broker), tmp_path / "marks"
    dying = programs.jobmanager(places["backend"], slots=1)
    client = RealClient(programs, places["frontend"])
    id = client.defer("mark_and_sleep", str(path), "job", 600, reply_requested=True)
    assert wait_for(lambda: marks(path) == ["job"]) is not None
    programs.jobmanager(places["backend"], slots=1)
    dying.kill()
    assert client.result(id) == {"value": "the worker is lost", "error": "WorkerLost"}
    assert marks(path) == ["job"]
    with Place(broker) as place:
        undertaker = place.worker().inform([(10, "dead")]).ready()
        assert args_of(undertaker.job())[1] == "job"
