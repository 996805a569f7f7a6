"""Which functions may be run because a message asks for it?

Only those that were registered: by the decorator `job` in a module that the worker was told to load, or by name in its
allow-list. A name that merely comes in a message is looked up here, and nowhere else; nothing is ever imported for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

import attrs

from fmqbus.errors import ConfigError
from fmqbus.job_functions import Name, Registered, find, registered


@attrs.frozen
class Job:
    """A function that may be run, and how."""

    name: Name
    function: Callable[..., Any]
    #: Seconds that it may take, if whoever asks for it says nothing; None as the worker's settings say.
    timeout: float | None = None

    def call(
        self,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        class_args: Sequence[Any] = (),
        class_kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run it; a method on a new object of its class."""
        module, _, owner = self.name.path.partition(":")
        if not owner:
            return self.function(*args, **kwargs)
        instance = getattr(sys.modules[module], owner)(*class_args, **(class_kwargs or {}))
        return getattr(instance, self.name.callable)(*args, **kwargs)


class Jobs:
    """All that one worker may run."""

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._jobs = {job.name: job for job in jobs}

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs.values())

    def find(self, name: Name) -> Job | None:
        """The job of this name, if there is one."""
        return self._jobs.get(name)

    @classmethod
    def load(cls, modules: Iterable[str], allowed: Iterable[str] = ()) -> Jobs:
        """Import these modules and take what they register, and nothing that was registered elsewhere; and import what
        the allow-list names. Raises `ConfigError` for what is not there, and whatever a module raises."""
        wanted = list(modules)
        for module in wanted:
            import_module(module)
        told = [_job(each) for each in registered() if _is_within(each.name.path, wanted)]
        return cls([*told, *(_allowed(text) for text in allowed)])


def _job(registered: Registered) -> Job:
    return Job(registered.name, registered.function, registered.options.timeout)


def _is_within(path: str, modules: Iterable[str]) -> bool:
    """Whether a module is one of these, or below one of these."""
    module = path.partition(":")[0]
    return any(module == wanted or module.startswith(f"{wanted}.") for wanted in modules)


def _allowed(text: str) -> Job:
    name = Name.parse(text)
    module, _, owner = name.path.partition(":")
    found: Any = import_module(module)
    for step in filter(None, (owner, name.callable)):
        found = getattr(found, step, None)
    if not callable(found):
        raise ConfigError(f"there is no {text}")
    told = find(name)
    return Job(name, found) if told is None else _job(told)
