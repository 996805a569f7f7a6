"""``$/journal``: is the journal well? A retained value tells it to whoever watches over the bus, at each change."""

from __future__ import annotations

from typing import Any

import msgspec
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import IServiceContext, IServiceTopic
from fmqbus.model import Message, Principal
from fmqbus.observers.journal.journal import Journal


@implementer(IPlugin, IServiceTopic)
class JournalHealth:
    """Tells of one bus's journal."""

    topic = b"$/journal"
    summary = "JSON: state is well, behind (producers are paused, or rows left out) or failing; failure; lost, in rows"

    def __init__(self, journal: Journal) -> None:
        self._writer = journal.writer
        self._writer.on_status = self._changed
        #: Where it is told, with the call that is about to do so.
        self._contexts: dict[IServiceContext, Any] = {}

    def start(self, context: IServiceContext) -> None:
        self._contexts[context] = None
        self._tell(context)

    def _changed(self) -> None:
        """Tell it between turns, for nothing is published in the midst of a decision."""
        for context, pending in self._contexts.items():
            if pending is None or not pending.active():
                self._contexts[context] = context.clock.callLater(0, self._tell, context)

    def _tell(self, context: IServiceContext) -> None:
        context.publish(msgspec.json.encode(self.status()), cached=True)

    def status(self) -> dict[str, Any]:
        """What is told."""
        writer = self._writer
        state = (
            "failing" if writer.failure is not None else "behind" if writer.is_behind or writer.is_losing else "well"
        )
        return {"state": state, "failure": writer.failure, "lost": writer.lost}

    def stop(self, context: IServiceContext) -> None:
        pending = self._contexts.pop(context)
        if pending is not None and pending.active():
            pending.cancel()

    def clients_changed(self, context: IServiceContext) -> None:
        """It is nobody's business who is there."""

    def received(self, context: IServiceContext, principal: Principal, message: Message) -> None:
        """Nothing can be asked of it."""
