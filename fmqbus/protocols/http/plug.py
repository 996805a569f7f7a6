"""HTTP for operators as a plug: what ``http:`` in a listen string stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.errors import ConfigError
from fmqbus.interfaces import IBusProtocol, IForOperators, IListener, IRouter, IServiceTopic
from fmqbus.protocols.http.answering import Answering, Page
from fmqbus.protocols.http.connection import ConnectionFactory


@implementer(IPlugin, IBusProtocol, IForOperators)
class HTTPPlug:
    """`IBusProtocol` of the pages ``/metrics``, ``/healthz`` and ``/readyz``. With the option ``journal``, a journal's
    folder, that is to be read at ``/journal``."""

    name = "http"
    default_listen = ("tcp:7780:interface=127.0.0.1",)
    summary = "HTTP for operators: /metrics, /healthz, /readyz; only where it is asked for"

    def make_factory(self, router: IRouter, listener: IListener, options: Mapping[str, Any]) -> ConnectionFactory:
        from fmqbus.protocols.http.pages import HealthPage, MetricsPage  # takes a while, and few need it

        journal = _journal_of(options)
        vitals = router.vitals
        pages: Mapping[bytes, Page] = {
            b"/metrics": MetricsPage(vitals, router.turns, listener.clock),
            b"/healthz": HealthPage(vitals.alive),
            b"/readyz": HealthPage(vitals.ready),
        }
        if journal is None:
            return ConnectionFactory(listener, Answering(router, pages, {}).answer)
        from fmqbus.protocols.http.journal import JournalBranch, OneThread

        thread = OneThread(listener.clock)
        branches = {b"/journal": JournalBranch(journal, thread.run).place}
        return ConnectionFactory(listener, Answering(router, pages, branches).answer, thread.stop)

    def service_topics(self, options: Mapping[str, Any]) -> Sequence[IServiceTopic]:
        _journal_of(options)
        return ()


def _journal_of(options: Mapping[str, Any]) -> Path | None:
    """The one option. Raises `ConfigError`."""
    for key in options:
        if key != "journal":
            raise ConfigError(f"protocols.http.{key}: there is no such key; there is: journal")
    path = options.get("journal")
    if path is None:
        return None
    if not isinstance(path, str) or not path:
        raise ConfigError(f"protocols.http.journal is the path of a journal's folder, not {path!r}")
    return Path(path).absolute()


HTTP = HTTPPlug()
