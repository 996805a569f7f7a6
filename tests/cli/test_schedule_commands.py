"""The commands for schedules against a real bus, as a script would use them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from fmqbus.protocols.emqp.jobs import Job, parse_job
from tests.cli.commands import Ended, run, start
from tests.live.broker import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """A bus for all tests of this file, which use queues and keys of their own."""
    with Broker(
        "--listen", "fmqp:tcp:0:interface=127.0.0.1", "--listen", "micromsg2:tcp:0:interface=127.0.0.1"
    ) as broker:
        yield broker


@pytest.fixture
def url(broker: Broker) -> str:
    """Where it speaks MicroMsg2."""
    return f"micromsg2://127.0.0.1:{broker.port_of('micromsg2')}"


@pytest.fixture
def fmqp_url(broker: Broker) -> str:
    """Where it speaks FMQP."""
    return f"fmqp://127.0.0.1:{broker.port_of('fmqp')}"


def test_what_is_added_comes_into_the_queue_until_it_is_removed(url: str) -> None:
    """At once, and then at each interval."""
    added = run("schedule", "add", "ticks", "tick", "--every", "1", "--key", "tick", url=url)
    assert (added.lines, added.errors, added.code) == (["tick"], b"", 0)
    assert run("consume", "ticks", "--count", "3", url=url).lines == ["tick"] * 3
    removed = run("schedule", "remove", "tick", url=url)
    assert (removed.lines, removed.errors, removed.code) == ([], b"", 0)
    assert run("schedule", "list", "ticks", url=url).lines == []


def test_schedules_are_looked_after_over_any_protocol(url: str, fmqp_url: str) -> None:
    """All of it goes by topics."""
    words = ("--cron", "0 3 1 1 *", "--zone", "Europe/Stockholm", "--nohaste", "--runs", "5", "--missed", "skip")
    assert run("schedule", "add", fmqp_url, "reports", "\x1b[2J", "--key", "new year", *words).lines == ["new year"]
    (line,) = run("schedule", "list", fmqp_url, "reports").lines
    key, queue, when, following, left, runs, failed = line.split("\t")
    assert (key, queue, when) == ("new year", "reports", "0 3 1 1 * Europe/Stockholm")
    assert following.endswith("-01-01 03:00:00+01:00")
    assert (left, runs, failed) == ("5", "0", "0")
    (listed,) = run("schedule", "list", "--json", fmqp_url, "reports").lines
    assert json.loads(listed)["cron"] == "0 3 1 1 *"
    assert r"text \x1b[2J" in run("schedule", "show", "new year", url=url).lines
    assert run("schedule", "edit", "new year", "--every", "3600", "--runs", "2", "--pause", url=url).code == 0
    assert "every 3600 s\tpaused\t2" in run("schedule", "list", "reports", url=url).lines[0]
    assert run("schedule", "run", "new year", url=url).code == 0
    assert run("schedule", "edit", "new year", "--resume", "--every", "1", url=url).code == 0
    assert len(run("consume", "reports", "--count", "3", url=url).lines) == 3
    gone = run("schedule", "show", "new year", url=url)
    assert (gone.code, gone.errors) == (1, b"Error: there is no such schedule\n")


def test_a_job_is_as_workers_take_it_and_known_by_emqps_key(url: str) -> None:
    """So that a client of eMQP can end it."""
    words = ("--job", "shop.jobs:Mail.send", "--args", '["all"]', "--kwargs", '{"at": 3}')
    (key,) = run("schedule", "add", "mails", *words, "--every", "3600", url=url).lines
    job = Job("shop.jobs:Mail", "send", ["all"], {"at": 3})
    assert key == job.key
    (body,) = run("consume", "mails", "--count", "1", url=url).lines
    assert parse_job(body.encode()) == job


def test_a_topic_is_published_on(url: str, fmqp_url: str) -> None:
    """What it retains late subscribers have."""
    words = ("schedule", "add", "news/a", "--topic", "hello", "--every", "3600", "--retain")
    assert run(*words, url=url).code == 0
    subscriber = start("sub", fmqp_url, "news/a", "--count", "1")
    assert Ended(subscriber).lines == ["news/a hello"]
    assert len(run("schedule", "list", "news/a", "--topic", url=url).lines) == 1


def test_what_the_bus_does_not_take_is_told_in_its_words(url: str) -> None:
    """With the exit code of a failure."""
    ended = run("schedule", "add", "q", "x", "--cron", "0 0 31 2 *", url=url)
    assert (ended.code, ended.output) == (1, b"")
    assert b"0 0 31 2 *" in ended.errors
