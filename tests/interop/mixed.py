"""EventMQ's client with our worker, our clients with EventMQ's, and both of ours with EventMQ's broker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest_twisted
from twisted.internet import reactor

import fmqbus
from fmqbus.client.emqp import EMQPClient
from fmqbus.client.emqp_blocking import BlockingEMQPClient
from fmqbus.errors import CallFailed
from tests.interop.places import RealClient, endpoints_of
from tests.interop.programs import JOBS_MODULE, Programs, free_endpoints, marks, wait_for
from tests.live.broker import Broker

Start = Callable[..., Broker]

_JOBS = """
from fmqbus.worker import job

@job
def add(one, two):
    return one + two

@job
def mark(path, token):
    with open(path, "a") as file:
        file.write(token + "\\n")

@job
def fail():
    raise KeyError("nothing")
"""


@contextmanager
def our_worker(folder: Path, backend: str) -> Iterator[subprocess.Popen[str]]:
    """``fmqbus work`` for these jobs."""
    (folder / "our_jobs.py").write_text(_JOBS)
    path = os.pathsep.join([str(Path(fmqbus.__file__).parents[1]), str(folder)])
    command = [sys.executable, "-c", "from fmqbus.cli.main import main; main()", "work"]
    with subprocess.Popen(
        [*command, "--broker", backend, "--app", "our_jobs", "--processes", "2"],
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
        text=True,
    ) as worker:
        try:
            yield worker
        finally:
            worker.terminate()
            _, told = worker.communicate(timeout=60)
    assert worker.returncode in (0, 130, 143), told


def test_eventmqs_client_has_its_jobs_done_by_our_worker(start: Start, programs: Programs, tmp_path: Path) -> None:
    """Results, exceptions, and jobs that nobody has registered, which are not run."""
    places = endpoints_of(start())
    with our_worker(tmp_path, places["backend"]):
        client = RealClient(programs, places["frontend"])
        id = client.defer("add", 1, 2, module="our_jobs", reply_requested=True)
        assert client.result(id) == {"value": 3}
        id = client.defer("fail", module="our_jobs", reply_requested=True)
        assert "nothing" in client.result(id)["value"]
        id = client.defer("system", "touch owned", module="os", reply_requested=True)
        assert "error" in client.result(id)
        assert not Path("owned").exists()
        ids = [client.defer("add", number, 0, module="our_jobs", reply_requested=True) for number in range(50)]
        assert wait_for(lambda: len(client.heard) >= 2 * len(ids)) is not None
        assert [client.result(id) for id in ids] == [{"value": number} for number in range(50)]


def test_our_blocking_client_has_its_jobs_done_by_eventmqs_worker(
    start: Start, programs: Programs, tmp_path: Path
) -> None:
    """At once and at set times. An exception is a text to it, as EventMQ has no other word."""
    places, path = endpoints_of(start()), tmp_path / "marks"
    programs.jobmanager(places["backend"])
    with BlockingEMQPClient(places["frontend"].replace("tcp", "emqp")) as client:
        mark = f"{JOBS_MODULE}:mark"
        assert client.call(mark, (str(path), "first"), deadline=60) == "first"
        jobs = [client.submit(mark, (str(path), f"n{number}"), reply=True) for number in range(50)]
        assert [job.get(60) for job in jobs] == [f"n{number}" for number in range(50)]
        assert sorted(marks(path)) == sorted(["first", *(f"n{number}" for number in range(50))])
        assert "no-such-module" in client.call("no-such-module:mark", deadline=60)
        ticks = tmp_path / "ticks"
        client.schedule(mark, (str(ticks), "tick"), every=1)
        assert wait_for(lambda: len(marks(ticks)) >= 3) is not None
        client.unschedule(mark, (str(ticks), "tick"))


@pytest_twisted.ensureDeferred
async def test_our_client_has_its_jobs_done_by_eventmqs_worker(
    start: Start, programs: Programs, tmp_path: Path
) -> None:
    """The same for Twisted."""
    places, path = endpoints_of(start()), tmp_path / "marks"
    programs.jobmanager(places["backend"])
    client = EMQPClient(places["frontend"].replace("tcp", "emqp"), reactor)
    client.startService()
    jobs = [await client.submit(f"{JOBS_MODULE}:mark", (str(path), f"n{n}"), reply=True) for n in range(20)]
    assert [await job.result(60) for job in jobs] == [f"n{n}" for n in range(20)]
    await client.stopService()


def test_our_client_and_our_worker_get_along_with_eventmqs_broker(programs: Programs, tmp_path: Path) -> None:
    """It tells no results, and takes a job for accepted only if it can give it to somebody at once."""
    places, path = free_endpoints(), tmp_path / "marks"
    programs.broker(places)
    target = places["frontend"].replace("tcp", "emqp")
    tokens = [f"n{number}" for number in range(20)]
    with our_worker(tmp_path, places["backend"]), BlockingEMQPClient(target, answer_seconds=0.5) as client:

        def has_started() -> bool:
            with suppress(CallFailed):
                client.submit("our_jobs:mark", (str(path), "first"), reply=False)
            return "first" in marks(path)

        assert wait_for(has_started) is not None
        for token in tokens:
            with suppress(CallFailed):
                client.submit("our_jobs:mark", (str(path), token), reply=False)
        assert wait_for(lambda: set(tokens) <= set(marks(path))) is not None
    assert all(marks(path).count(token) == 1 for token in tokens)
