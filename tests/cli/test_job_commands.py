"""The commands for jobs against a real broker of eMQP, as an operator would use them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.cli.commands import Ended, run
from tests.live.broker import Broker
from tests.live.emqp_peers import LISTEN, Place, body_of


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A broker for all tests of this file, which use queues of their own."""
    with Broker("--listen", "micromsg2:tcp:0:interface=127.0.0.1", "--listen", LISTEN) as broker:
        yield broker


@pytest.fixture
def url(broker: Broker) -> str:
    """Where it speaks MicroMsg2: jobs are looked after over any protocol."""
    return f"micromsg2://127.0.0.1:{broker.port_of('micromsg2')}"


@pytest.fixture
def place(broker: Broker) -> Iterator[Place]:
    """Where clients and workers of it come from."""
    with Place(broker) as place:
        yield place


def listed(ended: Ended) -> list[list[str]]:
    """Of each job that is printed: state, id, job, arguments, attempts."""
    assert (ended.code, ended.errors) == (0, b"")
    return [line.split("\t")[1:6] for line in ended.lines]


def numbers(queue: str, url: str) -> list[str]:
    """Those of the jobs that are listed."""
    return [line.split("\t")[0] for line in run("job", "list", queue, url=url).lines]


def test_a_job_is_seen_from_its_request_to_its_end(place: Place, url: str) -> None:
    """One runs, one is cancelled, one waits; what fails is tried again."""
    client, worker = place.client(), place.worker().inform([(10, "mails")])

    def command(*words: str) -> Ended:
        worker.say("HEARTBEAT")  # else it is lost, where commands are slow
        return run(*words, url=url)

    for name in ("first", "second", "third"):
        body = body_of("send", name, path="shop.jobs", at=3)
        client.submit("mails", body, "reply-requested,timeout:600", name.encode())
    assert command("send", "mails", "three apples").code == 0
    job = worker.ready().job()
    assert job[1] == b"first"

    everything = command("job", "list", "mails")
    assert listed(everything) == [
        ["running", "first", "shop.jobs:send", '"first", at=3', "1"],
        ["waiting", "second", "shop.jobs:send", '"second", at=3', "0"],
        ["waiting", "third", "shop.jobs:send", '"third", at=3', "0"],
        ["waiting", "-", "(the body is no JSON: Expecting value: line 1 column 1 (char 0))", "-", "0"],
    ]
    first, _, _, apples = [line.split("\t")[0] for line in everything.lines]
    assert len(command("job", "list", "mails", "--waiting", "--count", "2").lines) == 2
    (held,) = command("queue", "peek", "mails", "--held").lines
    assert (held.split("\t")[2], held.split("\t")[4]) == ("1", everything.lines[0].split("\t")[6])
    shown = json.loads(command("job", "show", "mails", "--id", "first", "--json").output)
    assert (shown["headers"], shown["client"].split()[0]) == ("reply-requested,timeout:600", "frontend")
    assert shown["since"] is not None
    assert 'kwargs {"at": 3}' in command("job", "show", "mails", first).lines

    refused = command("job", "cancel", "mails", first)
    assert (refused.code, refused.lines) == (1, ["0"])
    assert b"running, and eMQP has no word that stops a job" in refused.errors
    assert command("job", "cancel", "mails", "--id", "second").lines == ["1"]
    again = command("job", "cancel", "mails", "--id", "second")
    assert (again.code, again.errors) == (1, b"Error: there is no such job in this queue\n")
    assert command("queue", "remove", "mails", apples).lines == ["1"]

    worker.reply(job, b'{"value": "no such customer", "error": "KeyError"}')
    assert client.result(b"first")["error"] == "KeyError"
    assert command("job", "list", "mails", "--running").lines == []
    letter = json.loads(command("job", "list", "mails", "--failed", "--json").output)
    assert (letter["queue"], letter["from"], letter["id"], letter["state"]) == ("dead", "mails", "first", "failed")
    assert letter["detail"] == "job-failed"
    assert len(command("job", "list", "dead", "--failed").lines) == 1

    assert command("job", "retry", "dead", str(letter["number"])).lines == ["1"]
    for name in (b"third", b"first"):
        worker.reply(worker.ready().job(), True)
        assert client.result(name) == {"value": True}
    assert run("job", "list", "mails", url=url).lines == []


def test_what_is_no_dead_letter_is_not_retried(url: str) -> None:
    """It fails, and says why; so does what is not there."""
    assert run("send", "fresh", "x", url=url).code == 0
    (number,) = numbers("fresh", url)
    ended = run("job", "retry", "fresh", number, "999", "--json", url=url)
    assert json.loads(ended.output) == {"requeued": 0, "held": [], "stayed": [int(number)], "missing": [999]}
    assert ended.code == 1
    assert b"it has not failed" in ended.errors
    assert b"999: not there" in ended.errors
    assert run("queue", "requeue", "fresh", "--number", number, url=url).code == 1


def test_an_id_that_several_jobs_have_names_none_of_them(place: Place, url: str) -> None:
    """Some clients give all their jobs the same."""
    client = place.client()
    for _ in range(2):
        client.submit("default", body_of("send"), id=b"uuid")
    ended = run("job", "cancel", "default", "--id", "uuid", url=url)
    assert ended.code == 1
    assert b"several jobs have this id" in ended.errors
    assert len(numbers("default", url)) == 2
