"""EventMQ's client with our worker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import fmqbus
from tests.interop.places import RealClient, endpoints_of
from tests.interop.programs import Programs, wait_for
from tests.live.broker import Broker

Start = Callable[..., Broker]

_JOBS = """
from fmqbus.worker import job

@job
def add(one, two):
    return one + two

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
        yield worker
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
