"""Which functions may be run because a message asks for it?

Only those that were registered: by the decorator `job` in a module that the worker was told to load, or by name in its
allow-list. A name that merely comes in a message is looked up here, and nowhere else; nothing is ever imported for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar, overload

import attrs

from fmqbus.errors import ConfigError

F = TypeVar("F", bound=Callable[..., Any])


@attrs.frozen
class Name:
    """What a job is called on the wire, as EventMQ does: a module and a function, or ``module:Class`` and a method."""

    path: str
    callable: str

    def __str__(self) -> str:
        return f"{self.path}{'.' if ':' in self.path else ':'}{self.callable}"

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Name:
        """The name of a function or of a method of a class. Raises `ConfigError` for one that nobody else can name."""
        *owners, name = function.__qualname__.split(".")
        if "<locals>" in owners or name == "<lambda>" or len(owners) > 1:
            raise ConfigError(f"{function.__qualname__} is no job: it has no name outside of the code around it")
        return cls(":".join([function.__module__, *owners]), name)

    @classmethod
    def parse(cls, text: str) -> Name:
        """Read ``module:function`` or ``module:Class.method``. Raises `ConfigError`."""
        module, colon, names = text.partition(":")
        *owners, name = names.split(".")
        if not (module and colon and name) or len(owners) > 1:
            raise ConfigError(f"{text!r} names no job: module:function or module:Class.method is expected")
        return cls(":".join([module, *owners]), name)


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


#: What `job` has registered in this process.
_registered: dict[Name, Job] = {}


@overload
def job(function: F) -> F: ...
@overload
def job(*, timeout: float | None = None) -> Callable[[F], F]: ...
def job(function: Any = None, *, timeout: float | None = None) -> Any:
    """Let workers run this function, or this method, when a message asks for it. `timeout` is in seconds."""

    def register(function: F) -> F:
        name = Name.of(function)
        _registered[name] = Job(name, function, timeout)
        return function

    return register if function is None else register(function)


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
        registered = [job for job in _registered.values() if _is_within(job.name.path, wanted)]
        return cls([*registered, *(_allowed(text) for text in allowed)])


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
    return _registered.get(name) or Job(name, found)
