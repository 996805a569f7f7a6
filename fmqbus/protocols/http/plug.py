"""HTTP for operators as a plug: what ``http:`` in a listen string stands for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import IBusProtocol, IForOperators, IListener, IRouter, IServiceTopic
from fmqbus.protocols.http.answering import Answering, Page
from fmqbus.protocols.http.connection import ConnectionFactory
from fmqbus.settings import read_table


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[protocols.http]``."""

    #: The folder of a journal that is to be read at ``/journal``.
    journal: Annotated[str, msgspec.Meta(min_length=1)] | None = None


@implementer(IPlugin, IBusProtocol, IForOperators)
class HTTPPlug:
    """`IBusProtocol` of the pages ``/metrics``, ``/healthz`` and ``/readyz``."""

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
    path = read_table(Options, options, "protocols.http").journal
    return None if path is None else Path(path).absolute()


HTTP = HTTPPlug()
