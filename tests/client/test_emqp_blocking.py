"""Does the client that blocks wait for what it should, from any thread and after a fork, and no longer?"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fmqbus
from fmqbus import job_functions
from fmqbus.client.emqp_blocking import BlockingEMQPClient, HowFar, JobFailed, SubmittedJob
from fmqbus.errors import CallFailed, Detached, InvalidName, LocalError, Overloaded
from fmqbus.limits import Limits
from fmqbus.protocols.emqp.commands import Ack, Command, Progress, Publish, Reply, Request, Schedule, Unschedule
from tests.client import emqp_jobs
from tests.client.emqp_router import Router


@pytest.fixture
def router() -> Iterator[Router]:
    """Accepts all, and returns 3."""
    with Router() as router:
        yield router


@pytest.fixture
def client(router: Router) -> Iterator[BlockingEMQPClient]:
    """A client of it that all jobs are bound to."""
    with BlockingEMQPClient(router.url) as client:
        client.bind()
        yield client
    job_functions.bind(None)


def silent(command: Command) -> Iterator[Command]:
    """Says nothing."""
    yield from ()


def test_delay_and_get(client: BlockingEMQPClient, router: Router) -> None:
    """As the users of EventMQ, Celery and rq know them."""
    job = emqp_jobs.add.delay(1, second=2)
    assert isinstance(job, SubmittedJob)
    assert job.get(timeout=30) == 3
    assert job.get() == 3, "it is kept"
    (request,) = router.commands
    assert request.message_id.decode() == job.id


def test_handing_in_waits_for_the_broker_and_no_longer(client: BlockingEMQPClient, router: Router) -> None:
    """EventMQ's says REPLY. The result may come later, or never."""
    router.answer = lambda command: [Reply(b"a", command.message_id)]
    job = client.submit(emqp_jobs.add, (1,))
    with pytest.raises(CallFailed, match="may still be done") as failed:
        job.get(timeout=0.1)
    assert failed.value.reason == "expired"


def test_a_broker_that_says_nothing_is_waited_for_so_long(router: Router) -> None:
    """One that is not there too: ZeroMQ does not tell the two apart."""
    router.answer = silent
    for url in (router.url, "emqp://127.0.0.1:1"):
        with BlockingEMQPClient(url, answer_seconds=0.1, limits=Limits(linger_seconds=0.1)) as client:
            with pytest.raises(CallFailed, match="may still be done"):
                client.submit(emqp_jobs.add)
            with pytest.raises(CallFailed):
                client.schedule(emqp_jobs.add, every=5)


def test_failures_have_the_class_of_the_exception(client: BlockingEMQPClient, router: Router) -> None:
    """A refusal is one of handing in."""
    body = b'{"value": "no", "error": "ValueError"}'
    router.answer = lambda command: [Ack(b"a", command.message_id), Reply(b"r", body, command.message_id)]
    job = client.submit(emqp_jobs.add)
    with pytest.raises(JobFailed, match="ValueError: no"):
        job.get()
    router.answer = lambda command: [Reply(b"r", body, command.message_id)]
    with pytest.raises(JobFailed, match="ValueError: no"):
        client.submit(emqp_jobs.add)


def test_what_cannot_be_said_is_refused_before_it_is(client: BlockingEMQPClient, router: Router) -> None:
    """As by the client for Twisted."""
    with pytest.raises(InvalidName):
        client.submit(emqp_jobs.add, queue="*")
    with pytest.raises(LocalError):
        client.submit("nonsense")
    with pytest.raises(LocalError):
        emqp_jobs.send.delay("x").get()
    with pytest.raises(LocalError):
        BlockingEMQPClient("nonsense")
    assert len(router.commands) == 1


def test_progress_is_told_to_whoever_waits(client: BlockingEMQPClient, router: Router) -> None:
    """In its thread."""

    def answer(command: Any) -> Iterator[Command]:
        yield Ack(b"a", command.message_id)
        yield Progress(b"p", b'{"fraction": 0.5, "note": "half"}', command.message_id)
        yield Reply(b"r", b'{"value": 3}', command.message_id)

    router.answer = answer
    told: list[tuple[HowFar, int]] = []
    assert client.call(emqp_jobs.add, progressed=lambda far: told.append((far, threading.get_ident()))) == 3
    assert told == [(HowFar(0.5, "half"), threading.get_ident())]


def test_schedules_and_publications(client: BlockingEMQPClient, router: Router) -> None:
    """Only a schedule is answered, by brokers of ours."""
    client.schedule(emqp_jobs.add, (1,), every=5)
    client.schedule(emqp_jobs.add, (1,), cron="* * * * *", confirm=False)
    client.unschedule(emqp_jobs.add, (1,))
    client.publish("a.b", b"x")
    kinds = [type(command) for command in router.wait(4)]
    assert kinds == [Schedule, Schedule, Unschedule, Publish]


def test_each_thread_has_a_socket_of_its_own(client: BlockingEMQPClient, router: Router) -> None:
    """And all get their results."""
    results: list[int] = []

    def work() -> None:
        results.extend(emqp_jobs.add.delay(number).get(timeout=30) for number in range(20))

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [3] * 100
    assert len({identity for identity, _ in router.heard}) == 5


def test_another_thread_may_wait_while_this_one_goes_on(client: BlockingEMQPClient, router: Router) -> None:
    """Whoever reads hands out what comes for others too."""
    requests: list[Request] = []

    def answer(command: Any) -> Iterator[Command]:
        """The first result comes with the last acceptance."""
        requests.append(command)
        yield Ack(b"a", command.message_id)
        if len(requests) == 10:
            yield Reply(b"r", b'{"value": 3}', requests[0].message_id)

    router.answer = answer
    job = client.submit(emqp_jobs.add)
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(job.get(timeout=30)))
    thread.start()
    for _ in range(9):
        client.submit(emqp_jobs.add)
    thread.join()
    assert results == [3]


@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_after_a_fork_the_child_has_sockets_of_its_own(client: BlockingEMQPClient, router: Router) -> None:
    """And cannot wait for what its parent has asked for."""
    router.answer = lambda command: [Ack(b"a", command.message_id)]
    parents = client.submit(emqp_jobs.add)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            client.submit(emqp_jobs.add)
            gc.collect()
            with pytest.raises(Detached):
                parents.get(timeout=1)
            client.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    client.submit(emqp_jobs.add)
    identities = [identity for identity, _ in router.heard]
    assert identities[0] == identities[2] != identities[1]


def test_a_client_that_was_closed_can_be_used_again(client: BlockingEMQPClient, router: Router) -> None:
    """As another; closing twice does no harm."""
    client.submit(emqp_jobs.add)
    client.close()
    client.close()
    client.submit(emqp_jobs.add)
    assert len({identity for identity, _ in router.heard}) == 2


def test_what_waits_on_a_closed_client_is_told(client: BlockingEMQPClient, router: Router) -> None:
    """Nothing can come any more."""
    router.answer = lambda command: [Ack(b"a", command.message_id)]
    job = client.submit(emqp_jobs.add)
    client.close()
    with pytest.raises(Detached):
        job.get(timeout=30)


def test_what_waits_to_be_sent_is_bounded() -> None:
    """By messages: ZeroMQ counts nothing else."""
    limits = Limits(socket_messages=10, linger_seconds=0.1)
    with BlockingEMQPClient("emqp://127.0.0.1:1", limits=limits) as client, pytest.raises(Overloaded):
        for _ in range(100):
            client.publish("a", b"x")


def test_a_script_that_ends_has_sent_what_it_said(router: Router) -> None:
    """Though it closes nothing; and it needs no Twisted."""
    script = (
        "import sys\n"
        "from fmqbus.client.emqp_blocking import BlockingEMQPClient\n"
        "client = BlockingEMQPClient(sys.argv[1])\n"
        "client.publish('a.b', b'x' * 100_000)\n"
        "assert 'twisted' not in sys.modules\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(fmqbus.__file__).parents[1])}
    subprocess.run([sys.executable, "-c", script, router.url], env=environment, check=True, timeout=60)
    (published,) = router.wait(1)
    assert isinstance(published, Publish)
    assert len(published.body) == 100_000
