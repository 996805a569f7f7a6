"""What makes a function of an application a job, and what does its `delay` do?

Decorated, it stays the function that it was: called, it runs here and now. A worker that was told to load its module
may run it too, and `delay` asks for that, through the client that the function is bound to, or else through the one
that all are. Neither clients nor workers are known here; both know this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, overload

import attrs

from fmqbus.errors import ConfigError, LocalError

P = ParamSpec("P")
R = TypeVar("R", covariant=True)


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


@attrs.frozen(kw_only=True)
class JobOptions:
    """How a job is asked for, and run, unless whoever asks says otherwise."""

    queue: str = "default"
    #: Seconds that it may take; None as the worker's settings say, 0 without limit.
    timeout: float | None = None
    #: How often it is run again after a failure.
    retry_count: int = 0
    #: The broker keeps it until somebody has done it, whatever happens.
    guarantee: bool = False
    #: Whoever asks for it is told the result.
    reply: bool = True


DEFAULT_OPTIONS = JobOptions()


class Delays(Protocol):
    """A client, as far as `delay` knows it."""

    def delay(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Have the job run somewhere; what is returned is the client's own."""


@attrs.frozen
class Registered:
    """A function that was said to be a job."""

    name: Name
    function: Callable[..., Any]
    options: JobOptions
    #: None: the one that all are bound to.
    client: Delays | None = None


class JobFunction(Protocol, Generic[P, R]):
    """A decorated function."""

    #: Gets the arguments of the function.
    delay: Callable[P, Any]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run it here and now."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """It may be a method."""


_registered: dict[Name, Registered] = {}
_bound: Delays | None = None


def bind(client: Delays | None) -> None:
    """Have `delay` of all jobs that are bound to no other client go through this one; None: through none any more."""
    global _bound
    _bound = client


@overload
def job(function: Callable[P, R]) -> JobFunction[P, R]: ...
@overload
def job(
    *,
    queue: str = ...,
    timeout: float | None = ...,
    retry_count: int = ...,
    guarantee: bool = ...,
    reply: bool = ...,
    client: Delays | None = ...,
) -> Callable[[Callable[P, R]], JobFunction[P, R]]: ...
def job(function: Any = None, *, client: Delays | None = None, **options: Any) -> Any:
    """Let workers run this function, or this method, when a message asks for it, and give it a `delay`.

    The options are those of `JobOptions`. Raises `ConfigError` for a function that nobody else can name.
    """

    def register(function: Any) -> Any:
        name = Name.of(function)
        _registered[name] = Registered(name, function, JobOptions(**options), client)

        def delay(*args: Any, **kwargs: Any) -> Any:
            through = _registered[name].client or _bound
            if through is None:
                raise LocalError(f"{name} is bound to no client: create one and call its bind()")
            return through.delay(function, *args, **kwargs)

        function.delay = delay
        return function

    return register if function is None else register(function)


def registered() -> Iterator[Registered]:
    """What `job` has registered in this process."""
    return iter(_registered.values())


def find(name: Name) -> Registered | None:
    """What was registered under a name."""
    return _registered.get(name)
