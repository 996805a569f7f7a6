"""MTL as a plug: what ``mtl:`` in a listen string stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.errors import ConfigError
from fmqbus.interfaces import IBusProtocol, IListener, IMTLProfile, IRouter, IServiceTopic
from fmqbus.protocols.mtl.protocol import MTLFactory
from fmqbus.protocols.mtl.settings import MTLSettings, read_settings
from fmqbus.protocols.mtl.virtual_hosts import VirtualHosts


@implementer(IPlugin, IBusProtocol)
class MTLPlug:
    """`IBusProtocol` of MTL. Its options are those of `MTLSettings`."""

    name = "mtl"
    default_listen = ("zmq:interface=127.0.0.1",)
    summary = "MTL: topics and queues over ZeroMQ, with logins and leases"

    def make_factory(self, router: IRouter, listener: IListener, options: Mapping[str, Any]) -> MTLFactory:
        settings = read_settings(options)
        return MTLFactory(router, listener, settings, _profiles(settings, listener.parts(IMTLProfile)))

    def service_topics(self, options: Mapping[str, Any]) -> Sequence[IServiceTopic]:
        VirtualHosts(read_settings(options).virtual_hosts)
        return ()


def _profiles(settings: MTLSettings, installed: Sequence[IMTLProfile]) -> Mapping[str, IMTLProfile]:
    """By name, in the order in which clients are told."""
    by_name = {profile.name: profile for profile in installed}
    if settings.profiles is None:
        return by_name
    for name in settings.profiles:
        if name not in by_name:
            known = ", ".join(by_name)
            raise ConfigError(f"protocols.mtl.profiles: {name!r} is not installed (there is: {known})")
    return {name: by_name[name] for name in settings.profiles}


MTL = MTLPlug()
