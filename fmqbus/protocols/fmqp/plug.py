"""FMQP as a plug: what ``fmqp:`` in a listen string stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.errors import ConfigError
from fmqbus.interfaces import IBusProtocol, IListener, IRouter, IServiceTopic
from fmqbus.protocols.fmqp.protocol import FMQPFactory
from fmqbus.protocols.fmqp.service_topics import INFORMATION, SIGNALS


@implementer(IPlugin, IBusProtocol)
class FMQPPlug:
    """`IBusProtocol` of FMQP. Its one option, ``signals = false``, takes both ``$/signals/...`` topics away."""

    name = "fmqp"
    default_listen = ("tcp:7700:interface=127.0.0.1",)
    summary = "FMQP: publish/subscribe with feedback over a stream"

    def make_factory(self, router: IRouter, listener: IListener, options: Mapping[str, Any]) -> FMQPFactory:
        _signals(options)
        return FMQPFactory(router, listener)

    def service_topics(self, options: Mapping[str, Any]) -> Sequence[IServiceTopic]:
        return (*INFORMATION, *SIGNALS) if _signals(options) else INFORMATION


def _signals(options: Mapping[str, Any]) -> bool:
    """Check the options; returns whether clients may end the broker by a signal, if the authorizer lets them."""
    for key, value in options.items():
        if key != "signals":
            raise ConfigError(f"protocols.fmqp.{key}: there is no such key; there is: signals")
        if not isinstance(value, bool):
            raise ConfigError("protocols.fmqp.signals: true or false is expected")
    return bool(options.get("signals", True))


FMQP = FMQPPlug()
