"""A real broker, a real worker and real clients: jobs are done, and people are told how they ended."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import pytest_twisted
from sample_application import jobs as sample_jobs
from twisted.internet import reactor
from twisted.internet.threads import deferToThread

from fmqbus.client.emqp import EMQPClient, HowFar, JobFailed
from fmqbus.client.emqp_blocking import BlockingEMQPClient
from fmqbus.errors import CallFailed
from tests.cli import commands
from tests.live.broker import PATIENCE_SECONDS, Broker

HERE = "sample_application.jobs"
LISTEN = "emqp:zmq:frontend={}:backend={}:interface=127.0.0.1"


class Places:
    """Where a broker listens."""

    def __init__(self, broker: Broker) -> None:
        said = broker.wait_for(r"eMQP has frontend=(\d+), backend=(\d+)")
        self.frontend, self.backend = int(said[1]), int(said[2])
        self.url = f"emqp://127.0.0.1:{self.frontend}"

    @contextmanager
    def worker(self, *arguments: str) -> Iterator[Broker]:
        """A worker of it, under twistd."""
        where = "--broker", f"tcp://127.0.0.1:{self.backend}", "--app", HERE
        worker = Broker(*where, *arguments, command="fmqbus-worker").launch()
        try:
            worker.wait_for("works for")
            yield worker
        finally:
            worker.stop()

    @asynccontextmanager
    async def client(self) -> AsyncIterator[EMQPClient]:
        """A client of it."""
        client = EMQPClient(self.url, reactor, answer_seconds=PATIENCE_SECONDS)
        client.startService()
        yield client
        await client.stopService()


@pytest.fixture
def places() -> Iterator[Places]:
    """Of a broker that runs."""
    with Broker("--listen", LISTEN.format(0, 0)) as broker:
        yield Places(broker)


@pytest_twisted.ensureDeferred
async def test_a_job_is_done_and_its_end_is_told(places: Places) -> None:
    """By its result, its exception, its time, and while it runs."""
    told: list[HowFar] = []
    with places.worker("--processes", "2"):
        async with places.client() as client:
            client.bind()
            job = await sample_jobs.add.delay(1, second=2)
            assert await job.result(PATIENCE_SECONDS) == 3
            assert await client.call(f"{HERE}:Greeter.greet", ("you",), deadline=PATIENCE_SECONDS) == "hello you"
            await client.call(sample_jobs.report, progressed=told.append, deadline=PATIENCE_SECONDS)
            for job, kind in (("fail", "ValueError"), ("no_json", "TypeError"), ("not_a_job", "LookupError")):
                with pytest.raises(JobFailed) as failed:
                    await client.call(f"{HERE}:{job}", ("x",) if job == "fail" else (), deadline=PATIENCE_SECONDS)
                assert failed.value.kind == kind
            with pytest.raises(JobFailed) as failed:
                await client.call(sample_jobs.wait_for, ("/nowhere",), timeout=1, deadline=PATIENCE_SECONDS)
            assert failed.value.kind == "TimeoutError"
    assert told[0] == HowFar(0.5, "half")


@pytest_twisted.ensureDeferred
async def test_a_job_waits_for_a_worker_and_goes_to_one_that_serves_its_queue(places: Places) -> None:
    """Whoever hands it in is told at once that the broker has it."""
    async with places.client() as client:
        with places.worker("--queues", "email"):
            assert await client.call(sample_jobs.add, (1,), queue="email", deadline=PATIENCE_SECONDS) == 1
        job = await client.submit(sample_jobs.add, (2,), queue="email")
        with pytest.raises(CallFailed):
            await job.result(0.1)
        with places.worker("--queues", "default:10,email:40"):
            assert await job.result(PATIENCE_SECONDS) == 2


@pytest_twisted.ensureDeferred
async def test_a_worker_that_is_stopped_ends_what_it_runs(places: Places, tmp_path: Path) -> None:
    """And its result still arrives."""
    gate = tmp_path / "gate"
    async with places.client() as client:
        with places.worker("--processes", "1") as worker:
            job = await client.submit(sample_jobs.touch_and_wait, (str(tmp_path / "begun"), str(gate)))
            await deferToThread(sample_jobs.wait_for, str(tmp_path / "begun"))
            worker.signal(signal.SIGTERM)
            await deferToThread(worker.wait_for, "says goodbye")
            gate.touch()
            assert await job.result(PATIENCE_SECONDS) is True
            assert worker.wait() == 0


@pytest_twisted.ensureDeferred
async def test_a_worker_comes_back_to_a_broker_that_was_killed(tmp_path: Path) -> None:
    """By its silence; clients need do nothing."""
    with Broker("--listen", LISTEN.format(0, 0)) as broker:
        places = Places(broker)
        with places.worker() as worker:
            async with places.client() as client:
                assert await client.call(sample_jobs.add, (1,), deadline=PATIENCE_SECONDS) == 1
                broker.signal(signal.SIGKILL)
                broker.wait()
                with Broker("--listen", LISTEN.format(places.frontend, places.backend)):
                    await deferToThread(worker.wait_for, "informs the broker anew")
                    assert await client.call(sample_jobs.add, (2,)) == 2


def test_scripts_and_shells_have_jobs_done_too(places: Places, tmp_path: Path) -> None:
    """The client that blocks, and the commands."""
    work = commands.start("work", "--broker", f"tcp://127.0.0.1:{places.backend}", "--app", HERE, "--processes", "1")
    with BlockingEMQPClient(places.url, answer_seconds=PATIENCE_SECONDS) as client:
        assert client.submit(sample_jobs.add, (1, 2)).get(timeout=PATIENCE_SECONDS) == 3

    def enqueue(*words: str) -> commands.Ended:
        return commands.run("enqueue", "--broker", places.url, *words)

    ended = enqueue("--wait", f"{HERE}:add", "1", "--kwarg", "second=2")
    assert (ended.code, ended.output) == (0, b"3\n"), ended.errors
    ended = enqueue("--wait", f"{HERE}:fail", "grüße")
    assert (ended.code, ended.output) == (1, b"")
    assert "ValueError: grüße" in ended.errors.decode()
    ended = enqueue(f"{HERE}:add", "1")
    assert ended.code == 0
    assert len(ended.lines[0]) == 36
    ended = enqueue("--wait", "--deadline", "0.2", f"{HERE}:wait_for", str(tmp_path / "never"), "--timeout", "1")
    assert ended.code == 4
    assert enqueue("nonsense").code == 1
    work.send_signal(signal.SIGTERM)
    assert commands.Ended(work).code == 130
