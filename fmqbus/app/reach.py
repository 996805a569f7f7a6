"""Do other machines reach a bus that lets none of them in?

Nothing is open by default, so a bus that was told to listen for the world, and not whom to allow what, seems dead
to its clients. Its log then says why.
"""

from __future__ import annotations

from ipaddress import ip_address

from twisted.internet.interfaces import IAddress
from twisted.logger import Logger

from fmqbus.app.assembly import Bus

_log = Logger()


def warn_if_nobody_is_let_in(bus: Bus) -> None:
    """Log a warning for each listener in vain. The bus must be listening."""
    if bus.access.may_let_in:
        return
    for listener in bus.listeners:
        if listener.port is not None and _is_reachable(listener.port.getHost()):
            _log.warn(
                "{listener.description} can be reached from other machines, but no rule allows them anything; "
                "write [[access.rules]] for them, see docs/configuration.md",
                listener=listener,
            )


def _is_reachable(address: IAddress) -> bool:
    host = getattr(address, "host", None)  # UNIX sockets have none
    return host is not None and not is_loopback(host)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what listens at this address; an empty one is all that there are."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
