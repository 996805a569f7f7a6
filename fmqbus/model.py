"""The values that cross layers. Frozen where they can be, slotted always, free of I/O and of any protocol.

The unit of work is a **run**, not a message: a `Publication` stands for one or many messages that arrived
together and go to the same targets, and carries the very octets they came in as. Whoever needs single
messages asks for `Publication.messages`, and pays for it; whoever needs another wire format asks for
`Publication.encoded`, which is done once per format, not once per receiver.

One long file, because the values are made of each other and every layer reads them: this is the bus's vocabulary.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence, Sized
from math import inf
from typing import Any, Protocol, TypeVar

import attrs
import msgspec

from fmqbus.errors import LocalError

#: Of all messages that have none; never filled.
NO_PROPERTIES: Mapping[str, str] = {}

#: A property in which MicroMsg2 keeps the others just as they were written, for its own clients and none else.
AS_WRITTEN = "micromsg2:properties"
#: The same of MTL: the entries of the field table, an octet for each character.
AS_TABLE = "mtl:properties"

_PRIVATE = frozenset({AS_WRITTEN, AS_TABLE})

#: Properties of a dead letter: why the bus put it away (``rejected``, ``expired``, ``delivery-limit``, ``queue-full``),
#: the queue it was in, and what the consumer said that rejected it. Only the bus sets them.
DEAD_LETTER_REASON = "dead-letter-reason"
DEAD_LETTER_QUEUE = "dead-letter-queue"
DEAD_LETTER_DETAIL = "dead-letter-detail"


#: Properties that say where an answer goes, and the protocol whose clients alone may have them set: anybody else could
#: have a stranger told what nobody has answered.
ANSWER_ADDRESSES: Mapping[str, str] = {"emqp:client": "emqp"}


class Action(enum.Enum):
    """What a peer may be allowed to do with a name; the words of policy files."""

    PUBLISH = "publish"
    SUBSCRIBE = "subscribe"
    RETAIN = "retain"
    WILL = "will"
    WATCH = "watch"
    ENQUEUE = "enqueue"
    CONSUME = "consume"
    CALL = "call"
    SERVE = "serve"
    SCHEDULE = "schedule"
    MANAGE = "manage"
    CONTROL = "control"


class Decision(enum.Enum):
    """An authorizer's answer. If all defer, the answer is no."""

    ALLOW = "allow"
    DENY = "deny"
    DEFER = "defer"


class Overflow(enum.Enum):
    """What happens to a publication that finds an outbox full."""

    DROP_OLDEST = "drop-oldest"
    DROP_NEWEST = "drop-newest"
    CONFLATE = "conflate"
    DISCONNECT = "disconnect"
    PAUSE = "pause"


class Parting(enum.IntEnum):
    """Why a link is closed, as far as its carrier can tell. The numbers are WebSocket's (RFC 6455, 7.4.1)."""

    NORMAL = 1000
    GOING_AWAY = 1001
    #: The client said what its protocol does not allow.
    PROTOCOL_ERROR = 1002
    #: The client sent a kind of unit that its protocol does not know.
    UNSUPPORTED = 1003
    #: Text that is no UTF-8, or what cannot be inflated.
    INVALID = 1007
    #: Rights, or rules that have no number of their own.
    REFUSED = 1008
    TOO_BIG = 1009
    #: A mistake of ours.
    FAILED = 1011
    #: The bus is full, or not yet ready.
    TRY_AGAIN_LATER = 1013


@attrs.frozen(slots=True, cache_hash=True)
class PeerFacts:
    """What the transport knows about the other end, none of it said by the peer's own protocol.

    Values are equal for all connections that an authorizer cannot tell apart: ports and process ids take no
    part in equality, so that peers alike share one cache of decisions.
    """

    #: ``tcp``, ``tls``, ``curve``, ``unix``, ``memory``, ...
    carrier: str
    #: The host's address as text; empty where there is none (UNIX sockets, memory).
    address: str = ""
    #: The peer is on this machine: loopback address, UNIX socket, or memory.
    is_local: bool = False
    #: Subject alternative names of a verified client certificate, as ``dns:NAME``, ``uri:NAME``, ``email:NAME``.
    certificate_names: tuple[str, ...] = ()
    #: SHA-256 of that certificate, lower-case hex; empty without one.
    certificate_fingerprint: str = ""
    #: UNIX credentials (SO_PEERCRED); None where the carrier has none.
    uid: int | None = None
    gid: int | None = None
    pid: int | None = attrs.field(default=None, eq=False)
    port: int | None = attrs.field(default=None, eq=False)
    #: The CURVE key that the peer has proved to have (ZeroMQ's RFC 26), as Z85; empty without one.
    curve_key: str = ""
    #: A user of the bus who has logged in to the carrier itself, and its groups; None for all others.
    user: str | None = None
    groups: frozenset[str] = frozenset()

    def proves_as(self, other: PeerFacts) -> bool:
        """Tell whether both have proved the same to the carrier, wherever they are."""
        return (self.curve_key, self.user, self.groups) == (other.curve_key, other.user, other.groups)


class SocketKind(enum.Enum):
    """How one socket of a protocol of parts stands to its many peers; the words of ZeroMQ."""

    #: Hears each peer, and speaks to each.
    ROUTER = "router"
    #: Speaks to all peers that want it: those that asked for something the first part of a message begins with.
    XPUB = "xpub"


@attrs.frozen(slots=True)
class SocketPlan:
    """One of the sockets that a protocol of parts listens with."""

    #: What listen strings call it.
    name: str
    kind: SocketKind
    #: Where it listens if the listen string names no socket at all.
    default_port: int


@attrs.frozen(slots=True)
class Origin:
    """What a carrier of parts knows about the sender of one message; the same object for all senders alike."""

    facts: PeerFacts
    #: The kind of socket that the peer has, such as ``DEALER`` or ``REQ``, as it says itself; in capital letters.
    socket_type: str = ""


@attrs.frozen(slots=True, cache_hash=True)
class Principal:
    """Who a session acts as: the subject of every access decision."""

    protocol: str
    facts: PeerFacts
    #: A name proved by a login, a certificate or a key; None for a peer that proved nothing. At first, what has been
    #: proved to the carrier.
    identity: str | None = attrs.field(default=attrs.Factory(lambda self: self.facts.user, takes_self=True))
    groups: frozenset[str] = attrs.field(default=attrs.Factory(lambda self: self.facts.groups, takes_self=True))


class Message(msgspec.Struct, frozen=True, gc=False):
    """One message, in the bus's own terms.

    A bus may hold millions of these, so it is the lightest kind of object there is; the garbage collector, which would
    stop the bus for a second, passes them by.
    """

    #: Trimmed name, see `fmqbus.names`.
    topic: bytes
    payload: bytes
    #: Published with the wish to be kept for later subscribers (FMQP: cache flag).
    retain: bool = False
    #: A last will, now published.
    will: bool = False
    #: What the protocol of origin said beside the payload, for protocols that can carry it.
    properties: Mapping[str, str] = NO_PROPERTIES


#: Messages as all receivers of one protocol share them: octets, or what octets are soon made of. Its length is how many
#: octets that are.
Encoded = TypeVar("Encoded", bound=Sized)


class WireFormat(Protocol[Encoded]):
    """How messages look on one protocol's wire; made once per protocol and compared by identity."""

    name: str

    def encode(self, messages: Sequence[Message]) -> Encoded:
        """Return these messages, one after the other."""

    def decode(self, data: Encoded) -> Iterable[Message]:
        """Return the messages in what this very format carried across the bus."""


class Publication:
    """A run: `count` messages that arrived together and go to the same targets, as they came.

    Made on the hot path, once per run; therefore a plain slotted class. Treat as immutable.
    """

    __slots__ = ("_encoded", "_messages", "count", "data", "route", "targets", "wire")

    def __init__(
        self,
        wire: WireFormat[Any] | None,
        data: Sized,
        count: int,
        targets: Targets,
        route: Route | None,
        messages: tuple[Message, ...] | None = None,
    ) -> None:
        self.wire = wire
        #: The run in the form of `wire`; empty without one.
        self.data: Any = data
        self.count = count
        self.targets = targets
        #: The route of all its messages; None if they are of several topics, or of one that has no route.
        self.route = route
        self._messages = messages
        self._encoded: dict[WireFormat[Any], Any] | None = None

    @classmethod
    def of(cls, message: Message, targets: Targets | None = None, route: Route | None = None) -> Publication:
        """A publication of one message that did not come from a wire."""
        return cls(None, b"", 1, targets or NOBODY, route, (message,))

    @property
    def size(self) -> int:
        """Octets this publication holds in memory, for the accounting of outboxes."""
        return len(self.data) or sum(len(m.topic) + len(m.payload) for m in self.messages)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The single messages; decoded at the first call."""
        if self._messages is None:
            assert self.wire is not None, "a publication has octets of a wire format or messages"
            self._messages = tuple(self.wire.decode(self.data))
        return self._messages

    def encoded(self, wire: WireFormat[Encoded]) -> Encoded:
        """The messages in `wire`'s format: as they came in, or encoded once for all receivers."""
        if self._encoded is None:
            self._encoded = {} if self.wire is None else {self.wire: self.data}
        data: Encoded | None = self._encoded.get(wire)
        if data is None:
            data = self._encoded[wire] = wire.encode(self.messages)
        return data


@attrs.frozen(slots=True, eq=False)
class Subscription:
    """One peer's wish for the publications under one pattern. Compared by identity."""

    pattern: bytes
    #: Hidden from interest: neither its beginning nor its end is told to watchers (FMQP: debug flag).
    hidden: bool = False
    overflow: Overflow = Overflow.DROP_OLDEST
    #: What the subscribing protocol wants back with each delivery (a topic id, a lease, filters); opaque here.
    tag: Any = None


class Outcome(enum.Enum):
    """How a consumer settles a message of a queue."""

    #: Done: the queue forgets it.
    ACCEPT = "accept"
    #: Not done: back to the front of the queue, marked as redelivered; after a delay where the queue retries with
    #: backoff.
    RELEASE = "release"
    #: Cannot be done: to the dead-letter queue, with the reason.
    REJECT = "reject"


class QueueOverflow(enum.Enum):
    """What happens to a message that finds its queue full."""

    #: The producer is told no.
    REFUSE = "refuse"
    #: It is taken, and nothing more is read from the producer until the queue is half empty; at twice the bounds it is
    #: refused after all.
    PAUSE = "pause"
    #: The oldest ones of the lowest priority give way, if that is not higher than its own; else it is refused.
    DROP_OLDEST = "drop-oldest"
    #: It becomes a dead letter at once; refused where there is no queue for it.
    DEAD_LETTER = "dead-letter"


@attrs.frozen(slots=True, kw_only=True)
class QueueSettings:
    """How the queues under one pattern behave. Times in seconds; 0 is off."""

    max_messages: int = 1_000_000
    max_octets: int = 1024 * 1024 * 1024
    overflow: QueueOverflow = QueueOverflow.REFUSE
    #: Kept in the message store, if the bus has one.
    durable: bool = True
    #: Of messages that say nothing themselves; what they say is cut to it.
    time_to_live: float = 0.0
    #: Deliveries of one message at most; then it goes to the dead-letter queue. Dead letters themselves have none.
    delivery_limit: int = 20
    #: Waiting time before a released message comes again: the first, its factor for each further one, and the longest.
    retry_first: float = 0.0
    retry_factor: float = 2.0
    retry_longest: float = 3600.0
    #: Where rejected, expired and too often delivered messages go: a queue's name; None forgets them, and counts.
    dead_letter: bytes | None = b"dead"


DEFAULT_QUEUE_SETTINGS = QueueSettings()


def _is_wait(_: Any, attribute: Any, seconds: float | None) -> None:
    if seconds is not None and not 0 <= seconds < inf:
        raise LocalError(f"{attribute.name} is a number of seconds, not {seconds}")


def _is_priority(_: Any, attribute: Any, priority: int) -> None:
    if not 0 <= priority <= 9:
        raise LocalError(f"a priority is one of 0 to 9, not {priority}")


@attrs.frozen(slots=True, kw_only=True)
class Terms:
    """What a producer asks for one message of a queue. Raises `LocalError` for what cannot be asked."""

    #: 0 to 9; all of a higher priority are delivered before any of a lower one.
    priority: int = attrs.field(default=0, validator=_is_priority)
    #: Seconds until the message is of no use; None as the queue's settings say.
    time_to_live: float | None = attrs.field(default=None, validator=_is_wait)
    #: Seconds until the message may be delivered.
    delay: float = attrs.field(default=0.0, validator=_is_wait)


PLAIN_TERMS = Terms()


@attrs.frozen(slots=True)
class BatchPart:
    """Which part of a batch is it? One that is too large for one call comes in several, in their order."""

    number: int = 0
    of: int = 1
    #: Tells the whole batch from any other, such as a checksum; for who says a batch again must say the same.
    digest: str = ""


WHOLE_BATCH = BatchPart()


class StoredMessage(msgspec.Struct, eq=False, gc=False):
    """A message in a queue, as a store keeps it. Only the queue changes it. As light as `Message`; compared by
    identity."""

    queue: bytes
    #: Unique within the bus and rising; the order of equal priorities.
    number: int
    message: Message
    priority: int = 0
    #: POSIX seconds; None for never.
    expires_at: float | None = None
    #: POSIX seconds; not delivered before.
    not_before: float = 0.0
    #: How often it was handed to a consumer.
    deliveries: int = 0
    #: It may have been handed out before, perhaps by a broker that is no more.
    is_redelivered: bool = False
    #: POSIX seconds: since when a consumer holds it; None if none does. No store keeps it.
    taken_at: float | None = None

    @property
    def octets(self) -> int:
        """What it counts against the bounds of its queue."""
        message = self.message
        octets = len(message.topic) + len(message.payload)
        for key, value in message.properties.items():
            octets += len(key) + len(value)
        return octets


@attrs.define(slots=True, eq=False)
class Credit:
    """How many more messages the consumers of one client that share it may be handed, all together. Settling does not
    give any back. Compared by identity; only the router changes it."""

    left: int = 0
    consumers: list[Consumer] = attrs.field(factory=list)


@attrs.define(slots=True, eq=False)
class Consumer:
    """One peer's wish for messages of one queue. Compared by identity; only the queue changes it."""

    queue: bytes
    #: Messages it may hold unsettled.
    window: int
    #: Its share among consumers with room: one of weight 2 gets two messages for each one of weight 1.
    weight: int = 1
    #: What the consuming protocol wants back with each delivery; opaque here.
    tag: Any = None
    #: While one of a higher priority has room, those of a lower one get nothing.
    priority: int = 0
    #: A bound that it shares with others; None for the window alone.
    credit: Credit | None = None
    #: Unsettled messages by number, in the order of delivery.
    unsettled: dict[int, StoredMessage] = attrs.field(factory=dict)


@attrs.frozen(slots=True)
class QueueStatus:
    """A queue at one moment, for people."""

    name: bytes
    ready: int
    unsettled: int
    delayed: int
    octets: int
    consumers: int
    #: Since the queue came to be. All that was ever `enqueued` is ready, unsettled, delayed, `accepted`,
    #: `dead_lettered`, `requeued` or `dropped`.
    enqueued: int
    delivered: int
    accepted: int
    released: int
    #: Put away into another queue.
    dead_lettered: int
    #: Sent back to the queue they came from.
    requeued: int
    #: Forgotten: to make room, by a purge, or for want of a queue for dead letters.
    dropped: int
    #: Too old before anybody accepted them; among those dead-lettered or dropped.
    expired: int
    #: Never taken, because there was no room.
    refused: int


@attrs.frozen(slots=True)
class SessionStatus:
    """A session at one moment, for people."""

    #: Rises with each session of the bus.
    number: int
    principal: Principal
    #: Its client has gone, and may come back.
    is_detached: bool
    subscriptions: int
    #: Since the session began: units read from the client, publications written to it, and octets of either.
    messages_in: int
    messages_out: int
    octets_in: int
    octets_out: int
    #: Messages on their way to it that its outbox let go, and what it said that was discarded.
    lost: int
    refused: int
    #: What waits for its link, with what that costs in memory.
    kept_octets: int
    #: Its link takes no data now, or something waits for it.
    is_slow: bool


@attrs.frozen(slots=True)
class Interest:
    """How many visible subscriptions there are to one exact pattern. Told to watchers whenever it changes."""

    pattern: bytes
    subscribers: int

    @property
    def size(self) -> int:
        """Octets, for the accounting of outboxes."""
        return len(self.pattern)


class Receiver(Protocol):
    """Where a publication is put on its way to one peer; the router's outbox."""

    def put(self, publication: Publication, matched: tuple[Subscription, ...], source: Any) -> None:
        """Take the publication over; it is delivered when the turn is over, or when the peer has room."""


class Targets:
    """A set of receivers, shared by every route that leads to just these: compare by identity.

    Each entry is (outbox, matched): `matched` are the receiver's subscriptions that fit, or an empty tuple for a
    receiver that does not need to know which of them did (`IPeer.is_blind`). Routes of different topics
    then share one Targets, and a run may span them.
    """

    __slots__ = ("__weakref__", "entries", "is_single")

    def __init__(self, entries: tuple[tuple[Receiver, tuple[Subscription, ...]], ...]) -> None:
        self.entries = entries
        #: One receiver at most, and one that is told nothing of what matched: it has no second such set, so that what
        #: is for it may be gathered without disturbing its order.
        self.is_single = not entries or (len(entries) == 1 and not entries[0][1])


#: Nobody listens.
NOBODY = Targets(())
#: Not for the fast lane: the packet needs a look of its own (invalid, denied, service topic, outer slashes).
SINGLY = Targets(())


class Route:
    """Where publications of one topic go, and how many did. Live: subscriptions change it, the hot path reads it.

    `targets` is None while unknown; the reader then asks `rematch`, which knows.
    """

    __slots__ = ("__weakref__", "dropped", "messages", "octets", "router", "targets", "topic")

    def __init__(self, topic: bytes, router: RouteMatcher | None, targets: Targets | None = None) -> None:
        self.topic = topic
        self.router = router
        self.targets = targets
        self.messages = 0
        #: Of topics and payloads, with the heads of the frames that they came in.
        self.octets = 0
        #: Messages that outboxes let go.
        self.dropped = 0

    def rematch(self) -> Targets:
        """Find the targets anew and remember them."""
        assert self.router is not None, "a route without a router has fixed targets"
        return self.router.match(self)


class RouteMatcher(Protocol):
    """What a `Route` needs of the router."""

    def match(self, route: Route) -> Targets:
        """Set and return `route.targets`."""


#: What a route cache answers for a name that must not take the fast lane.
SINGLY_ROUTE = Route(b"", None, SINGLY)


def readable(properties: Mapping[str, str]) -> Mapping[str, str]:
    """The properties of a message, for people and for other protocols: without those that are one protocol's own."""
    return {name: text for name, text in properties.items() if name not in _PRIVATE} if properties else NO_PROPERTIES
