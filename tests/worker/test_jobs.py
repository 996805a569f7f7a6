"""What may be run, and under which name?"""

from __future__ import annotations

import pytest

from fmqbus.errors import ConfigError
from fmqbus.job_functions import Name, job
from fmqbus.worker.jobs import Jobs

HERE = "sample_application.jobs"


def test_what_a_module_registers_may_be_run_and_nothing_else() -> None:
    """Neither its other functions nor what they import. (reading 30)"""
    jobs = Jobs.load([HERE])
    names = {str(each.name) for each in jobs}
    assert f"{HERE}:add" in names
    assert f"{HERE}:Greeter.greet" in names
    assert jobs.find(Name(HERE, "not_a_job")) is None
    assert jobs.find(Name("os", "system")) is None
    assert all(name.startswith(HERE) for name in names)


def test_a_package_stands_for_all_that_was_loaded_below_it() -> None:
    """And no other for it."""
    Jobs.load([HERE])
    assert Jobs.load(["sample_application"]).find(Name(HERE, "add")) is not None
    assert list(Jobs.load(["json"])) == []


def test_a_list_allows_more_by_name() -> None:
    """Functions and methods that know nothing of us; what is not there is an error of the configuration."""
    jobs = Jobs.load([], ["math:sqrt", f"{HERE}:Greeter.greet"])
    sqrt = jobs.find(Name("math", "sqrt"))
    assert sqrt is not None
    assert sqrt.call([9], {}) == 3.0
    assert len(list(jobs)) == 2
    for wrong in ("math:nothing", "math", "math:", ":sqrt", f"{HERE}:Greeter.Inner.greet", f"{HERE}:Nobody.greet"):
        with pytest.raises(ConfigError):
            Jobs.load([], [wrong])


def test_a_method_runs_on_an_object_of_its_own() -> None:
    """Made with the arguments that the message has for its class."""
    method = Jobs.load([HERE]).find(Name(f"{HERE}:Greeter", "greet"))
    assert method is not None
    assert method.call(["you"], {}) == "hello you"
    assert method.call([], {"name": "you"}, ["hi"]) == "hi you"
    assert method.call(["you"], {}, [], {"greeting": "hey"}) == "hey you"


def test_what_nobody_else_can_name_is_no_job() -> None:
    """Closures, and classes within classes."""

    def inner() -> None:
        """Has no name outside."""

    for function in (inner, lambda: None):
        with pytest.raises(ConfigError):
            job(function)


@pytest.mark.parametrize("name", [Name("pkg.mod", "f"), Name("pkg.mod:Class", "f")])
def test_names_are_written_as_they_are_read(name: Name) -> None:
    """As configuration files and logs have them."""
    assert Name.parse(str(name)) == name
