"""Which parts are installed, where are they from, and which of them cannot be used?

A part is found in a module of the ``twisted.plugins`` package or through an entry point of group ``fmqbus.plugins``
that leads to a part or to a list of parts. Each is loaded and checked against its interface. One that fails is
reported and left out; it never stops the broker. The parts that come with fmqbus take the same way as any other.

`twisted.plugin.getPlugins` is not enough for this: it skips what does not load, and forgets where a part came from.
`twisted.plugin.getCache`, on which it stands, tells both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

import attrs
from twisted.logger import Logger
from twisted.plugin import getCache
from twisted.python.modules import getModule
from zope.interface import Interface
from zope.interface.verify import verifyObject

import twisted.plugins
from fmqbus.errors import PlugRejected
from fmqbus.interfaces import (
    IAuthorizer,
    IBusProtocol,
    IMessageStoreMaker,
    IMicroMsg2Extension,
    IMTLProfile,
    IObserver,
    IRetainedStoreMaker,
    ISASLMechanism,
    IScheduleStoreMaker,
    IServiceTopic,
    ITransport,
    IUMQMethod,
)

ENTRY_POINT_GROUP = "fmqbus.plugins"

#: What a vendor can add → the attribute that names such a part. Parts without one go by the name under which they were
#: registered.
NAMED_BY: Mapping[type[Interface], str | None] = {
    IBusProtocol: "name",
    IMicroMsg2Extension: "name",
    IUMQMethod: "name",
    IMTLProfile: "name",
    ITransport: "prefix",
    IServiceTopic: "topic",
    IAuthorizer: None,
    ISASLMechanism: "name",
    IRetainedStoreMaker: "name",
    IMessageStoreMaker: "name",
    IScheduleStoreMaker: "name",
    IObserver: None,
}

_log = Logger()


@attrs.frozen
class Plug:
    """One part, ready to be used."""

    interface: type[Interface]
    name: str
    #: The plugin module's file, or the distribution with its version.
    origin: str
    part: Any


@attrs.frozen
class Reject:
    """Something that was registered but cannot be used."""

    name: str
    origin: str
    reason: str


@attrs.frozen
class Plugs:
    """All that is installed, in the order of interfaces and names."""

    found: tuple[Plug, ...]
    rejected: tuple[Reject, ...]

    def of(self, interface: type[Interface]) -> Mapping[str, Any]:
        """The parts that provide an interface, by name."""
        return {plug.name: plug.part for plug in self.found if plug.interface is interface}

    def parts(self, interface: type[Interface]) -> Sequence[Any]:
        """The parts alone, by name."""
        return list(self.of(interface).values())


@attrs.frozen
class _Registration:
    """A place where parts are registered; loading it may fail."""

    name: str
    origin: str
    load: Callable[[], Any]

    def load_parts(self) -> Sequence[Any]:
        """The parts registered here."""
        loaded = self.load()
        return loaded if isinstance(loaded, list | tuple) else [loaded]


def find_plugs(package: ModuleType = twisted.plugins) -> Plugs:
    """Load and check all installed parts. Imports foreign code; takes as long as that does."""
    found: dict[tuple[type[Interface], str], Plug] = {}
    rejected: list[Reject] = []
    for registration in [*_from_twisted(package), *_from_entry_points()]:
        with _left_out_if_broken(registration, rejected):
            for part in registration.load_parts():
                with _left_out_if_broken(registration, rejected):
                    for plug in _checked(part, registration):
                        if (first := found.setdefault((plug.interface, plug.name), plug)) is not plug:
                            raise PlugRejected(f"{plug.name!r} is already there, from {first.origin}")
    order = list(NAMED_BY)
    by_interface_and_name = sorted(found.values(), key=lambda plug: (order.index(plug.interface), plug.name))
    return Plugs(tuple(by_interface_and_name), tuple(rejected))


@contextmanager
def _left_out_if_broken(registration: _Registration, rejected: list[Reject]) -> Iterator[None]:
    try:
        yield
    except (Exception, SystemExit) as error:
        reject = Reject(registration.name, registration.origin, f"{type(error).__name__}: {error}")
        _log.error("plug {reject.name} from {reject.origin} is left out: {reject.reason}", reject=reject)
        rejected.append(reject)


def _from_twisted(package: ModuleType) -> Iterator[_Registration]:
    dropins = getCache(package)
    for module in getModule(package.__name__).iterModules():
        origin = module.filePath.path
        dropin = dropins.get(module.name.rpartition(".")[2])
        if dropin is None:
            # It could not be imported when the cache was made; the import tells why.
            yield _Registration(module.name, origin, module.load)
            continue
        for cached in dropin.plugins:
            if any(provided.isOrExtends(interface) for provided in cached.provided for interface in NAMED_BY):
                yield _Registration(cached.name, origin, cached.load)


def _from_entry_points() -> Iterator[_Registration]:
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        origin = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
        yield _Registration(entry.name, origin, entry.load)


def _checked(part: Any, registration: _Registration) -> Iterator[Plug]:
    interfaces = [interface for interface in NAMED_BY if interface.providedBy(part)]
    if not interfaces:
        raise PlugRejected(f"{part!r} provides no interface of a plug")
    for interface in interfaces:
        verifyObject(interface, part)
        yield Plug(interface, _name_of(part, interface, registration.name), registration.origin, part)


def _name_of(part: Any, interface: type[Interface], registered_as: str) -> str:
    attribute = NAMED_BY[interface]
    name = getattr(part, attribute) if attribute else registered_as
    if isinstance(name, bytes):
        name = name.decode()
    if not isinstance(name, str) or not name:
        raise PlugRejected(f"its {attribute} {name!r} is no name")
    return name
