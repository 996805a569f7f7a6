"""What is said to have a job done?"""

from __future__ import annotations

from typing import Any

import pytest

from fmqbus.client.emqp_words import Call, request, schedule, unschedule
from fmqbus.errors import InvalidName, LocalError
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.emqp.codec import decode, encode
from fmqbus.protocols.emqp.commands import Command
from fmqbus.protocols.emqp.jobs import Job, parse_job
from tests.client import emqp_jobs

HERE = "tests.client.emqp_jobs"


def said(call: Call, *, is_progress_wanted: bool = False, **chosen: Any) -> Any:
    """The REQUEST."""
    return request(call, call.options(**chosen), is_progress_wanted=is_progress_wanted, limits=DEFAULT_LIMITS)


def test_a_function_is_asked_for_by_its_name() -> None:
    """As EventMQ's workers look for it, and as its decorator says."""
    command = said(Call(emqp_jobs.add, (1,), {"second": 2}))
    assert (command.queue, command.headers) == (b"default", b"reply-requested")
    assert parse_job(command.body) == Job(HERE, "add", [1], {"second": 2})
    command = said(Call(emqp_jobs.send, ("x",)))
    assert (command.queue, command.headers) == (b"email", b"guarantee,retry-count:3,timeout:3")


def test_what_is_said_here_comes_before_the_decorator() -> None:
    """Also 0, which is without limit."""
    command = said(
        Call(emqp_jobs.send, ("x",)),
        queue="other",
        timeout=0,
        retry_count=0,
        guarantee=False,
        reply=True,
        is_progress_wanted=True,
    )
    assert (command.queue, command.headers) == (b"other", b"reply-requested,timeout:0,progress")


@pytest.mark.parametrize("what", [f"{HERE}:plain", emqp_jobs.plain])
def test_what_is_not_decorated_has_a_name_too(what: Any) -> None:
    """Workers have lists of what else they may run."""
    assert parse_job(said(Call(what)).body) == Job(HERE, "plain")


@pytest.mark.parametrize(
    ("what", "args"),
    [
        ("nonsense", ()),
        (lambda: None, ()),
        ("__main__:f", ()),
        (emqp_jobs.add, (object(),)),
        (emqp_jobs.add, (b"octets",)),
    ],
)
def test_what_no_worker_could_run_is_refused_here(what: Any, args: tuple[Any, ...]) -> None:
    """Where it is clear who is wrong."""
    with pytest.raises(LocalError):
        Call(what, args)


@pytest.mark.parametrize("chosen", [{"retry_count": -1}, {"retry_count": 10_000}, {"timeout": -1}, {"timeout": 1e12}])
def test_headers_that_no_broker_takes_are_refused_here(chosen: dict[str, float]) -> None:
    """So is a job that is too large."""
    with pytest.raises(LocalError):
        said(Call(emqp_jobs.add), **chosen)
    call = Call(emqp_jobs.add, ("x" * 1000,))
    with pytest.raises(LocalError):
        request(call, call.options(), is_progress_wanted=False, limits=Limits(body_octets=100))


def test_what_is_no_queue_is_refused_here() -> None:
    """By the bus's rules for names."""
    with pytest.raises(InvalidName):
        said(Call(emqp_jobs.add), queue="*")


def planned(**options: Any) -> Any:
    """The SCHEDULE."""
    plan = {"every": None, "cron": None, "nohaste": False, "run_count": None, "is_answer_wanted": False, **options}
    call = Call(emqp_jobs.send, ("x",))
    return schedule(call, call.options(), limits=DEFAULT_LIMITS, **plan)


def test_a_schedule_has_an_interval_or_a_cron_expression() -> None:
    """In EventMQ's dialect; half seconds are rounded up."""
    command = planned(every=1.5, nohaste=True, run_count=2)
    assert (command.interval, command.cron) == (b"2", b"")
    assert command.headers == b"guarantee,nohaste,retry-count:3,timeout:3,run_count:2"
    command = planned(cron="0,30 * * * *", is_answer_wanted=True)
    assert (command.interval, command.cron) == (b"-1", b"0,30 * * * *")
    assert command.headers.startswith(b"reply-requested,")


@pytest.mark.parametrize("options", [{}, {"every": 1, "cron": "* * * * *"}, {"every": 0}, {"every": 1, "run_count": 0}])
def test_what_is_no_plan_is_refused_here(options: dict[str, Any]) -> None:
    """One of the two has to be said."""
    with pytest.raises(LocalError):
        planned(**options)


def test_the_same_call_is_what_is_unscheduled() -> None:
    """Nothing else counts (section 3)."""
    command = unschedule(Call(emqp_jobs.send, ("x",)))
    assert parse_job(command.body).key == parse_job(planned(every=5).body).key


@pytest.mark.parametrize("command", [said(Call(emqp_jobs.add)), planned(every=5), unschedule(Call(emqp_jobs.add))])
def test_all_of_it_can_be_read(command: Command) -> None:
    """As it was meant."""
    assert decode(encode(command), DEFAULT_LIMITS) == command
