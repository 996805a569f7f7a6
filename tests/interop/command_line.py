"""EventMQ's command line against our broker."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

from tests.interop.places import RealClient, endpoints_of
from tests.interop.probe import STATUS
from tests.interop.programs import Programs, marks, wait_for
from tests.live.broker import Broker

Start = Callable[..., Broker]


def test_it_shows_what_there_is(start: Start, programs: Programs) -> None:
    """Jobs, workers and schedulers, by EventMQ's names."""
    broker = start()
    places = endpoints_of(broker)
    programs.jobmanager(places["backend"], queues=((40, "email"), (10, "default")))
    programs.scheduler(places["frontend"])
    shown = ""

    def is_all_shown() -> bool:
        nonlocal shown
        shown = programs.command_line(places["admin"], "status", "show_workers", "show_schedulers")
        return "'available_slots': 2" in shown and "'connected_schedulers': {}" not in shown

    assert wait_for(is_all_shown) is not None, shown
    assert all(name in shown for name in STATUS)
    assert "[[40,'email'],[10,'default']]" in "".join(shown.split())


def test_it_ends_the_broker_in_good_order(start: Start, programs: Programs, tmp_path: Path) -> None:
    """Whoever works is let work to the end, and who waits for that is told."""
    broker = start()
    places, path = endpoints_of(broker), tmp_path / "marks"
    programs.jobmanager(places["backend"])
    client = RealClient(programs, places["frontend"])
    id = client.defer("mark_and_sleep", str(path), "once", 3, reply_requested=True)
    assert wait_for(lambda: marks(path) == ["once"]) is not None
    assert "ACK" in programs.command_line(places["admin"], "shutdown")
    assert client.result(id) == {"value": "once"}
    assert broker.wait() == 0
    assert "Traceback" not in broker.text


def test_it_is_told_so_too_when_a_signal_ends_the_broker(start: Start, programs: Programs) -> None:
    """The broker's end is the same, with peers and without."""
    broker = start()
    places = endpoints_of(broker)
    jobmanager = programs.jobmanager(places["backend"])
    assert wait_for(lambda: "Received ACK" in jobmanager.log) is not None
    broker.signal(signal.SIGTERM)
    assert broker.wait() == 0
    assert jobmanager.process.poll() is None
    assert jobmanager.terminate() == 0
