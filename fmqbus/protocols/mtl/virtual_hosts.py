"""Where on the bus are a client's resources? (MTL, Client Authentication; reading 4)

A virtual host is a name space: what is ``orders`` in a host called ``shop`` is ``shop/orders`` to the rest of the bus.
Unless the operator names hosts, there is one space for all, and it does not matter which host a client asks for.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from fmqbus import names
from fmqbus.errors import ConfigError, InvalidName


@attrs.frozen
class VirtualHost:
    """One name space."""

    #: What stands before all names, with its slash; empty for none.
    prefix: bytes = b""

    def name_of(self, resource: bytes) -> bytes:
        """What a resource is called on the bus. Raises `InvalidName`."""
        name = names.parse(resource)
        return names.parse(self.prefix + name) if self.prefix else name

    def resource_of(self, name: bytes) -> bytes:
        """The other way round; names of other hosts stay as they are."""
        return name.removeprefix(self.prefix)


_EVERYTHING = VirtualHost()


class VirtualHosts:
    """Those of one place."""

    def __init__(self, prefixes: Mapping[str, str] | None) -> None:
        """Host → what stands before its names; None for any host. Raises `ConfigError` for what is no name."""
        self._hosts = None if prefixes is None else {host: _host(host, prefix) for host, prefix in prefixes.items()}

    def find(self, host: str) -> VirtualHost | None:
        """The one of this name. None if there is none."""
        return _EVERYTHING if self._hosts is None else self._hosts.get(host)


def _host(host: str, prefix: str) -> VirtualHost:
    if not prefix:
        return _EVERYTHING
    try:
        name = names.from_text(prefix)
    except InvalidName as error:
        raise ConfigError(f"protocols.mtl.virtual-hosts.{host}: {error}") from None
    if names.is_wild(name) or names.is_service(name):
        raise ConfigError(f"protocols.mtl.virtual-hosts.{host}: {prefix!r} names no place for topics and queues")
    return VirtualHost(name + b"/")
