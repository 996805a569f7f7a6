"""Which sockets does a listen string ask for, and where?

A protocol has a plan of its sockets, each with a name. ``zmq:PORT`` is the first of them; ``NAME=PORT`` is any. Those
that are not named are not opened; where none is, all are, at the ports of the plan. Names with the same port share one
socket.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from fmqbus.errors import ConfigError
from fmqbus.model import SocketKind, SocketPlan


@attrs.frozen
class Place:
    """Where one socket is to listen, and all its names."""

    names: tuple[str, ...]
    kind: SocketKind
    #: Any free one if it is 0.
    port: int


def places_of(plans: Sequence[SocketPlan], first_port: int | None, ports: Mapping[str, int]) -> Sequence[Place]:
    """Raises `ConfigError` for names that are not planned, and for sockets that cannot be one."""
    by_name = {plan.name: plan for plan in plans}
    if unknown := ports.keys() - by_name:
        raise ConfigError(f"zmq: there is no socket {min(unknown)!r}; there are {', '.join(by_name)}")
    wanted = dict(ports)
    if first_port is not None and wanted.setdefault(plans[0].name, first_port) != first_port:
        raise ConfigError(f"zmq: the port of {plans[0].name} is given twice")
    wanted = wanted or {plan.name: plan.default_port for plan in plans}
    places: dict[object, Place] = {}
    for name, plan in by_name.items():
        if (port := wanted.get(name)) is not None:
            place = Place((name,), plan.kind, port)
            shared = places.setdefault(port or name, place)  # each 0 is another port
            if shared.kind is not plan.kind:
                raise ConfigError(
                    f"zmq: {shared.names[0]} and {name} are different kinds of sockets, port {port} is one"
                )
            if shared is not place:
                places[port] = attrs.evolve(shared, names=(*shared.names, name))
    return tuple(places.values())
