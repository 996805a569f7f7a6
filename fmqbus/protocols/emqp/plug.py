"""eMQP as a plug: what ``emqp:`` in a listen string stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twisted.logger import Logger
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import IBusProtocol, IListener, IRouter, IServiceContext, IServiceTopic
from fmqbus.model import Message, Principal
from fmqbus.protocols.emqp.broker import DISCONNECT_TOPIC
from fmqbus.protocols.emqp.protocol import EMQPFactory
from fmqbus.protocols.emqp.settings import read_settings

_log = Logger()


@implementer(IPlugin, IBusProtocol)
class EMQPPlug:
    """`IBusProtocol` of eMQP. Its options are those of `EMQPSettings`."""

    name = "emqp"
    default_listen = ("zmq:interface=127.0.0.1",)
    summary = "EventMQ: jobs for workers, and publications, over ZeroMQ"

    def make_factory(self, router: IRouter, listener: IListener, options: Mapping[str, Any]) -> EMQPFactory:
        return EMQPFactory(router, listener, read_settings(options))

    def service_topics(self, options: Mapping[str, Any]) -> Sequence[IServiceTopic]:
        read_settings(options)
        return (DisconnectSignal(),)


@implementer(IPlugin, IServiceTopic)
class DisconnectSignal:
    """``$/signals/disconnect``: what DISCONNECT from administration comes to."""

    topic = DISCONNECT_TOPIC
    summary = "any publication ends the broker softly, as DISCONNECT from eMQP's administration, if the client may"

    def start(self, context: IServiceContext) -> None:
        """Nothing is told unasked."""

    def stop(self, context: IServiceContext) -> None:
        """See `start`."""

    def clients_changed(self, context: IServiceContext) -> None:
        """See `start`."""

    def received(self, context: IServiceContext, principal: Principal, message: Message) -> None:
        _log.warn("DISCONNECT from {facts}", facts=principal.facts)
        context.stop(soft=True)


EMQP = EMQPPlug()
