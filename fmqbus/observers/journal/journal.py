"""What happens on the bus, as rows of the journal. An `fmqbus.interfaces.IObserver`, constant in time for each run.

A run of FMQP's goes in as it came: neither its messages nor their topics are looked at, unless rules by topic say that
something is to be left out. Messages of other protocols are written as FMQP has them, where they have no properties.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.calls import REPLIED, Answer, Call, Parcel
from fmqbus.interfaces import IObserver, ISession
from fmqbus.journal.entries import HEADS, PACKET_HEAD, PACKETS, RECORDS, RETAIN, WILL, Client, Record
from fmqbus.journal.kinds import Kind
from fmqbus.limits import KIB
from fmqbus.model import Consumer, Interest, Message, Outcome, Principal, Publication, StoredMessage, readable
from fmqbus.observers.journal.runs import heads_of
from fmqbus.observers.journal.settings import Decisions, JournalSettings, Keep, Sort, WhenBehind
from fmqbus.observers.journal.writer import Writer

_log = Logger()

#: The wire format whose runs are what the journal calls packets.
PACKETS_FORMAT = "fmqp"

#: Records gather in one entry up to so many octets.
_ENTRY_OCTETS = 256 * KIB

_SETTLED: Mapping[Outcome, Kind] = {
    Outcome.ACCEPT: Kind.SETTLE,
    Outcome.RELEASE: Kind.RELEASE,
    Outcome.REJECT: Kind.REJECT,
}


_Event = TypeVar("_Event", bound=Callable[..., None])


def _never_raises(event: _Event) -> _Event:
    """An observer that raises is removed, and rows would be missing in silence: what cannot be told is left out as what
    there is no room for."""

    @wraps(event)
    def told(self: Journal, *arguments: Any) -> None:
        try:
            event(self, *arguments)
        except Exception:
            if not self.writer.is_losing:
                _log.failure("the journal cannot tell that something was {event}", event=event.__name__)
            self.writer.leave_out(1)

    return cast(_Event, told)


@implementer(IPlugin, IObserver)
class Journal:
    """The journal of one bus."""

    def __init__(self, clock: Any, now: Callable[[], float], settings: JournalSettings) -> None:
        """`clock` is an IReactorTime and IReactorFromThreads; `now` tells the POSIX time."""
        self.writer = Writer(clock, now, settings)
        self.writer.on_caught_up = self._release
        self._now = now
        self._pauses = settings.when_behind is WhenBehind.PAUSE
        self._topics = Decisions(settings, Sort.TOPIC)
        self._queues = Decisions(settings, Sort.QUEUE)
        self._methods = Decisions(settings, Sort.METHOD)
        #: Who a session is, as the rows have it, with the principal from which that was made.
        self._clients: dict[ISession, tuple[Principal, Client]] = {}
        #: When sessions were opened, and calls begun.
        self._opened: dict[ISession, float] = {}
        self._begun: dict[int, float] = {}
        #: Those from whom nothing is read because of us.
        self._held: set[ISession] = set()

    def open(self) -> Deferred[None]:
        """Open the log. Fails with `fmqbus.journal.errors.JournalError`."""
        return self.writer.open()

    def close(self) -> Deferred[None]:
        """Write out what there is. Never fails."""
        return self.writer.close()

    # topics

    @_never_raises
    def published(self, session: ISession | None, publication: Publication) -> None:
        wire, route = publication.wire, publication.route
        keep = self._topics.for_all if route is None else self._topics[route.topic]
        if wire is None or keep is None or wire.name != PACKETS_FORMAT:
            self._publish_each(session, publication)
        elif keep is Keep.FULL:
            self._add(
                Kind.PUBLISH, PACKETS, session, publication.count, publication.data, len(publication.targets.entries)
            )
        elif keep is Keep.HEADS:
            heads = heads_of(publication.data, publication.count)
            self._add(Kind.PUBLISH, HEADS, session, publication.count, heads, len(publication.targets.entries))

    def _publish_each(self, session: ISession | None, publication: Publication) -> None:
        subscribers = len(publication.targets.entries)
        for message in publication.messages:
            keep = self._topics[message.topic]
            if keep is Keep.OFF:
                continue
            flags = _flags(message)
            if message.properties:
                data = self.writer.encoded([_record(message, keep)])
                self._add(Kind.PUBLISH, RECORDS, session, 1, data, subscribers)
            elif keep is Keep.FULL:
                head = PACKET_HEAD.pack(flags, len(message.topic), len(message.payload))
                self._add(Kind.PUBLISH, PACKETS, session, 1, head + message.topic + message.payload, subscribers)
            else:
                head = PACKET_HEAD.pack(flags, len(message.topic), len(message.payload))
                self._add(Kind.PUBLISH, HEADS, session, 1, head + message.topic, subscribers)

    @_never_raises
    def dropped(self, session: ISession, publication: Publication, reason: str) -> None:
        wire, route = publication.wire, publication.route
        keep = self._topics.for_all if route is None else self._topics[route.topic]
        if keep is Keep.OFF:
            return
        if wire is not None and wire.name == PACKETS_FORMAT and keep is not None:
            heads, count = heads_of(publication.data, publication.count), publication.count
        else:
            kept = [each for each in publication.messages if self._topics[each.topic] is not Keep.OFF]
            parts = [PACKET_HEAD.pack(_flags(m), len(m.topic), len(m.payload)) + m.topic for m in kept]
            heads, count = b"".join(parts), len(kept)
        if count:
            self._add(Kind.DROP, HEADS, session, count, heads, outcome=reason)

    # queues

    @_never_raises
    def enqueued(self, session: ISession | None, messages: Sequence[StoredMessage]) -> None:
        records = (
            _stored(stored, keep, is_new=True)
            for stored in messages
            if (keep := self._queues[stored.queue]) is not Keep.OFF
        )
        self._add_records(Kind.ENQUEUE, session, records)

    @_never_raises
    def taken(self, session: ISession, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        for kind, is_again in ((Kind.DELIVER, False), (Kind.REDELIVER, True)):
            taken = [stored for _, stored in deliveries if stored.is_redelivered is is_again]
            self._add_stored(kind, session, taken)

    @_never_raises
    def settled(
        self, session: ISession, consumer: Consumer, messages: Sequence[StoredMessage], outcome: Outcome
    ) -> None:
        self._add_stored(_SETTLED[outcome], session, messages)

    @_never_raises
    def gave_up(self, queue: bytes, message: StoredMessage, reason: str) -> None:
        self._add_stored(Kind.EXPIRE if reason == "expired" else Kind.GIVE_UP, None, [message], reason)

    def _add_stored(
        self, kind: Kind, session: ISession | None, messages: Sequence[StoredMessage], outcome: str = ""
    ) -> None:
        now = self._now() if kind is Kind.SETTLE else None
        kept = (stored for stored in messages if self._queues[stored.queue] is not Keep.OFF)
        self._add_records(kind, session, (_stored(stored, Keep.HEADS, now=now) for stored in kept), outcome)

    # calls

    @_never_raises
    def asked(self, calls: Sequence[Call]) -> None:
        for call in calls:
            keep = self._methods[call.method]
            if keep is not Keep.OFF:
                self._begun[call.number] = self._now()
                self._add_parcel(Kind.CALL, call, call.parcel, keep)

    @_never_raises
    def called(self, session: ISession, calls: Sequence[Call]) -> None:
        kept = (call for call in calls if self._methods[call.method] is not Keep.OFF)
        records = (Record(call.method, size=len(call.parcel.payload), message_id=call.number) for call in kept)
        self._add_records(Kind.SERVE, session, records)

    @_never_raises
    def answered(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            call, result = answer.call, answer.result
            keep = self._methods[call.method]
            if keep is not Keep.OFF:
                begun = self._begun.pop(call.number, None)
                latency = None if begun is None else _microseconds(self._now() - begun)
                parcel = result if isinstance(result, Parcel) else None
                outcome = REPLIED if isinstance(result, Parcel) else result.reason
                self._add_parcel(Kind.REPLY, call, parcel, keep, outcome, latency)

    def _add_parcel(
        self, kind: Kind, call: Call, parcel: Parcel | None, keep: Keep, outcome: str = "", latency: int | None = None
    ) -> None:
        record = Record(call.method, message_id=call.number, latency_us=latency)
        if parcel is not None:
            record.size = len(parcel.payload)
            record.payload = parcel.payload if keep is Keep.FULL else None
            record.properties = _properties(parcel.properties)
        client = _client(None, call.caller)
        self.writer.add(kind, RECORDS, client, 1, self.writer.encoded([record]), outcome=outcome)

    # demand and clients

    @_never_raises
    def interest_changed(self, change: Interest) -> None:
        self._add(Kind.DEMAND, RECORDS, None, 1, self.writer.encoded([Record(change.pattern)]), change.subscribers)

    @_never_raises
    def session_opened(self, session: ISession) -> None:
        self._opened[session] = self._now()
        self._add_records(Kind.CONNECT, session, [Record()])

    @_never_raises
    def session_closed(self, session: ISession, reason: str) -> None:
        opened = self._opened.pop(session, None)
        latency = None if opened is None else _microseconds(self._now() - opened)
        self._add_records(Kind.DISCONNECT, session, [Record(latency_us=latency)], reason)
        self._held.discard(session)
        self._clients.pop(session, None)

    # rows

    def _add_records(self, kind: Kind, session: ISession | None, records: Iterable[Record], outcome: str = "") -> None:
        gathered: list[Record] = []
        octets = 0
        for record in records:
            gathered.append(record)
            octets += 64 + len(record.payload or b"")
            if octets >= _ENTRY_OCTETS:
                self._add(kind, RECORDS, session, len(gathered), self.writer.encoded(gathered), outcome=outcome)
                gathered, octets = [], 0
        if gathered:
            self._add(kind, RECORDS, session, len(gathered), self.writer.encoded(gathered), outcome=outcome)

    def _add(
        self,
        kind: Kind,
        layout: int,
        session: ISession | None,
        rows: int,
        data: bytes,
        subscribers: int = 0,
        outcome: str = "",
    ) -> None:
        client = None if session is None else self._client_of(session)
        self.writer.add(kind, layout, client, rows, data, subscribers, outcome)
        if self.writer.is_behind and self._pauses and session is not None and kind in (Kind.PUBLISH, Kind.ENQUEUE):
            self._hold(session)

    def _client_of(self, session: ISession) -> Client:
        principal, client = self._clients.get(session, (None, None))
        if client is None or principal is not session.principal:
            client = _client(session.number, session.principal)
            if session in self._opened:
                self._clients[session] = (session.principal, client)
        return client

    # producers

    def _hold(self, session: ISession) -> None:
        if session not in self._held:
            self._held.add(session)
            session.hold_reading()

    def _release(self) -> None:
        held, self._held = self._held, set()
        for session in held:
            session.release_reading()


def _client(session: int | None, principal: Principal) -> Client:
    facts = principal.facts
    address = facts.address
    if facts.port is not None:
        address = f"[{address}]:{facts.port}" if ":" in address else f"{address}:{facts.port}"
    identity = principal.identity
    if identity is not None:  # it is encoded where nothing may fail any more
        identity = identity.encode(errors="backslashreplace").decode()
    return Client(session, principal.protocol, address or facts.carrier, identity)


def _flags(message: Message) -> int:
    return (RETAIN if message.retain else 0) | (WILL if message.will else 0)


def _record(message: Message, keep: Keep) -> Record:
    payload = message.payload if keep is Keep.FULL else None
    return Record(message.topic, payload, len(message.payload), _properties(message.properties), _flags(message))


def _stored(stored: StoredMessage, keep: Keep, is_new: bool = False, now: float | None = None) -> Record:
    message = stored.message
    record = Record(stored.queue, size=len(message.payload), message_id=stored.number, deliveries=stored.deliveries)
    if now is not None and stored.taken_at is not None:
        record.latency_us = _microseconds(now - stored.taken_at)
    if is_new:
        record.payload = message.payload if keep is Keep.FULL else None
        record.properties = _properties(message.properties)
        record.flags = _flags(message)
        record.priority = stored.priority
        record.expires_at = None if stored.expires_at is None else _microseconds(stored.expires_at)
        record.not_before = _microseconds(stored.not_before) if stored.not_before else None
    return record


def _properties(properties: Mapping[str, str]) -> Mapping[str, str] | None:
    """A dict, whatever kind of mapping a protocol has them in, and without what is only for that protocol."""
    return readable(properties) or None


def _microseconds(seconds: float) -> int:
    return round(seconds * 1_000_000)
