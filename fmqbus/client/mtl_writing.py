"""What does an MTL client write, and what becomes of it? One writer for each profile, with a data flow of its own.

Contents wait while there is no flow, and while the window or the socket has no room. Where they are confirmed, what the
bus has not taken over when the connection goes is sent again on the next one, before all else. What it rejects for now
is sent again a little later, and so behind what it has taken meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from typing import Protocol as Contract

import attrs
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.error import ConnectionLost

from fmqbus.client.mtl_data_link import DataLink, FlowUser
from fmqbus.client.mtl_flow import Event, Safe, Standing, Unwanted
from fmqbus.client.mtl_words import resource_name
from fmqbus.client.unacknowledged import AcknowledgedOutgoing
from fmqbus.errors import BusError, Detached, LocalError, Overloaded, Refused
from fmqbus.limits import Limits
from fmqbus.model import NO_PROPERTIES
from fmqbus.protocols.mtl import commands
from fmqbus.protocols.mtl.field_table import write_table

#: How soon what was rejected for now is tried again: at first, and at last.
SHORTEST_SECONDS, LONGEST_SECONDS = 0.05, 5.0


class FlowSource(Contract):
    """The client, to those who have flows of it."""

    #: What the bus has said that cannot be understood, or is not a bus's to say; dropped.
    invalid: int

    def want_flow(self, user: FlowUser) -> None:
        """Have a flow on each connection, until it is left."""

    def leave_flow(self, user: FlowUser, resources: list[bytes]) -> None:
        """And no more; see `fmqbus.client.mtl_link.MTLLink.leave`. May be repeated."""


@attrs.frozen(slots=True, eq=False)
class Letter:
    """A content on its way."""

    resource: bytes
    table: bytes
    body: bytes

    def __len__(self) -> int:
        """About what it takes."""
        return len(self.resource) + len(self.table) + len(self.body)


class MTLWriter:
    """Writes contents to resources of one profile. Use it until `close`."""

    def __init__(
        self,
        source: FlowSource,
        clock: Any,
        limits: Limits,
        profile: str,
        flow: commands.Writer,
        window: int,
        resend: bool,
    ) -> None:
        self.profile = profile.lower()
        self.flow = flow
        self.window = window
        self.outgoing: AcknowledgedOutgoing[Letter] = AcknowledgedOutgoing(limits.outbox_octets)
        self.outgoing.is_acknowledged = flow.is_confirmed
        self._source = source
        self._clock = clock
        self._limits = limits
        self._resend = resend
        self._data: DataLink | None = None
        #: The bus has not given a lease; who writes asks again.
        self._was_denied = False
        self._pause_seconds = SHORTEST_SECONDS
        self._pause: Any = None

    def write(
        self, resource: str | bytes, body: bytes, properties: Mapping[str, Any] = NO_PROPERTIES
    ) -> Deferred[None]:
        """Send a content. `properties` are what a field table can hold: text, octets, whole numbers, floats, Booleans,
        times, None, and lists and mappings of these.

        Returns a Deferred that fires once the bus has confirmed it; without confirmations, once ZeroMQ has it. It fails
        with `Refused` if the bus rejects it, or gives no lease. Raises `LocalError` for what has no place in a content
        or the lease, `Overloaded` if what waits takes more than `Limits.outbox_octets`, and `Detached` after the client
        has stopped.
        """
        return self.send(resource_name(resource), write_table(properties), body)

    def send(self, resource: bytes, table: bytes, body: bytes) -> Deferred[None]:
        """The same, as it is said."""
        if len(body) > self._limits.body_octets:
            raise LocalError(f"a body of {len(body)} octets; at most {self._limits.body_octets} are sent")
        if len(table) + len(resource) > self._limits.control_octets - 64:
            raise LocalError(f"properties of {len(table)} octets; a header has at most {self._limits.control_octets}")
        if self.flow.resources and resource not in self.flow.resources:
            raise LocalError(f"the lease is not for {resource!r}")
        sent = self.outgoing.send(Letter(resource, table, body))
        if self._was_denied:
            self._was_denied = False
            self._source.want_flow(self)
        return sent

    def when_room(self) -> Deferred[None]:
        """Return a Deferred that fires once a content would leave at once. Fails with `Detached` when the client
        stops."""
        return self.outgoing.when_room()

    async def sync(self) -> None:
        """Wait until the bus has taken in all that was written so far, or has refused it."""
        await self.outgoing.when_done()
        if not self.flow.is_confirmed and self._data is not None:
            self._data.ask()
            await self._data.when_quiet()

    def close(self) -> None:
        """Write no more; what waits, or is not confirmed, fails with `Detached`. May be repeated."""
        self.outgoing.close()
        self._source.leave_flow(self, [])
        self.flow_lost()

    def __repr__(self) -> str:
        return f"<Writer of profile {self.profile}>"

    # `fmqbus.client.mtl_data_link.FlowUser`

    def flow_begun(self, data: DataLink) -> None:
        self._data = data

    def flow_heard(self, event: Event) -> None:
        match event:
            case Standing():
                self._go_on()
            case Safe(letters):
                self._pause_seconds = SHORTEST_SECONDS
                self.outgoing.acknowledged(letters)
                self._go_on()
            case Unwanted(letters, is_for_now):
                self._unwanted(letters, is_for_now)

    def flow_clear(self) -> None:
        self._go_on()

    def flow_denied(self, error: BusError) -> None:
        self._was_denied = True
        self.outgoing.fail(error)

    def flow_lost(self) -> None:
        self._data = None
        self.outgoing.pause()
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        self.outgoing.connection_lost(None if self._resend else ConnectionLost("before it was confirmed"))

    def _unwanted(self, letters: list[Letter], is_for_now: bool) -> None:
        if not is_for_now:
            self.outgoing.rejected(letters, Refused("the bus rejects it"))
        elif not self._resend:
            self.outgoing.rejected(letters, Overloaded("the bus has no room for it now"))
        else:
            self.outgoing.again(letters)
            if self._pause is None:
                self.outgoing.pause()
                self._pause = self._clock.callLater(self._pause_seconds, self._pause_over)
                self._pause_seconds = min(self._pause_seconds * 2, LONGEST_SECONDS)
        self._go_on()

    def _pause_over(self) -> None:
        self._pause = None
        self._go_on()

    def _go_on(self) -> None:
        if self._pause is None and self._data is not None and self._data.has_room:
            self.outgoing.resume(self._write)

    def _write(self, letter: Letter) -> None:
        data = self._data
        assert data is not None, "who has no flow is paused"
        data.write(letter.resource, letter.table, letter.body, letter)
        if not data.has_room:
            self.outgoing.pause()


class Writers:
    """All of one client; to what all clients do alike, they are what goes out."""

    def __init__(self) -> None:
        self._writers: dict[MTLWriter, None] = {}
        self._made: dict[tuple[str, commands.Writer], MTLWriter] = {}

    def __iter__(self) -> Any:
        return iter(list(self._writers))

    def add(self, writer: MTLWriter) -> MTLWriter:
        """One more."""
        self._writers[writer] = None
        return writer

    def at(self, key: tuple[str, commands.Writer], make: Callable[[], MTLWriter]) -> MTLWriter:
        """The one that all share who write like this."""
        if key not in self._made:
            self._made[key] = self.add(make())
        return self._made[key]

    def discard(self, writer: MTLWriter) -> None:
        """One is closed."""
        self._writers.pop(writer, None)

    # as `fmqbus.client.outgoing.Outgoing`

    def reopen(self) -> None:
        """The client starts again."""
        for writer in self:
            writer.outgoing.reopen()

    def pause(self) -> None:
        """The connection has gone; each has been told by its flow."""

    def close(self) -> None:
        """The client stops."""
        for writer in self:
            writer.outgoing.close()

    def fail(self, error: Exception) -> None:
        """Nothing of what waits now will be sent."""
        for writer in self:
            writer.outgoing.fail(error)

    def when_room(self) -> Deferred[None]:
        """Fires once all have room."""
        waiting = DeferredList([writer.when_room() for writer in self], fireOnOneErrback=True, consumeErrors=True)
        return waiting.addCallbacks(lambda _: None, _own_error)


def _own_error(reason: Any) -> Any:
    """Of several that fail, the first."""
    error = reason.value.subFailure.value if hasattr(reason.value, "subFailure") else reason.value
    raise error if isinstance(error, BusError) else Detached(str(error))
