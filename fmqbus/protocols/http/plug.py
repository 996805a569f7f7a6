"""HTTP for operators as a plug: what ``http:`` in a listen string stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.errors import ConfigError
from fmqbus.interfaces import IBusProtocol, IForOperators, IListener, IRouter, IServiceTopic
from fmqbus.protocols.http.answering import Answering, Page
from fmqbus.protocols.http.connection import ConnectionFactory


@implementer(IPlugin, IBusProtocol, IForOperators)
class HTTPPlug:
    """`IBusProtocol` of the pages ``/metrics``, ``/healthz`` and ``/readyz``. It has no options."""

    name = "http"
    default_listen = ("tcp:7780:interface=127.0.0.1",)
    summary = "HTTP for operators: /metrics, /healthz, /readyz; only where it is asked for"

    def make_factory(self, router: IRouter, listener: IListener, options: Mapping[str, Any]) -> ConnectionFactory:
        from fmqbus.protocols.http.pages import HealthPage, MetricsPage  # takes a while, and few need it

        _demand_no(options)
        vitals = router.vitals
        pages: Mapping[bytes, Page] = {
            b"/metrics": MetricsPage(vitals, router.turns, listener.clock),
            b"/healthz": HealthPage(vitals.alive),
            b"/readyz": HealthPage(vitals.ready),
        }
        return ConnectionFactory(listener, Answering(router, pages).answer)

    def service_topics(self, options: Mapping[str, Any]) -> Sequence[IServiceTopic]:
        _demand_no(options)
        return ()


def _demand_no(options: Mapping[str, Any]) -> None:
    for key in options:
        raise ConfigError(f"protocols.http.{key}: there is no such key; http has no options")


HTTP = HTTPPlug()
