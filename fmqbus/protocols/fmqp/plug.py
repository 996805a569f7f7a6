"""FMQP as a plug: what ``fmqp:`` in a listen string stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import IBusProtocol, IListener, IRouter, IServiceTopic
from fmqbus.protocols.fmqp.protocol import FMQPFactory
from fmqbus.protocols.fmqp.service_topics import INFORMATION, SIGNALS
from fmqbus.settings import read_table


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[protocols.fmqp]``."""

    #: Whether there are topics ``$/signals/...``, by which clients may end the broker if the authorizer lets them.
    signals: bool = True


@implementer(IPlugin, IBusProtocol)
class FMQPPlug:
    """`IBusProtocol` of FMQP."""

    name = "fmqp"
    default_listen = ("tcp:7700:interface=127.0.0.1",)
    summary = "FMQP: publish/subscribe with feedback over a stream"

    def make_factory(self, router: IRouter, listener: IListener, options: Mapping[str, Any]) -> FMQPFactory:
        _read(options)
        return FMQPFactory(router, listener)

    def service_topics(self, options: Mapping[str, Any]) -> Sequence[IServiceTopic]:
        return (*INFORMATION, *SIGNALS) if _read(options).signals else INFORMATION


def _read(options: Mapping[str, Any]) -> Options:
    return read_table(Options, options, "protocols.fmqp")


FMQP = FMQPPlug()
