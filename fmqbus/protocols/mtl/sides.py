"""Who acts on the bus for one direction of a data flow? (MTL, Data Flow; readings 28 and 30)

A reader and a writer that share a flow may have leases of different clients, so each is a session of its own. What they
do with contents is their profile's; here is what all of them have in common: numbers, windows, and the link.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from fmqbus.errors import BusError, Overloaded, StoreFailed
from fmqbus.interfaces import IMTLFlow, IMTLProfile, IMTLReader, IMTLWriter, IRouter
from fmqbus.model import Consumer, Principal, Publication, StoredMessage, Subscription
from fmqbus.protocols.mtl.commands import Confirm, Content, Reject
from fmqbus.protocols.mtl.confirmations import Receipt, Received, Sent, outcome_of
from fmqbus.protocols.mtl.data_codec import write_content_header, write_rest, write_table_with_length
from fmqbus.protocols.mtl.leases import Grant
from fmqbus.protocols.mtl.owner import Owner
from fmqbus.protocols.quiet_peer import QuietPeer

_log = Logger()


class Carrying(Protocol):
    """The flow, as its directions see it."""

    is_full: bool

    def send(self, parts: Sequence[bytes]) -> bool:
        """As `IPartsSocket.send`, but that it does not raise; False if the message is not sent, and will not be."""

    def send_contents(self, sequences: Sequence[int], contents: Sequence[tuple[bytes, bytes]]) -> None:
        """The same for many, each with its number. Those behind one that fills the link wait with it."""

    def owes(self) -> None:
        """There is something to confirm that no turn of this flow's own brings."""

    def lost(self, resource: bytes) -> None:
        """The bus has ended what was summoned."""

    def end(self, reason: str, is_sent: bool = False) -> None:
        """The bus has ended a direction, or its owner has: the flow ends. What waits in the link is forgotten, unless
        it is to be sent all the same."""

    def soon(self, act: Callable[[], None]) -> None:
        """Do this when the bus is not at work."""


@implementer(IMTLFlow)
class Side(QuietPeer):
    """One direction."""

    def __init__(self, flow: Carrying, grant: Grant[Owner], profile: IMTLProfile, window: int) -> None:
        """Raises `Refused` while the bus ends."""
        self.owner = grant.owner
        self.router: IRouter = self.owner.router
        self.is_confirmed = grant.is_confirmed
        self.window = window
        self._flow = flow
        self._has_ended = False
        super().__init__(self.router, self.owner.principal)
        self.owner.flows[self] = None
        try:
            self._begin(profile)
        except BaseException:
            Side.close(self, "failed")
            raise

    def _begin(self, profile: IMTLProfile) -> None:
        """Have the profile act."""
        raise NotImplementedError

    @property
    def principal(self) -> Principal:
        """As whom it acts."""
        return self.bus.principal

    @property
    def room(self) -> int:
        """Nothing is sent by who only writes."""
        return 0

    def name_of(self, resource: bytes) -> bytes:
        return self.owner.name_of(resource)

    def resource_of(self, name: bytes) -> bytes:
        return self.owner.resource_of(name)

    def send(self, resource: bytes, table: bytes, body: bytes, tag: Any = None) -> bool:
        """Nothing is sent by who only writes."""
        return False

    def send_written(self, contents: Sequence[tuple[bytes, bytes]]) -> int:
        """Nothing is sent by who only writes."""
        return 0

    def soon(self, act: Callable[[], None]) -> None:
        """See `IMTLFlow`. What fails is logged, and ends the flow."""

        def act_if_alive() -> None:
            if self._has_ended:
                return
            try:
                act()
            except Exception:
                _log.failure("a profile of MTL has failed")
                self._flow.end("failed")

        self._flow.soon(act_if_alive)

    def dismissed(self, resource: bytes) -> None:
        self._flow.lost(resource)

    def become(self, principal: Principal) -> None:
        """See `Owned`."""
        if not self._has_ended:
            self.bus.become(principal)

    def end(self, reason: str) -> None:
        """See `Owned`."""
        self._flow.end(reason)

    def close(self, reason: str) -> None:
        """The flow has ended."""
        self._has_ended = True
        self.owner.discard(self)
        self.bus.close(reason)

    def ending(self, reason: str) -> None:
        """The bus ends this client, so the flow."""
        self._flow.end(reason, is_sent=True)

    def abort(self, reason: str) -> None:
        self._flow.end(reason)


class ReaderSide(Side):
    """Contents go to the client."""

    #: Each resource is a subscription of its own.
    is_blind = False

    def _begin(self, profile: IMTLProfile) -> None:
        self._sent: Sent[Any] = Sent(self.is_confirmed, self.window)
        self._reader: IMTLReader = profile.reader(self)

    @property
    def room(self) -> int:
        return 0 if self._has_ended or self._flow.is_full else self._sent.room

    def send(self, resource: bytes, table: bytes, body: bytes, tag: Any = None) -> bool:
        rest = write_rest(resource, write_table_with_length(table))
        return self._flow.send((write_content_header(self._sent.next(tag), rest), body))

    def send_written(self, contents: Sequence[tuple[bytes, bytes]]) -> int:
        if self._has_ended or self._flow.is_full:
            return 0
        sequences = self._sent.next_many(len(contents), None)
        self._flow.send_contents(sequences, contents)
        return len(sequences)

    def summon(self, resource: bytes) -> None:
        """Raises a `BusError` if it cannot be."""
        self._reader.summon(resource)

    def dismiss(self, resource: bytes) -> None:
        """It is summoned."""
        self._reader.dismiss(resource)

    def settle(self, settling: Confirm | Reject) -> bool:
        """The client says what becomes of contents; False if it is invalid, which is nobody's matter (reading 50)."""
        tags = self._sent.settle(settling)
        if tags:
            self._reader.settled(tags, outcome_of(settling))
        return bool(tags)

    def link_clear(self) -> None:
        """Nothing waits for the client any more."""
        self._reader.go_on()

    def close(self, reason: str) -> None:
        """What is unsettled goes back to its queues by itself (reading 31)."""
        self._sent.take_all()
        try:
            self._reader.ended()
        except Exception:
            _log.failure("a profile of MTL has failed")
        super().close(reason)
        del self._reader  # it has this side

    def deliver(self, batch: Sequence[tuple[Publication, tuple[Subscription, ...]]]) -> None:
        self._reader.deliver(batch)
        self.bus.count_sent(sum(each.count for each, _ in batch), sum(each.size for each, _ in batch))

    def take(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        self._reader.take(deliveries)
        self.bus.count_sent(len(deliveries), sum(len(stored.message.payload) for _, stored in deliveries))

    def subscription_ended(self, subscription: Subscription, reason: str) -> None:
        self._reader.subscription_ended(subscription, reason)

    def consumer_ended(self, consumer: Consumer, reason: str) -> None:
        self._reader.consumer_ended(consumer, reason)


#: The client may send these again.
_LATER = (Overloaded, StoreFailed)


class WriterSide(Side):
    """Contents come from the client."""

    def _begin(self, profile: IMTLProfile) -> None:
        self._received = Received(self.window)
        self._writer: IMTLWriter = profile.writer(self)

    def write(self, content: Content, resource: bytes) -> None:
        """A content has come. Raises a `BusError` for one that was not taken, which is then told if contents are
        confirmed (readings 47 and 49)."""
        sequence, received = content.sequence, self._received
        if not self.is_confirmed:
            waiting = self._writer.write(resource, content.properties, content.body)
            if waiting is not None:
                waiting.addErrback(self._count_failure)
            return
        if not received.has_room:
            received.refused(sequence, recycle=True)
            raise Overloaded("too many contents wait to be safe", "window")
        try:
            waiting = self._writer.write(resource, content.properties, content.body)
        except BusError as error:
            self.refuse(sequence, error)
            raise
        receipt = received.came(sequence)
        if waiting is None:
            received.safe(receipt)
        else:
            waiting.addCallbacks(self._safe, self._rejected, callbackArgs=(receipt,), errbackArgs=(receipt,))

    def turn_over(self) -> None:
        """All that has come in this turn is written."""
        self._writer.turn_over()

    def close(self, reason: str) -> None:
        """What came before still goes on."""
        self._has_ended = True
        self._writer.turn_over()
        super().close(reason)
        del self._writer  # it has this side

    def refuse(self, sequence: int, error: BusError) -> None:
        """A content is not taken."""
        if self.is_confirmed:
            self._received.refused(sequence, recycle=isinstance(error, _LATER))

    def to_say(self) -> Sequence[Confirm | Reject]:
        """Take what is to be told to the client now."""
        return self._received.to_say() if self._received.is_owing else ()

    def _safe(self, _: None, receipt: Receipt) -> None:
        self._received.safe(receipt)
        self._flow.owes()

    def _rejected(self, failure: Failure, receipt: Receipt) -> None:
        self._count_failure(failure)
        self._received.rejected(receipt, recycle=failure.check(*_LATER) is not None)
        self._flow.owes()

    def _count_failure(self, failure: Failure) -> None:
        error = failure.value
        self.bus.count_refused(error.reason if isinstance(error, BusError) else "failed")
        if not isinstance(error, BusError):
            _log.failure("a profile of MTL has failed", failure)
