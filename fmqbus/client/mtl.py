"""The MTL client for Twisted: topics, queues, and the resources of any profile.

A service that keeps up one session and the data flows that it has leased there: one for all subscriptions, one for each
queue that is consumed, and one for what is written in each profile. On each new connection everything is leased and
summoned again. Deferreds may be awaited in Twisted's coroutines. docs/client.md has whole programs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory

from fmqbus import names
from fmqbus.client.events import Message
from fmqbus.client.feed import MAX_QUEUE
from fmqbus.client.mtl_data_link import FlowUser
from fmqbus.client.mtl_link import PING_SECONDS, MTLLink
from fmqbus.client.mtl_place import settings_of
from fmqbus.client.mtl_reading import MTLConsumption, MTLContent, MTLReader, Summoning
from fmqbus.client.mtl_session import ANSWER_SECONDS, MakeSockets, MTLEndpoint
from fmqbus.client.mtl_topics import Subscribed, Subscriptions
from fmqbus.client.mtl_words import publication_table, queue_table, resource_name
from fmqbus.client.mtl_writing import MTLWriter, Writers
from fmqbus.client.queue_message import QueueMessage
from fmqbus.client.reconnecting import RETRY_POLICY, ReconnectingClient
from fmqbus.client.sasl import Login
from fmqbus.client.subscription import Subscription
from fmqbus.errors import LocalError
from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.model import NO_PROPERTIES, Terms
from fmqbus.protocols.mtl.commands import Reader, Writer
from fmqbus.transports.zeromq.dealers import Dealers
from fmqbus.transports.zeromq.passport import Passport

__all__ = ["MTLClient", "MTLConsumption", "MTLContent", "MTLReader", "MTLWriter"]

#: Profiles whose resources are the bus's topics and queues (docs/protocols/mtl.md).
TOPIC_PROFILE, QUEUE_PROFILE = "topic", "queue"

#: Of what is written. A broker gathers confirmations for a few milliseconds; so this is some 100,000 contents a second.
WINDOW = 1_000

U = TypeVar("U", bound=FlowUser)


class MTLClient(ReconnectingClient):
    """A client of one broker, at ``mtl://[USER@]HOST[:PORT][/VIRTUAL-HOST]`` (`fmqbus.client.url`).

    `credentials` come from `fmqbus.client.sasl`, and `passport` from `fmqbus.transports.zeromq.passport`; without them,
    the URL says who we are. Topics and queues are those of
    the profiles ``topic`` and ``queue``, unless the URL names another for both. What is written is confirmed, at most
    `window` contents at a time being unconfirmed, unless the URL says ``confirm=none``; what was not confirmed when the
    connection goes is sent again on the next one, and may so arrive twice. With `resend` False it fails with
    `ConnectionLost`.

    A broker that does not answer a request within `answer_seconds` is gone, and so is one that says nothing on a data
    flow for three times `ping_seconds`.

    `limits` bound what the other side can cost: `body_octets` and `control_octets` of each content, `outbox_octets` (of
    what waits in each writer, and of each queue of a reader), `consumer_window`, `cached_routes`, `table_fields`,
    `table_depth`. Raises `InvalidURL`.

    Names of topics and queues are text, with or without outer slashes; every method that takes one raises
    `InvalidName`, and `LocalError` for what cannot be printed.
    """

    _link: MTLLink | None  # type: ignore[assignment]
    _outgoing: Writers  # type: ignore[assignment]

    def __init__(
        self,
        target: str,
        reactor: Any,
        *,
        credentials: Login | None = None,
        passport: Passport | None = None,
        window: int = WINDOW,
        resend: bool = True,
        answer_seconds: float = ANSWER_SECONDS,
        ping_seconds: float = PING_SECONDS,
        limits: Limits = DEFAULT_LIMITS,
        retry_policy: Callable[[int], float] = RETRY_POLICY,
        make_sockets: MakeSockets = Dealers,
    ) -> None:
        settings = settings_of(target, credentials, passport)
        if window < 1:
            raise LocalError(f"a window of {window} contents")
        self._topics = settings.profile or TOPIC_PROFILE
        self._queues = settings.profile or QUEUE_PROFILE
        self._is_confirmed = settings.is_confirmed
        self._window = window
        self._resend = resend
        #: Whoever has a flow on each connection, in the order in which they asked.
        self._users: dict[FlowUser, None] = {}
        self._readers: dict[MTLReader | MTLConsumption, None] = {}
        self._subscriptions = Subscriptions(lambda: self._begun(Subscribed(self, limits, self._topics)))
        writers = Writers()
        super().__init__(
            MTLEndpoint(settings.place, reactor, limits, answer_seconds, make_sockets, writers.fail),
            Factory.forProtocol(lambda: MTLLink(self, reactor, limits, answer_seconds, ping_seconds)),
            reactor,
            limits,
            retry_policy,
            writers,  # type: ignore[arg-type]
        )

    @property
    def profiles(self) -> Sequence[str]:
        """Those that the broker has told us of; nothing without a connection."""
        return () if self._link is None else self._link.profiles

    # topics

    def publish(
        self, topic: str, payload: bytes, *, retain: bool = False, properties: Mapping[str, str] = NO_PROPERTIES
    ) -> Deferred[None]:
        """Publish a message; with `retain` the bus also keeps it for later subscribers.

        Returns a Deferred that fires once the bus has taken it, and fails with `Refused` if it says no. Messages wait
        while there is no connection, or no room in the window: raises `Overloaded` when all that is not confirmed takes
        more than `Limits.outbox_octets`; see `when_room`. After the client has stopped, raises `Detached`; raises
        `LocalError` for what has no place in a message.
        """
        return self._writer(self._topics).send(_resource(topic), publication_table(properties, retain), payload)

    def subscribe(
        self, *patterns: str, max_queue: int = MAX_QUEUE, callback: Callable[[Message], object] | None = None
    ) -> Subscription:
        """Subscribe, and return what to iterate over; with `callback`, that is called with each message instead.

        A message comes once, however many of the patterns match. Those that the bus keeps come first, at each call.
        Where the reader does not keep up, the oldest of the `max_queue` messages is dropped and counted; where the
        connection does not, the bus does as it is configured. If the bus does not allow it, iterating raises `Refused`.
        """
        subscription = Subscription(
            [_resource(pattern) for pattern in patterns],
            self._subscriptions.discard,
            max_queue,
            self._limits.outbox_octets,
            callback,
        )
        self._subscriptions.add(subscription)
        return subscription

    # queues

    def enqueue(
        self,
        queue: str,
        payload: bytes,
        *,
        properties: Mapping[str, str] = NO_PROPERTIES,
        priority: int = 0,
        time_to_live: float | None = None,
        delay: float = 0.0,
    ) -> Deferred[None]:
        """Put a message into a queue. Returns a Deferred that fires once it is as safe there as the queue makes it;
        else as `publish`. The terms are those of `fmqbus.model.Terms`."""
        terms = Terms(priority=priority, time_to_live=time_to_live, delay=delay)
        return self._writer(self._queues).send(_resource(queue), queue_table(properties, terms), payload)

    def consume(
        self, queue: str, *, window: int = 100, callback: Callable[[QueueMessage], object] | None = None
    ) -> MTLConsumption:
        """Receive messages of a queue, and return what to iterate over; with `callback`, that is called with each
        instead. Each has to be accepted, released or rejected, in any order; `window` of them may be in hand, or more
        where the broker does not know how to be told that.

        Those that are in hand when the connection goes come again, to whomever. If the bus does not allow it, iterating
        raises `Refused`.
        """
        name = _resource(queue)
        flow = Reader(is_confirmed=True, window=window)
        wish = MTLConsumption(self, self._limits, self._queues, flow, MAX_QUEUE, callback)
        wish.summon_resource(name)
        self._readers[wish] = None
        return self._begun(wish)

    # any profile

    def reader(
        self,
        profile: str,
        resources: Sequence[str | bytes] = (),
        *,
        confirm: str = "none",
        window: int = 100,
        max_queue: int = MAX_QUEUE,
        callback: Callable[[MTLContent], object] | None = None,
    ) -> MTLReader:
        """Read resources of a profile (MTL, Requesting a Data Lease), and return what to iterate over; with `callback`,
        that is called with each content instead. All that are named are summoned; without any, the lease is for any and
        all, and `MTLReader.summon` says which.

        With `confirm` ``full`` each content has to be accepted, released or rejected, and `window` of them may be in
        hand. If the bus gives no lease, or does not let us summon one, iterating raises `Refused`. Raises `LocalError`
        for what cannot be said.
        """
        octets = tuple(map(resource_name, resources))
        flow = Reader(octets, _is_full(confirm), window if _is_full(confirm) else 0)
        reader = MTLReader(self, self._limits, profile, flow, max_queue, callback)
        for resource in octets:
            reader.summon(resource)
        self._readers[reader] = None
        return self._begun(reader)

    def writer(self, profile: str, resources: Sequence[str | bytes] = (), *, confirm: str = "none") -> MTLWriter:
        """Write to resources of a profile; without any, the lease is for any and all. With `confirm` ``full`` the bus
        says what it has taken. Raises `LocalError` for what cannot be said."""
        flow = Writer(tuple(map(resource_name, resources)), _is_full(confirm))
        return self._begun(self._outgoing.add(self._make_writer(profile, flow)))

    # `fmqbus.client.mtl_writing.FlowSource`

    def want_flow(self, user: FlowUser) -> None:
        self._users[user] = None
        if self._link is not None:
            self._link.want(user)

    def leave_flow(self, user: FlowUser, resources: list[bytes]) -> None:
        if isinstance(user, MTLReader | MTLConsumption):
            self._readers.pop(user, None)
        elif isinstance(user, MTLWriter):
            self._outgoing.discard(user)
        if user in self._users:
            del self._users[user]
            if self._link is not None:
                self._link.leave(user, resources)

    # what the connection tells

    async def sync(self) -> None:
        """Wait until the bus has answered all that was said so far: contents that are confirmed, or have failed, and
        what was leased and summoned. Raises `Detached` if the connection goes first, and nobody can say."""
        for user in list(self._users):
            if isinstance(user, MTLWriter):
                await user.sync()
            elif isinstance(user, Summoning):
                await user.when_standing()

    def greet(self, link: MTLLink) -> None:
        """Lease everything anew."""
        for user in list(self._users):
            link.want(user)

    def connection_gone(self, link: MTLLink) -> None:
        """Each flow has told it to whoever has it."""

    def room_changed(self, link: MTLLink) -> None:
        """Each flow tells it."""

    def forget_wishes(self) -> None:
        self._subscriptions.stop_all()
        for reader in list(self._readers):
            reader.stop()

    def _writer(self, profile: str) -> MTLWriter:
        """The one that all share who publish, or enqueue."""
        flow = Writer((), self._is_confirmed)
        writer = self._outgoing.at((profile, flow), lambda: self._make_writer(profile, flow))
        return writer if writer in self._users else self._begun(writer)

    def _make_writer(self, profile: str, flow: Writer) -> MTLWriter:
        return MTLWriter(self, self._reactor, self._limits, profile, flow, self._window, self._resend)

    def _begun(self, user: U) -> U:
        self.want_flow(user)
        return user


def _resource(name: str) -> bytes:
    """A topic or a queue, as a resource."""
    return resource_name(names.from_text(name))


def _is_full(confirm: str) -> bool:
    if confirm not in ("none", "full"):
        raise LocalError("confirm is none or full")
    return confirm == "full"
