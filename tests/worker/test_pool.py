"""Do jobs run in processes of their own, and what can they not do to the worker?"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from fmqbus.errors import Overloaded
from fmqbus.waiting import Waiters
from fmqbus.worker.messages import Progress, Run
from fmqbus.worker.outcome import Ending, Outcome
from fmqbus.worker.pool import Pool
from fmqbus.worker.settings import PoolSettings

HERE = "sample_application.jobs"
Start = Callable[..., "Started"]


class Started:
    """A pool that runs, and a way to wait for a free place."""

    def __init__(self, **settings: Any) -> None:
        chosen = {"modules": [HERE], "processes": 1, "grace_seconds": 10.0, **settings}
        self._ready = Waiters()
        self.times_ready = 0
        self.pool = Pool(reactor, PoolSettings(**chosen), self._is_ready)
        self.pool.startService()

    def _is_ready(self) -> None:
        self.times_ready += 1
        self._ready.fire()

    async def free(self) -> None:
        """Wait until a job can be given."""
        while not self.pool.free:
            await self._ready.wait()

    async def run(self, callable: str, *args: Any, timeout: float | None = None, **more: Any) -> Outcome:
        """Run a job of the sample module and wait for its end."""
        await self.free()
        run = Run(more.pop("path", HERE), callable, args, **more)
        return await self.pool.run(run, timeout)


@pytest_twisted.async_yield_fixture
async def start() -> AsyncIterator[Start]:
    """Starts pools, and stops them in the end."""
    started: list[Started] = []

    def make(**settings: Any) -> Started:
        started.append(Started(**settings))
        return started[-1]

    yield make
    for each in started:
        if each.pool.running:
            await each.pool.stopService()


@pytest_twisted.ensureDeferred
async def test_a_job_returns_json_or_raises(start: Start) -> None:
    """Both are told, with what people need to know."""
    pool = start()
    assert await pool.run("add", 1, kwargs={"second": 2}) == Outcome(Ending.DONE, b"3")
    assert (await pool.run("greet", "you", path=f"{HERE}:Greeter", class_args=["hi"])).value == b'"hi you"'
    raised = await pool.run("fail", "grüße")
    assert (raised.ending, raised.kind, raised.text) == (Ending.RAISED, "ValueError", "grüße")
    assert "jobs.py" in raised.traceback
    assert (await pool.run("no_json")).kind == "TypeError"


@pytest_twisted.ensureDeferred
@pytest.mark.parametrize(("path", "callable"), [("os", "system"), (HERE, "not_a_job"), (f"{HERE}:Greeter", "__init__")])
async def test_what_is_no_job_is_not_run(start: Start, path: str, callable: str) -> None:
    """Whatever the message says; nothing is imported for it. (reading 30)"""
    outcome = await start().run(callable, "true", path=path)
    assert (outcome.ending, outcome.kind) == (Ending.RAISED, "LookupError")


@pytest_twisted.ensureDeferred
async def test_a_job_that_takes_too_long_is_killed_with_all_it_has_started(start: Start, tmp_path: Path) -> None:
    """By the time of the job, of the caller or of the settings; the next job has a new process. (eMQP, Headers)"""
    marker = tmp_path / "marker"
    pool = start(timeout=0.4)
    outcome = await pool.run("hang", str(marker))
    assert outcome.ending is Ending.TIMED_OUT
    assert (await pool.run("add", 1)).value == b"1"
    assert (await pool.run("wait_for", str(marker), timeout=0.2)).ending is Ending.TIMED_OUT
    await deferLater(reactor, 2.0)  # type: ignore[arg-type]
    assert not marker.exists()


@pytest_twisted.ensureDeferred
async def test_a_job_has_the_time_that_it_says_itself_unless_the_caller_says_more(start: Start, tmp_path: Path) -> None:
    """`hang` says 0.3 s; the settings are for those that say nothing."""
    outcome = await start(timeout=60.0).run("hang", str(tmp_path / "marker"))
    assert (outcome.ending, outcome.kind) == (Ending.TIMED_OUT, "TimeoutError")
    assert "0.3 s" in outcome.text
    outcome = await start(timeout=60.0).run("hang", str(tmp_path / "marker"), timeout=0.1)
    assert "0.1 s" in outcome.text


@pytest_twisted.ensureDeferred
async def test_a_job_that_ends_its_process_is_told_and_the_process_replaced(start: Start) -> None:
    """By itself or from outside."""
    pool = start()
    outcome = await pool.run("die")
    assert outcome.ending is Ending.DIED
    assert "exit code 7" in outcome.text
    pid = int((await pool.run("report")).value)
    await pool.free()
    os.kill(pid, signal.SIGKILL)
    while (outcome := await pool.run("report")).ending is not Ending.DONE:
        pass
    assert int(outcome.value) != pid


@pytest_twisted.ensureDeferred
async def test_progress_is_told_while_the_job_runs(start: Start) -> None:
    """Within its bounds."""
    pool = start()
    await pool.free()
    told: list[Progress] = []
    await pool.pool.run(Run(HERE, "report"), None, told.append)
    assert told == [Progress(0.5, "half"), Progress(1.0, "")]


@pytest_twisted.ensureDeferred
async def test_a_job_can_print_and_has_nothing_to_read(start: Start, capfd: pytest.CaptureFixture[str]) -> None:
    """It shares no channel with the pool."""
    assert (await start().run("mess", 1)).value == b'"x"'
    assert "a job prints" in capfd.readouterr().out


@pytest_twisted.ensureDeferred
async def test_an_answer_beyond_the_bounds_is_a_failure(start: Start) -> None:
    """The worker does not fill its memory with it."""
    pool = start(answer_octets=100_000)
    outcome = await pool.run("mess", 10_000_000)
    assert (outcome.ending, outcome.text) == (Ending.RAISED, "what it returned is too large")
    assert (await pool.run("mess", 1)).value == b'"x"'


@pytest_twisted.ensureDeferred
@pytest.mark.parametrize("settings", [{"jobs_per_process": 2}, {"process_octets": 1}])
async def test_a_process_that_has_done_enough_is_replaced(start: Start, settings: dict[str, int]) -> None:
    """After so many jobs, or when it has grown so large."""
    pool = start(**settings)
    pids = [int((await pool.run("report")).value) for _ in range(4)]
    jobs = settings.get("jobs_per_process", 1)
    assert [pids.count(pid) for pid in dict.fromkeys(pids)] == [jobs] * (4 // jobs)


@pytest_twisted.ensureDeferred
async def test_jobs_run_side_by_side_and_no_more_than_there_are_processes(start: Start, tmp_path: Path) -> None:
    """A further one is refused: whoever gives jobs waits until a place is free."""
    pool = start(processes=2)
    gate = tmp_path / "gate"
    waiting: list[Deferred[Outcome]] = []
    for _ in range(2):
        await pool.free()
        waiting.append(pool.pool.run(Run(HERE, "wait_for", [str(gate)])))
    assert (pool.pool.free, pool.pool.busy) == (0, 2)
    with pytest.raises(Overloaded):
        pool.pool.run(Run(HERE, "add", [1]))
    gate.touch()
    for each in waiting:
        assert (await each).value == b"true"


@pytest_twisted.ensureDeferred
async def test_stopping_waits_for_what_runs(start: Start, tmp_path: Path) -> None:
    """But gives out nothing more."""
    pool = start()
    gate = tmp_path / "gate"
    await pool.free()
    running = pool.pool.run(Run(HERE, "wait_for", [str(gate)]))
    stopped = pool.pool.stopService()
    assert not stopped.called
    gate.touch()
    assert (await running).ending is Ending.DONE
    await stopped
    assert (pool.pool.free, pool.pool.busy) == (0, 0)


@pytest_twisted.ensureDeferred
async def test_stopping_does_not_wait_for_ever(start: Start, tmp_path: Path) -> None:
    """What still runs by then is given up, through no fault of its own."""
    pool = start(grace_seconds=0.1)
    await pool.free()
    running = pool.pool.run(Run(HERE, "wait_for", [str(tmp_path / "never")]))
    await pool.pool.stopService()
    assert (await running).ending is Ending.GIVEN_UP


@pytest_twisted.ensureDeferred
@pytest.mark.parametrize("settings", [{"modules": ["no.such.module"]}, {"allowed": ["math:nothing"]}])
async def test_a_module_that_cannot_be_loaded_is_tried_again_later_and_later(
    start: Start, settings: dict[str, list[str]], capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing can be given meanwhile."""
    pool = start(**settings)
    while "Error" not in capfd.readouterr().err:
        await deferLater(reactor, 0.05)  # type: ignore[arg-type]
    assert pool.pool.free == 0
    await pool.pool.stopService()
    assert pool.times_ready == 0
