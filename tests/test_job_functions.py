"""What does the decorator make of a function, and whom does its `delay` ask?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fmqbus import job_functions
from fmqbus.errors import ConfigError, LocalError
from fmqbus.job_functions import JobOptions, Name, bind, find, job


class Asked:
    """A client that remembers what it was asked for."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def delay(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> str:
        """Remember."""
        self.calls.append((function, args, kwargs))
        return "a handle"


OWN = Asked()


@job
def plain(number: int, *, twice: bool = False) -> int:
    """Says nothing more."""
    return 2 * number if twice else number


@job(queue="email", timeout=2.5, retry_count=3, guarantee=True, client=OWN)
def chosen() -> str:
    """Says all that can be said."""
    return "here"


class Owner:
    """Has a method that is a job."""

    @job
    def method(self, number: int) -> int:
        """As any."""
        return number + 1


@pytest.fixture(autouse=True)
def unbound() -> Iterator[None]:
    """Other tests bind too."""
    bind(None)
    yield
    bind(None)


def test_a_job_is_still_the_function_that_it_was() -> None:
    """Called, it runs here and now."""
    assert plain(1, twice=True) == 2
    assert Owner().method(1) == 2
    assert plain.__doc__ == "Says nothing more."


def test_delay_asks_the_client_that_all_jobs_are_bound_to() -> None:
    """The last one that was bound; methods too."""
    bind(Asked())
    client = Asked()
    bind(client)
    assert plain.delay(1, twice=True) == "a handle"
    Owner.method.delay(5)
    assert client.calls == [(plain, (1,), {"twice": True}), (Owner.method, (5,), {})]


def test_delay_asks_the_jobs_own_client_first() -> None:
    """Bound or not."""
    client = Asked()
    bind(client)
    chosen.delay()
    assert (OWN.calls.pop()[0], client.calls) == (chosen, [])


def test_without_a_client_delay_says_what_to_do() -> None:
    """Rather than to run the job here, where nobody expects it."""
    with pytest.raises(LocalError, match="bind"):
        plain.delay(1)


def test_what_is_said_of_a_job_is_kept_for_clients_and_workers() -> None:
    """Under its name on the wire."""
    told = find(Name(__name__, "chosen"))
    assert told is not None
    assert told.options == JobOptions(queue="email", timeout=2.5, retry_count=3, guarantee=True)
    assert find(Name(__name__, "unbound")) is None


def test_what_has_no_name_outside_is_no_job() -> None:
    """A worker could not find it."""

    def inner() -> None:
        """Within a function."""

    with pytest.raises(ConfigError):
        job(inner)
    assert inner not in [each.function for each in job_functions.registered()]
