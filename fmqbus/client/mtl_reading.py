"""What does an MTL client read? Each reader has a data flow of its own, on which it summons what it wants.

Those who subscribe to topics share flows: `fmqbus.client.mtl_topics`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from sys import maxsize
from typing import Any, TypeVar

import attrs
from twisted.internet.defer import Deferred

from fmqbus import names
from fmqbus.client.feed import Feed, Measured
from fmqbus.client.mtl_data_link import DataLink
from fmqbus.client.mtl_flow import Came, Event, NotSummoned
from fmqbus.client.mtl_words import deliveries_of, fields_of, resource_name, texts_of
from fmqbus.client.mtl_writing import FlowSource
from fmqbus.client.queue_message import QueueMessage
from fmqbus.errors import BusError
from fmqbus.limits import Limits
from fmqbus.model import Outcome
from fmqbus.protocols.mtl import commands
from fmqbus.protocols.mtl.commands import Content
from fmqbus.waiting import Waiters


@attrs.frozen(slots=True, eq=False)
class MTLContent:
    """A content that a reader of any profile has received. Where contents are confirmed, say what becomes of it; words
    on it after its reader has ended or the connection has gone are ignored, and so are further ones."""

    #: As the bus has named it.
    resource: str
    payload: bytes
    #: The fields of its table; none, if that cannot be read.
    properties: Mapping[str, Any]
    _settle: Callable[[Outcome, str], object] = attrs.field(repr=False)

    @property
    def octets(self) -> int:
        """What it takes in a queue."""
        return len(self.payload)

    def accept(self) -> None:
        """Done (MTL, Content Confirmation: Confirm)."""
        self._settle(Outcome.ACCEPT, "")

    def release(self) -> None:
        """Not done: it is to be sent again (Reject with recycle)."""
        self._settle(Outcome.RELEASE, "")

    def reject(self) -> None:
        """It is not wanted (Reject)."""
        self._settle(Outcome.REJECT, "")


class Summoning:
    """What all readers do: have a flow on each connection, and summon there what is wanted."""

    #: Writers' affair.
    window = 0

    def __init__(self, source: FlowSource, limits: Limits, profile: str, flow: commands.Reader) -> None:
        self.profile = profile.lower()
        self.flow = flow
        self._source = source
        self._limits = limits
        self._wanted: dict[bytes, None] = {}
        self._data: DataLink | None = None
        self._begun = Waiters()

    def when_standing(self) -> Deferred[None]:
        """Fires when the bus has answered all that was asked of it until now; at once where it has refused the
        lease."""
        if self._data is not None:
            return self._data.when_quiet()
        return self._begun.wait()

    def summon_resource(self, resource: bytes) -> None:
        """Have its contents come."""
        self._wanted[resource] = None
        if self._data is not None:
            self._data.summon(resource)

    def dismiss_resource(self, resource: bytes) -> None:
        """And no more. Nothing happens where it is not wanted."""
        if resource in self._wanted:
            del self._wanted[resource]
            if self._data is not None:
                self._data.dismiss(resource)

    def leave(self) -> None:
        """Have no flow any more. What is in hand goes back."""
        self._source.leave_flow(self, list(self._wanted))
        self._data = None
        self._begun.fire()

    # for the kinds of readers

    def came(self, data: DataLink, content: Content) -> None:
        """A content has come."""
        raise NotImplementedError

    def not_summoned(self, resource: bytes, error: BusError) -> None:
        """The bus does not let us have it."""
        raise NotImplementedError

    def flow_denied(self, error: BusError) -> None:
        """`fmqbus.client.mtl_data_link.FlowUser`"""
        raise NotImplementedError

    def forget_contents(self) -> None:
        """What had come comes again."""

    # `fmqbus.client.mtl_data_link.FlowUser`

    def flow_begun(self, data: DataLink) -> None:
        self._data = data
        for resource in self._wanted:
            data.summon(resource)
        data.when_quiet().addCallbacks(lambda _: self._begun.fire(), lambda _: None)

    def flow_heard(self, event: Event) -> None:
        data = self._data
        if data is None:
            return
        match event:
            case Came(content):
                self.came(data, content)
            case NotSummoned(resource, error):
                if resource in self._wanted:
                    del self._wanted[resource]
                    self.not_summoned(resource, error)

    def flow_clear(self) -> None:
        """What a reader says is short, and never waits for long."""

    def flow_lost(self) -> None:
        self._data = None
        self.forget_contents()


T = TypeVar("T", bound=Measured)


class LeasedFeed(Feed[T], Summoning):
    """A feed of the contents of one flow: iterate over it, or have had a callback given.

    Where contents are confirmed, each has to be settled, and until then counts against the window, which is how many
    wait here; a callback that raises leaves its content as it is. Where they are not, the oldest are dropped when there
    are more than `max_queue`.
    """

    def __init__(
        self,
        source: FlowSource,
        limits: Limits,
        profile: str,
        flow: commands.Reader,
        max_queue: int,
        callback: Callable[[T], object] | None,
    ) -> None:
        bounds = (maxsize, maxsize) if flow.is_confirmed else (max_queue, limits.outbox_octets)
        Feed.__init__(self, *bounds, callback)
        Summoning.__init__(self, source, limits, profile, flow)

    def item(self, content: Content, settle: Callable[[Outcome, str], object]) -> T:
        """The content, as the application gets it."""
        raise NotImplementedError

    def came(self, data: DataLink, content: Content) -> None:
        self.extend([self.item(content, partial(self._settle, data, content.sequence))])

    def _settle(self, data: DataLink, sequence: int, outcome: Outcome, reason: str) -> None:
        """The protocol has no place for a reason."""
        if data is self._data:
            data.settle(sequence, outcome)

    def not_summoned(self, resource: bytes, error: BusError) -> None:
        self.fail(error)

    def flow_denied(self, error: BusError) -> None:
        self.fail(error)

    def forget_contents(self) -> None:
        if self.flow.is_confirmed:
            self.clear()

    def stop(self) -> None:
        """Read no more; what is not settled goes back. May be repeated."""
        if not self.is_stopped:
            super().stop()
            self.leave()


class MTLReader(LeasedFeed[MTLContent]):
    """Reads resources of any profile."""

    def summon(self, resource: str | bytes) -> None:
        """Have the contents of a resource come (MTL, Summoning a Resource), now and on each new connection. If the bus
        does not allow it, iterating raises `Refused`. Raises `LocalError` for what is no name."""
        self.summon_resource(resource_name(resource))

    def dismiss(self, resource: str | bytes) -> None:
        """And no more (MTL, Dismissing a Resource)."""
        self.dismiss_resource(resource_name(resource))

    def item(self, content: Content, settle: Callable[[Outcome, str], object]) -> MTLContent:
        resource = content.resource.decode("utf-8", "replace")
        return MTLContent(resource, content.body, fields_of(content.properties, self._limits), settle)

    def __repr__(self) -> str:
        return f"<Reader of profile {self.profile}>"


class MTLConsumption(LeasedFeed[QueueMessage]):
    """The application's wish for the messages of one queue. Each has to be accepted, released or rejected, in any
    order."""

    @property
    def queue(self) -> bytes:
        """Trimmed."""
        (queue,) = self._wanted
        return queue

    def item(self, content: Content, settle: Callable[[Outcome, str], object]) -> QueueMessage:
        fields = fields_of(content.properties, self._limits)
        name = content.resource.decode("utf-8", "replace")
        return QueueMessage(name, content.body, texts_of(fields), *deliveries_of(fields), settle)

    def __repr__(self) -> str:
        return f"<Consumption of {', '.join(map(names.to_text, self._wanted))}>"
