"""Who serves what, and which calls wait for them?

A method exists as long as somebody serves it: peers cannot invent names that stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs

from fmqbus import names
from fmqbus.calls import MethodSettings, MethodStatus, Service
from fmqbus.errors import Overloaded
from fmqbus.router.choices import servers_by
from fmqbus.router.sorted_map import SortedMap

if TYPE_CHECKING:
    from fmqbus.router.asked import Asked
    from fmqbus.router.call_user import CallUser


@attrs.define(slots=True, eq=False)
class Server(Service):
    """A service, as its method knows it. See `fmqbus.router.line.Member`."""

    user: CallUser = attrs.field(kw_only=True)
    #: The method; None once it serves no more.
    home: Method | None = attrs.field(kw_only=True)
    priority: int = 0
    is_in_line: bool = False
    turn: int = 0

    @property
    def room(self) -> int:
        """Calls that it can be given now."""
        return self.window - self.in_hand if self.user.can_take_calls else 0


class Method:
    """One method."""

    __slots__ = ("called", "ended", "name", "refused", "servers", "settings", "waiting")

    def __init__(self, name: bytes, settings: MethodSettings) -> None:
        self.name = name
        self.settings = settings
        self.servers = servers_by(settings)
        #: Calls that no server has yet, by their numbers; if there are any, no server has room.
        self.waiting: SortedMap[int, Asked] = SortedMap()
        # see `fmqbus.calls.MethodStatus`
        self.called = self.refused = 0
        self.ended: Counter[str] = Counter()

    def status(self) -> MethodStatus:
        """Its numbers."""
        waiting = len(self.waiting)
        return MethodStatus(
            name=self.name,
            servers=len(self.servers),
            waiting=waiting,
            in_hand=self.called - waiting - self.ended.total(),
            called=self.called,
            ended=dict(self.ended),
            refused=self.refused,
        )


class MethodTable:
    """The methods of one bus by name."""

    def __init__(self, most: int, settings: MethodSettings, rules: Sequence[tuple[bytes, MethodSettings]]) -> None:
        """Of the rules, the first whose pattern is equivalent to a method's name decides on its settings."""
        self._methods: dict[bytes, Method] = {}
        self._most = most
        self._settings = settings
        self._rules = list(rules)

    def __iter__(self) -> Iterator[Method]:
        """All of them, as they are now."""
        return iter(list(self._methods.values()))

    def __len__(self) -> int:
        """How many there are."""
        return len(self._methods)

    def find(self, name: bytes) -> Method | None:
        """The method of this name, if somebody serves it."""
        return self._methods.get(name)

    def add(self, server: Server) -> Method:
        """Somebody serves from now on. Raises `Overloaded`."""
        name = server.method
        method = self._methods.get(name)
        if method is None:
            if len(self._methods) >= self._most:
                raise Overloaded("there are too many methods", "methods-full")
            method = self._methods[name] = Method(name, names.first_fit(self._rules, name, self._settings))
        server.home = method
        method.servers.add(server)
        return method

    def remove(self, server: Server, method: Method) -> None:
        """He does no more."""
        server.home = None
        method.servers.remove(server)
        if not len(method.servers):
            del self._methods[method.name]

    def statuses(self, after: bytes, most: int | None) -> list[MethodStatus]:
        """See `IRouter.methods`."""
        return [self._methods[name].status() for name in names.page(self._methods, after, most)]
