"""Every contract of fmqbus, in reading order: one long file, because it is to be read first and from top to bottom.

Two narrow interfaces face each other across the bus. A protocol's session asks the router through
`ISession`; the router hands over to the protocol through `IPeer`. Around them stand the plugs: parts that a
vendor can add, found through `twisted.plugin` and through entry points (group ``fmqbus.plugins``), and
checked against these interfaces when they are loaded.

Unless a method says otherwise: it is called in the reactor's thread, returns at once (no Deferred), must not
call back into the router, and must not raise. "Name" and "pattern" are trimmed octets as of `fmqbus.names`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from twisted.application.service import IService
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IListeningPort, IProtocolFactory
from twisted.plugin import IPlugin
from zope.interface import Attribute, Interface

from fmqbus.calls import Answer, Call, MethodStatus, Parcel, Service
from fmqbus.errors import StoreFailed
from fmqbus.limits import Limits
from fmqbus.logins import Admitted, Challenge, Secret, Step
from fmqbus.model import (
    PLAIN_TERMS,
    WHOLE_BATCH,
    Action,
    BatchPart,
    Consumer,
    Credit,
    Decision,
    Message,
    Origin,
    Outcome,
    Overflow,
    Parting,
    PeerFacts,
    Principal,
    Publication,
    QueueSettings,
    QueueStatus,
    Route,
    SessionStatus,
    SocketPlan,
    StoredMessage,
    Subscription,
    Terms,
)
from fmqbus.model import Interest as InterestChange
from fmqbus.schedules.errands import Errand, ScheduleSettings, ScheduleStatus
from fmqbus.schedules.table import Missed, Schedule
from fmqbus.schedules.timing import Timing
from fmqbus.turns import Turns
from fmqbus.vitals import Vitals


class ISession(Interface):
    """What a protocol may ask of the bus, for one client. One per client, not one per socket.

    What a session says takes effect on the bus at once, in the order said. What others get of it leaves
    when `flush` is called: a protocol calls it once, after all that one read brought.

    What a client asks for (`publish` to `consume`, `call`, `serve`, `schedule`, `unschedule`, and `detach`) raises
    `Detached` once the session has ended, and `Refused` or `Overloaded` where the authorizer or a limit says no;
    nothing has then changed.
    """

    number: int = Attribute("Unique within the bus since it was made, and rising.")
    principal: Principal = Attribute("Who this session acts as.")
    routes: Mapping[bytes, Route] = Attribute(
        """Raw topic octets, as the peer wrote them → `Route`. The fast lane: a codec looks a topic up here and
        groups neighbours whose `Route.targets` are the same object; the authorizer's answer to ``publish`` is in
        it. Answers `SINGLY_ROUTE` for whatever needs `publish` instead. Bounded; never holds an answer that a
        change of subscriptions or of policy has overtaken."""
    )

    def dispatch(publication: Publication) -> None:
        """Hand a run to its targets, which `routes` has found. Nothing is checked again."""

    def publish(message: Message) -> None:
        """Publish one message; with `Message.retain` it also becomes the retained value of its topic.

        An empty payload with `retain` removes the retained value, and reaches nobody. Raises `Refused`; raises
        `InvalidName` for a wildcard topic that is to be retained by a store that cannot.
        """

    def subscribe(
        pattern: bytes, hidden: bool = False, overflow: Overflow | None = None, tag: Any = None
    ) -> Subscription:
        """Receive what is published under equivalent topics, the retained values of those first.

        May be repeated for one pattern: the later call decides on the options, the retained values come again,
        interest does not change unless `hidden` does. `overflow` None means as configured.
        """

    def unsubscribe(pattern: bytes) -> bool:
        """End the subscription to exactly this pattern. Returns False, and does nothing, if there is none."""

    def set_will(message: Message) -> None:
        """Have the message published when this client has gone. One per topic, the later replaces; an empty payload
        removes it. Wills are published in the order in which their topics were first set."""

    def watch_interest(pattern: bytes) -> None:
        """Have `IPeer.interest_changed` called for every subscription pattern equivalent to this one; at once for those
        that exist. May be repeated: the existing ones are told again."""

    def unwatch_interest(pattern: bytes) -> bool:
        """End exactly this watch. Returns False, and does nothing, if there is none."""

    def enqueue(queue: bytes, message: Message, terms: Terms = PLAIN_TERMS) -> Deferred[None] | None:
        """Put the message at the end of the queue; each message goes to one consumer. A queue exists as soon as it is
        named.

        Returns None if the message is now as safe as this bus makes it, else a new Deferred that fires when the store
        has committed it (or a consumer has already accepted it), and fails with `StoreFailed` if it could not. It
        fires in a flush or between turns. Acknowledge a producer only then. The properties of a dead letter are taken
        away: only the bus says what died, and where.

        Raises `Overloaded` where the queue or the bus is full, or what the store keeps is not yet back; `StoreFailed`
        where the queue's store is known to have failed; `InvalidName` for a wildcard or a name below ``$``.
        """

    def put_batch(
        producer: str, number: int, errands: Sequence[Errand], part: BatchPart = WHOLE_BATCH
    ) -> Deferred[bool]:
        """Put messages into queues, and publish others, all of them or none, and only once: a batch whose number is not
        higher than that of the producer's last one has come before, and nothing is done. So whoever does not know
        whether a batch has come says it again. A producer's name is its client's choice, of 255 octets at most, and
        belongs to who has proved his own name; those who have proved none share theirs. Of one without a name (an
        empty text) nothing is remembered: what he puts comes each time.

        A batch may come in several calls, each with its part. A part is taken behind the one before it, and as it is
        safe by itself, consumers may have it before the others are there.

        Fires when all is as safe as this bus makes it, with True, or with False for a batch that had come before; fails
        with `StoreFailed`. Publications go out then. Order is kept among those of one queue and those of one topic. A
        queue's overflow policy is for single messages: a batch that finds no room is refused.

        Raises `PeerError` for a batch without messages, for a part before which others are missing, and for parts that
        are not of the batch that was begun under this number; as `enqueue` and `publish` do, for the first message that
        cannot be taken. Then nothing has come. The bus remembers the last batch across a restart if it has a message
        store, and of the `Limits.batch_producers` that came last.
        """

    def consume(
        queue: bytes,
        window: int,
        weight: int = 1,
        tag: Any = None,
        *,
        priority: int = 0,
        credit: Credit | None = None,
    ) -> Consumer:
        """Receive messages of the queue by `IPeer.take`, at most `window` unsettled ones at a time (1 or more); fair
        among consumers of equal weight. Several consumers of one session on one queue are independent.

        Consumers of a lower priority get nothing while one of a higher has room. With a `credit`, which may be shared
        among consumers of this session, no more comes than that allows, see `set_credit`.

        A window beyond `Limits.consumer_window` is cut to it, a weight beyond `Limits.consumer_weight` too. Raises
        `Overloaded` beyond `Limits.consumers_per_peer`, and as `enqueue` does.
        """

    def set_window(consumer: Consumer, window: int) -> None:
        """Change how many unsettled messages the consumer may hold; 0 pauses it. Does nothing if it has ended."""

    def set_credit(credit: Credit, messages: int) -> None:
        """The consumers that share this credit, which are this session's, may be handed so many more messages. Where
        several queues have some, those of the consumer come first that was begun first."""

    def settle(consumer: Consumer, numbers: Sequence[int], outcome: Outcome, reason: str = "") -> int:
        """Settle messages that the consumer holds. Numbers that it does not hold are ignored. Returns how many were
        settled. `reason` goes with a rejected message; it is cut to 255 characters."""

    def give_back(consumer: Consumer, numbers: Sequence[int]) -> int:
        """The client was never sent these messages, which the consumer holds: they take their old places, as if they
        had not been handed out. Numbers that it does not hold are ignored. Returns how many were given back."""

    def cancel(consumer: Consumer) -> None:
        """Consume no more. Unsettled messages go back to the front of their queue, in order, marked as redelivered.
        Closing the session does the same. May be repeated."""

    def call(method: bytes, parcel: Parcel, deadline_seconds: float | None = None, tag: Any = None) -> Call:
        """Ask one of those who serve the method. The call ends once, by `IPeer.answered`: with a reply, or with a
        `fmqbus.errors.CallFailed` that says why there is none. It is never handed to a second server once one has got
        it.

        `deadline_seconds` None means as configured for the method; more than `Limits.call_seconds` is cut to it.

        Raises `CallFailed` where nobody serves the method, or the bus ends; `Overloaded` where all its servers are busy
        and too many calls wait, and beyond `Limits.calls_per_peer` and `Limits.call_octets_per_peer`; `InvalidName` for
        a wildcard or a name below ``$``; `LocalError` for no number of seconds. There is then no call.
        """

    def abandon(call: Call) -> None:
        """The caller no longer wants an answer to its call, and gets none. A server that has it already is told.
        Closing the session does the same. Does nothing if the call is not this session's, or has ended."""

    def serve(method: bytes, window: int, weight: int = 1, tag: Any = None) -> Service:
        """Answer calls of the method from now on; they come by `IPeer.called`, at most `window` of them unanswered at a
        time (1 or more). Several services of one session at one method are independent.

        A window beyond `Limits.calls_in_hand_per_peer` is cut to it, a weight beyond `Limits.consumer_weight` too.
        Raises `Overloaded` beyond `Limits.services_per_peer` and `Limits.methods`; `InvalidName` as `call` does.
        """

    def unserve(service: Service) -> None:
        """No more calls come to this service; those that its client has in hand it is still to answer. May be
        repeated. When the session closes, they fail."""

    def reply(call: Call, parcel: Parcel) -> bool:
        """Answer a call that this client was handed. False if nobody waits for it: the call has ended, was answered
        before, or was never handed to this session; the answer is then forgotten."""

    def fail(call: Call, code: int, text: str) -> bool:
        """As `reply`, where there is none; code and text are the server's own. A code of 0 is none."""

    def schedule(
        key: str,
        timing: Timing,
        errand: Errand,
        at_once: bool = True,
        runs: int | None = None,
        missed: Missed | None = None,
    ) -> Deferred[None] | None:
        """Have a message put into a queue, or published, at certain times, in place of what was scheduled under this
        key before; keys are those of the whole bus. It goes on when the client has gone, and when the bus starts again,
        if schedules are kept.

        Unless it is `at_once` (eMQP: no ``nohaste``), the first run is at its first time. After `runs` runs in all,
        those included that come to nothing, it ends; None is for ever. `missed` says what happens where runs were
        missed; None as configured.

        Whoever schedules has to be allowed to, at the queue or topic, and to put or publish there; at that of a
        schedule which is replaced, to schedule. The same rights, of the client as it was then, are asked again at each
        run.

        Returns None if the schedule is now as safe as this bus makes it, else a new Deferred as `enqueue` does. Raises
        `Overloaded` beyond `Limits.schedules` and `Limits.scheduled_octets`, and where what the store keeps is not yet
        back; `StoreFailed` where it is known to have failed; `InvalidName` for a queue as `enqueue` does, and for a
        topic below ``$``; `PeerError` with reason ``key`` where that is empty or longer than 255 octets, ``when`` for
        a timing that never comes, ``runs`` for a number below 1.
        """

    def unschedule(key: str) -> Deferred[bool]:
        """End what was scheduled under this key, by whomever; it takes the right to schedule at its queue or topic.
        Fires once the store has committed that, with False if there was none. Raises `Overloaded` and `StoreFailed` as
        `schedule` does."""

    def pause_delivery() -> None:
        """The peer's link is full: keep what comes in the outbox. May be repeated."""

    def resume_delivery() -> None:
        """The link has room again. May be repeated. Delivers at once what has been kept."""

    def when_delivered() -> Deferred[None]:
        """A new Deferred for each caller, fired once nothing waits for this client any more, or the session has
        closed."""

    def hold_reading() -> None:
        """Have the peer read nothing more of this client until all who said so have said `release_reading`. For whoever
        cannot take what the client says: full queues and outboxes, observers."""

    def release_reading() -> None:
        """Take back one `hold_reading`. Not to be said of a session that has closed."""

    def flush() -> None:
        """Hand over to all peers what has gathered for them since the last flush, of whomever it came."""

    def detach(keep_seconds: float) -> str:
        """The link has gone but the client may return: keep subscriptions, wills and what arrives, bounded by the
        outbox, for so long. Returns the token for `IRouter.resume`. When the time is over, the session closes as by
        `close`. Raises `Detached` if there is no link or the bus has ended it, `Overloaded` beyond
        `Limits.detached_sessions`; nothing has then changed."""

    def close(reason: str) -> None:
        """The client has gone for good: end its subscriptions (interest falls), publish its wills, tell service
        topics and observers, flush. It can be asked nothing more from now on; where it has much to end, that may take
        some turns of the reactor. May be repeated; only the first call counts."""

    def become(principal: Principal) -> None:
        """The client has proved who it is: act as this one from now on, of the same protocol. What the session has, and
        the new principal may not have, ends as by `IRouter.policy_changed`. Raises `Detached` as a request does."""

    def status() -> SessionStatus:
        """Its numbers now, for people."""

    def count_received(messages: int, octets: int) -> None:
        """For statistics: this many well-formed units and octets were read from the client."""

    def count_sent(messages: int, octets: int) -> None:
        """For statistics: this many publications and octets were written to the client's link."""

    def count_refused(reason: str) -> None:
        """For statistics: something the client said was discarded. Reasons are the protocol's words, never the
        client's."""


class IPeer(Interface):
    """What the bus may ask of a protocol, for one client.

    Deliveries come in `ISession.flush` or `ISession.resume_delivery`, never inside a decision. Until a method returns,
    it asks for no other one: it may count and say `ISession.pause_delivery`, `called` may say `ISession.unserve` so
    that what it was given is the last, and a link that goes at once may close its session.
    """

    is_blind: bool = Attribute(
        "True if the peer does not care which of its subscriptions matched; runs over many topics then reach it whole."
    )

    def deliver(batch: Sequence[tuple[Publication, tuple[Subscription, ...]]]) -> None:
        """Send these publications, in this order. The batch is the peer's to keep. Not called between
        `ISession.pause_delivery` and `resume_delivery`."""

    def take(deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        """Send these messages of queues, in this order; settle each by `ISession.settle`. Called in a flush, and not
        between `ISession.pause_delivery` and `resume_delivery`. A peer of a protocol without queues is never asked."""

    def consumer_ended(consumer: Consumer, reason: str) -> None:
        """The bus has ended a consumer, because the policy no longer allows it; what it held is back in the queue."""

    def called(calls: Sequence[Call]) -> None:
        """Answer these calls, each by one `ISession.reply` or `fail`, whenever it can be done; `Call.service` is that
        by which each has come. Called in a flush, and not between `ISession.pause_delivery` and `resume_delivery`. A
        peer of a protocol without calls is never asked."""

    def abandoned(calls: Sequence[Call]) -> None:
        """Nobody waits any more for the answers to these, which this client was handed: stop working on them where
        that can be done. Say `ISession.reply` or `fail` all the same when the work is over: until then, or until some
        time has passed, they count against the window of their service. May come while delivery is paused."""

    def answered(answers: Sequence[Answer]) -> None:
        """Tell the client how these of its calls have ended. Called as `deliver` is, and in order with it."""

    def service_ended(service: Service, reason: str) -> None:
        """The bus has ended a service, because the policy no longer allows it; what came by it has failed."""

    def interest_changed(changes: Sequence[InterestChange]) -> None:
        """Tell the client how many subscribe to patterns it watches; in order, one per change."""

    def subscription_ended(subscription: Subscription, reason: str) -> None:
        """The bus has ended a subscription, because the policy no longer allows it. The session itself goes on."""

    def pause_reading() -> None:
        """Stop reading from this client: somebody it publishes to asked for back pressure. May be repeated."""

    def resume_reading() -> None:
        """Undo `pause_reading`. May be repeated."""

    def stop_listening() -> None:
        """From now on ignore all that this client says (soft stop, step 2): read and discard. Deliveries go on."""

    def ending(reason: str) -> None:
        """The bus ends this client: send what has been delivered, say what the protocol can say, close the link.
        The session closes when the link has gone."""

    def abort(reason: str) -> None:
        """Close the link now, whatever is unsent. The session closes when the link has gone."""


class IRouter(IService):
    """The bus: topics, sessions, interest. Knows no protocol. A Twisted service, so it can be embedded.

    Stopping the service drains it: see `drain`.
    """

    clock: Any = Attribute("IReactorTime; the only clock the router reads.")
    turns: Turns = Attribute("The share of each turn that goes to what takes long; protocols act on input in it too.")
    limits: Limits = Attribute("The bounds of this bus.")
    statistics: Any = Attribute("fmqbus.router.statistics.Traffic: totals of all protocols; a copy.")
    subscriptions: int = Attribute("How many subscriptions there are.")

    def attach(peer: IPeer, principal: Principal) -> ISession:
        """Begin a client's session. Raises `Refused` while draining."""

    def resume(token: str, peer: IPeer, principal: Principal) -> ISession:
        """Give a detached session a new link; what was kept is delivered once the peer calls
        `ISession.resume_delivery`. Raises `Refused` for an unknown token, one of another principal (rights hang on
        where a client comes from, too), and while draining."""

    def sessions() -> Sequence[ISession]:
        """All sessions, in the order they began; a snapshot."""

    def connected(protocol: str) -> int:
        """How many sessions of this protocol there are, detached ones included."""

    def traffic_of(protocol: str) -> Any:
        """fmqbus.router.statistics.Traffic of one protocol; live."""

    traffic: Mapping[str, Any] = Attribute("The same of each protocol that a client has come by; live.")

    def busiest(most: int) -> Deferred[tuple[Sequence[SessionStatus], Sequence[QueueStatus]]]:
        """The sessions for which most waits, then those with most traffic; and the queues that hold most. So many of
        each at most, the first first. Fires when all have been looked at; others are served meanwhile."""

    def publish_service(message: Message) -> None:
        """Publish below ``$`` in the broker's own name and flush. Only for service topics."""

    def queues(after: bytes = b"", most: int | None = None) -> Sequence[QueueStatus]:
        """The queues that hold something, have a consumer or are named in the configuration, by name; a snapshot. Of
        those beyond `after`, so many at most."""

    def queue(name: bytes) -> QueueStatus | None:
        """One of them; None if it is none."""

    def methods(after: bytes = b"", most: int | None = None) -> Sequence[MethodStatus]:
        """The methods that somebody serves, by name; a snapshot. Of those beyond `after`, so many at most."""

    store_failure: StoreFailed | None = Attribute(
        "Why durable queues take nothing more; None while the message store, if there is one, is well."
    )

    def queue_settings(name: bytes) -> QueueSettings:
        """How the queue of this name behaves, or would if there were one."""

    def peek(queue: bytes, most: int, held: bool = False) -> Sequence[StoredMessage]:
        """The next messages of a queue, in the order in which they would be delivered: those that are ready, then those
        that are delayed. Or else those that consumers hold, the ones first that they have had longest. Nothing
        changes."""

    def find(queue: bytes, numbers: Sequence[int]) -> Sequence[StoredMessage]:
        """Those of these messages that are in a queue, in the order asked for; `StoredMessage.taken_at` tells which of
        them consumers hold."""

    def search(queue: bytes, properties: Mapping[str, str], most: int) -> Deferred[Sequence[StoredMessage]]:
        """The messages of a queue that have all these properties, so many at most: those that consumers hold, then
        those that wait as `peek` shows them. Fires with those that are still there; others are served meanwhile."""

    def purge(queue: bytes, numbers: Sequence[int] | None = None) -> Deferred[int]:
        """Forget all messages of a queue that no consumer holds now, or those of these numbers. Fires with how many
        there were; others are served meanwhile."""

    def requeue(dead_letters: bytes, most: int | None = None, numbers: Sequence[int] | None = None) -> Deferred[int]:
        """Send the dead letters that are in a queue now, or those of these numbers, back to the queues they came from,
        in their order, or that of the numbers. What a consumer holds stays, what is no dead letter, and what finds its
        queue full. Fires with how many went; others are served meanwhile."""

    scheduling: ISchedules = Attribute("The schedules of this bus.")

    vitals: Vitals = Attribute("What the parts of this bus tell operators. Others may add to it.")

    def authorize(principal: Principal, action: Action, name: bytes) -> bool:
        """The authorizers' common answer: the first that does not defer decides; no if all defer."""

    def policy_changed() -> None:
        """Forget every cached decision and look again at all live subscriptions, watches, consumers and services, and
        at calls that nobody has yet; those no longer allowed end, and peers are told of all but watches. What else is
        in an outbox by then is still delivered."""

    def when_recovered() -> Deferred[None]:
        """A new Deferred for each caller, fired once the service has started and has back what its stores keep. Fails
        with `StoreFailed` if a store cannot give it back."""

    def drain() -> Deferred[None]:
        """Soft stop, in FMQP's order: ignore clients, fail the calls that wait for an answer, wait until subscribers
        have everything, publish all wills, wait again, close all. Each wait is bounded by `Limits.drain_seconds`. May
        be repeated; each caller gets a Deferred of its own. It never fails."""

    def halt() -> None:
        """End at once: from now on nothing is handed to anybody, and no will is published, however clients go (FMQP,
        ``$/signals/terminate``). For a process that is about to end. May be repeated."""


class ISchedules(Interface):
    """The schedules of one bus, for those who look after them. Clients ask by `ISession.schedule`.

    What changes something raises `Overloaded` while what the store keeps is not yet back, and `StoreFailed` where it
    has failed; nothing has then changed.
    """

    settings: ScheduleSettings = Attribute("What holds where a schedule says nothing itself.")
    store_failure: StoreFailed | None = Attribute("Why nothing more can be scheduled; None while all is well.")
    failed: Mapping[str, int] = Attribute(
        "How many runs came to nothing since the bus was made, by reason: those of `ISession.enqueue` and `publish`."
    )

    def put(
        owner: Principal,
        key: str,
        timing: Timing,
        errand: Errand,
        at_once: bool = True,
        runs: int | None = None,
        missed: Missed | None = None,
    ) -> Deferred[None] | None:
        """As `ISession.schedule`, for this principal."""

    def find(key: str) -> ScheduleStatus | None:
        """The schedule of a key."""

    def page(after: str = "", most: int | None = None, name: bytes | None = None) -> Sequence[ScheduleStatus]:
        """Schedules by key; of those beyond `after`, so many at most, and only those of this queue or topic. A
        snapshot."""

    def edit(
        key: str,
        timing: Timing | None = None,
        runs: int | None = None,
        missed: Missed | None = None,
        is_paused: bool | None = None,
    ) -> Deferred[bool]:
        """Change what is not None; `runs` is how many are left. Where the timing changes, or a pause ends, the next run
        is at the next time after now: what was due in a pause is not made up for. Fires as `ISession.unschedule`.
        Raises `PeerError` as `ISession.schedule` does."""

    def remove(key: str) -> Deferred[bool]:
        """As `ISession.unschedule`, without a question about rights."""

    def run(key: str) -> Deferred[bool]:
        """Do the errand of a schedule now, beside its times; it does not count. Fires once the message is as safe as
        the bus makes it, with False if there is no such schedule. Raises, and fails, as `ISession.enqueue` or `publish`
        does for the one who scheduled it."""


class IConnection(Interface):
    """What a listener needs of each open connection that it admitted."""

    octets_received: int = Attribute("Octets read since the connection began.")
    is_kept_waiting: bool = Attribute("The bus itself does not read from it for now: its silence is not its own.")

    def lose(reason: str) -> None:
        """Close in good order: send what is queued, then close the link."""

    def abort(reason: str) -> None:
        """Close the link now."""


class ILink(IConnection):
    """What a protocol's session needs of the connection below it."""

    def write(chunks: Sequence[bytes]) -> None:
        """Send these octets, in order. Once the session has been told that the link is full, better not."""

    def pause_reading() -> None:
        """Leave what the client sends in the socket, so that it has to wait. May be repeated."""

    def resume_reading() -> None:
        """Undo `pause_reading`. May be repeated."""

    def stop_listening() -> None:
        """Discard from now on what the client sends; go on sending to it. May be repeated."""


class IUnitLink(IConnection):
    """The connection below a protocol of units: text and binary messages, each of which arrives whole, or not at all.
    How they travel, and what a connection says on its own account, is the carrier's business."""

    facts: PeerFacts = Attribute("What the carrier knows about the other end.")

    def send_texts(texts: Sequence[bytes]) -> None:
        """Send these units of text, each of them UTF-8, in order. Once the protocol has been told that the link is
        full, better not: a client that goes on asking and reads nothing is cut off."""

    def send_binary(octets: bytes) -> None:
        """Send this binary unit. A large one leaves in pieces, as far as there is room; what is sent later waits."""

    def lose(reason: str, parting: Parting = Parting.GOING_AWAY) -> None:
        """Close in good order: once `IUnitProtocol.when_sent` has fired, say goodbye as far as the carrier can, then
        close the link. What the client still says is discarded."""

    def pause_reading() -> None:
        """As `ILink.pause_reading`."""

    def resume_reading() -> None:
        """As `ILink.resume_reading`."""

    def stop_listening() -> None:
        """As `ILink.stop_listening`."""


class IUnitProtocol(Interface):
    """The other half of a connection with an `IUnitLink`; it is made when the link is open, and may use it at once.

    It may raise in no method; where it does, the client is told that the server has failed.
    """

    def text_arrived(text: bytes) -> None:
        """The client has sent this text, which is UTF-8."""

    def binary_arrived(octets: bytes) -> None:
        """The client has sent this."""

    def turn_over() -> None:
        """As many units have been acted on as could be in this turn: flush. Called at the end of each read, too."""

    def link_full() -> None:
        """Nothing more can be sent for now. May be repeated."""

    def link_clear() -> None:
        """All that was sent has left; send on. May be repeated."""

    def link_lost(reason: str) -> None:
        """The connection has gone, whichever way. Called once."""

    def when_sent() -> Deferred[None]:
        """A new Deferred for each caller, fired when nothing waits to be sent to this client any more."""


class IPartsSocket(Interface):
    """One socket of a protocol whose units are messages of parts, as ZeroMQ has them. It has many peers.

    A peer is known by an identity that it chooses itself: octets which prove nothing. Nobody tells when a peer comes
    or goes. That shows by its words, by its silence, and where `send` no longer finds it.
    """

    name: str = Attribute("What the protocol calls it, such as ``frontend``; the first name if it has several.")

    def send(peer: bytes, parts: Sequence[bytes]) -> bool:
        """Send a message: to one peer of a ROUTER; from an XPUB, whose `peer` is empty, to all that want it.

        Returns False if the peer's link is full: the message then waits, in its order, and `IPartsProtocol.link_clear`
        tells when nothing waits any more; better send nothing else before that. Raises `Detached` where there is no
        such peer now, `Overloaded` where more than `Limits.outbox_octets` would wait; the message is then not sent.
        An XPUB never waits: a subscriber that is full misses the message, and nobody is told.
        """

    def forget(peer: bytes) -> Sequence[Sequence[bytes]]:
        """Take back the messages that wait for a peer, if any do; `IPartsProtocol.link_clear` is not called for it."""

    def pause_reading() -> None:
        """Leave what peers send in ZeroMQ, so that those who send much have to wait. May be repeated."""

    def resume_reading() -> None:
        """Undo `pause_reading`; sockets are born paused. May be repeated."""


class ISocketGroup(IListeningPort):
    """All sockets with which a protocol of parts listens at one place; the first of them tells where that is."""

    sockets: Mapping[str, IPartsSocket] = Attribute(
        "By their names, those that the listen string asks for; one socket may have several names."
    )
    ports: Mapping[str, int] = Attribute("By the same names, where they listen.")

    def close() -> Deferred[None]:
        """Close them all. What ZeroMQ has taken still leaves, within `Limits.linger_seconds`; what waits before it is
        lost. Fires, for each caller, when that is over. Nothing arrives any more."""


class IPartsProtocol(Interface):
    """A protocol whose units are messages of parts, on the sockets of one place.

    Its methods may use the sockets. What they raise is logged, and goes no further.
    """

    factory: IPartsFactory = Attribute("Who made it.")

    def opened(group: ISocketGroup) -> None:
        """The sockets listen, but are not read: call `IPartsSocket.resume_reading` once the bus is ready."""

    def arrived(socket: IPartsSocket, peer: bytes, parts: Sequence[bytes], origin: Origin) -> None:
        """A peer sent this. An XPUB's `peer` is empty, and the one part is an octet, 1 for the first that wants, or 0
        for the last that no longer does, messages which begin with the octets that follow."""

    def discarded(socket: IPartsSocket, peer: bytes, origin: Origin, reason: str) -> None:
        """A peer sent a message that has been thrown away. Reasons are ``parts`` and ``octets`` if it was beyond the
        limits, ``zmtp`` if ZeroMQ cannot tell whose it was, and ``revoked`` if the peer would not be let in now."""

    def turn_over() -> None:
        """As much has been heard as could be in this turn; send what has gathered."""

    def link_clear(socket: IPartsSocket, peer: bytes) -> None:
        """Nothing waits for this peer any more: all has left."""

    def peer_lost(socket: IPartsSocket, peer: bytes, unsent: Sequence[Sequence[bytes]]) -> None:
        """There is no such peer any more, and these messages waited for it: they have not left."""

    def stopping() -> Deferred[None]:
        """Nobody new is let in from now on. Close the group when nobody is left to be told anything. Fires when the
        rest of the bus may stop."""


class IPartsFactory(Interface):
    """Makes the protocol for each place where one of parts listens."""

    sockets: Sequence[SocketPlan] = Attribute(
        "What to listen with, in the order of importance: a port without a name is that of the first."
    )
    listener: IListener = Attribute("Whose limits hold, and who counts the connections.")
    turns: Turns = Attribute("In which its messages are read.")

    def buildProtocol(address: None) -> IPartsProtocol:
        """Return a new one. It may come to nothing if its place is taken."""


class IListener(Interface):
    """What a protocol's connection may use of the listener that accepted it; shared by all its connections."""

    limits: Limits = Attribute("The bounds of the bus.")
    clock: Any = Attribute("IReactorTime.")

    def peer_facts(transport: Any) -> PeerFacts:
        """What the carrier knows about the other end; asked once, when the connection is made."""

    def opened(connection: IConnection, facts: PeerFacts) -> bool:
        """A connection is made. Returns False if it is one too many for its address: abort it, and do not call
        `closed`. Connections admitted are watched for idleness (`Limits.idle_seconds`)."""

    def closed(connection: IConnection, facts: PeerFacts) -> None:
        """An admitted connection has gone; the listener accepts again if it had paused."""

    def hold(octets: int) -> bool:
        """Account for half-received units: `octets` more (or, negative, fewer) are buffered. Returns False, and
        accounts nothing, where `Limits.assembly_octets` would be passed: cut the connection off."""

    def refused(reason: str, detail: str) -> None:
        """The carrier has not let somebody in, by a word of ours (``key``, ``handshake``). It is counted, and the
        detail logged once in a while."""

    logins: ILogins | None = Attribute("How clients prove who they are; None where nothing of that is configured.")

    def parts(interface: type[Interface]) -> Sequence[Any]:
        """The installed parts that provide an interface: what vendors extend a protocol with. By name."""


class IBusProtocol(IPlugin):
    """A wire protocol: how its clients speak on the bus."""

    name: str = Attribute("The word before the colon in listen strings, such as ``fmqp``; lower case.")
    default_listen: Sequence[str] = Attribute("Endpoint strings to listen on when only ``NAME:`` is given; loopback.")
    summary: str = Attribute("One line for the help text.")

    def make_factory(router: IRouter, listener: IListener, options: Mapping[str, Any]) -> Any:
        """Return the `twisted.internet.interfaces.IProtocolFactory` for one listener; for a protocol of units, an
        `IUnitFactory`; an `IPartsFactory` if they are messages of parts.

        `options` is the protocol's own table in the configuration file (``[protocols.NAME]``); raises `ConfigError`
        naming a wrong key.
        """

    def service_topics(options: Mapping[str, Any]) -> Sequence[IServiceTopic]:
        """The service topics that belong to this protocol; called once for each bus that listens for it."""


class IForOperators(Interface):
    """Marks an `IBusProtocol` by which no clients come, but those who run the bus: it is listened for only where the
    configuration names it, before the stores have given back what they keep, and until the bus has drained."""


class IMicroMsg2Extension(IPlugin):
    """What MicroMsg2 can do beyond sending messages, if both sides agree on it in the handshake.

    A part may be used by many connections, as a server and as a client; what belongs to one of them is in the hooks
    that `activate` makes for it.
    """

    name: str = Attribute("What handshakes call it: letters in lower case, digits, hyphens. A vendor's begins ``x-``.")
    aliases: Sequence[str] = Attribute("Other names under which the other side may mean it; may be empty.")
    choice: str = Attribute(
        "What it is one of, such as ``serializer``: a connection uses only the first of those with the same word here, "
        "and makes no suggestion of a second. Empty for one that goes together with any other."
    )
    summary: str = Attribute("One line for the help text.")

    def answer(properties: Mapping[str, str], limits: Limits) -> Mapping[str, str]:
        """The other side names the extension, with these properties. Return those that are to be otherwise; what is not
        returned stays as it was said. Names are in lower case.

        Raises `PeerError` where it cannot be done: there is no connection then if the other side requires it, and it
        is left out if not.
        """

    def activate(properties: Mapping[str, str], numbers: Any, limits: Limits) -> Any:
        """It has been agreed on with these properties: return its `fmqbus.protocols.micromsg2.hooks.Hooks` for one
        connection. `numbers` (`fmqbus.protocols.micromsg2.numbers.Numbers`) tells at any time which numbers were last
        sent and received. Raises `PeerError` as `answer` does; there is no connection then."""


class IUMQCaller(Interface):
    """What a method may do for the UMQ client that calls it. Ids are numbers that the client has chosen."""

    router: IRouter = Attribute("The bus.")
    bus: ISession = Attribute("The client's session.")
    attributes: Mapping[str, Any] = Attribute(
        "What the client has set on its connection: name to `fmqbus.protocols.umq.attributes.Attribute`."
    )

    def subscribe(pattern: bytes, id: int, hidden: bool, overflow: Overflow | None) -> None:
        """Have messages come as updates of this topic id; raises as `ISession.subscribe`, and `PeerError` if the id is
        in use."""

    def watch(pattern: bytes, id: int) -> None:
        """Have the number of subscribers come; raises as above."""

    def consume(queue: bytes, id: int, window: int, weight: int) -> None:
        """Have messages of a queue come; raises as above."""

    def settle(id: int, numbers: Sequence[int], outcome: Outcome, reason: str) -> int:
        """Settle what came under this id; returns how many were. Raises `PeerError` if no queue is consumed by it."""

    def end_topic(id: int) -> bool:
        """End what is told under this id; False if nothing is."""

    def serve(method: bytes, callback: int | None, window: int, weight: int) -> None:
        """Have calls come; by a callback, once. Raises as `ISession.serve`."""

    def unserve(method: bytes) -> bool:
        """End that; False if it is not served by this client."""

    def ask(
        method: bytes,
        arguments: bytes,
        attachments: Sequence[Any],
        deadline_seconds: float | None,
        properties: Mapping[str, str],
    ) -> Any:
        """Call a method of another client; what is returned here is to be returned by the method. `arguments` is a JSON
        array. Raises as `ISession.call`."""


class IUMQMethod(IPlugin):
    """A method that UMQ clients can call and the bus itself answers."""

    name: str = Attribute("The first member of a call's array. A vendor's has a slash in it, such as ``acme/price``.")
    summary: str = Attribute("One line for the help text.")
    arguments: Any = Attribute(
        "A msgspec type that the whole array is read as: a `fmqbus.protocols.umq.methods.arguments.Arguments`."
    )

    def call(caller: IUMQCaller, arguments: Any, attachments: Sequence[Any]) -> Any:
        """Answer one call: return what JSON can say, a `fmqbus.protocols.umq.methods.arguments.Result` with
        attachments, or a Deferred of either. A `BusError` is told to the client; `CallFailed` with its own code.
        Attachments are octets or `fmqbus.calls.FailedAttachment`."""


class IMTLClient(Interface):
    """A client of MTL, as its profile sees it when it asks for a lease. Names of resources are octets, as it says
    them."""

    router: IRouter = Attribute("The bus.")
    principal: Principal = Attribute("As whom it acts.")

    def name_of(resource: bytes) -> bytes:
        """What a resource is called on the bus, in the client's virtual host. Raises `InvalidName`."""

    def resource_of(name: bytes) -> bytes:
        """What the client calls it: the other way round."""


class IMTLFlow(IMTLClient):
    """One direction of a data flow of MTL, as its profile sees it."""

    bus: ISession = Attribute("The session of whoever was given the lease; of this direction alone.")
    is_confirmed: bool = Attribute("Contents in this direction are confirmed.")
    window: int = Attribute("How many contents a reader takes in hand, where they are confirmed.")
    room: int = Attribute(
        "How many contents may be sent to the reader now: 0 while its link is full or it has enough in hand, and when "
        "the flow has ended."
    )

    def send(resource: bytes, table: bytes, body: bytes, tag: Any = None) -> bool:
        """Send a content to the reader; only where there is `room`. `table` is the entries of a field table. The tag
        comes back by `IMTLReader.settled`, where contents are confirmed. False if it is not sent: the client has
        gone, and the flow is about to end."""

    def send_written(contents: Sequence[tuple[bytes, bytes]]) -> int:
        """The same for many at once, as far as there is room; returns how many were sent. Of each, what follows the
        sequence in its header (`fmqbus.protocols.mtl.data_codec.write_rest`), and its body. The tag of all is None."""

    def soon(act: Callable[[], None]) -> None:
        """Do this when the bus is not at work."""

    def dismissed(resource: bytes) -> None:
        """The bus no longer allows a resource that is summoned; the client may summon it anew."""


class IMTLReader(Interface):
    """What a profile does for one flow that reads. `deliver` to `consumer_ended` are as `IPeer` has them."""

    def summon(resource: bytes) -> None:
        """Let its contents come; none is sent before this has returned. Raises a `BusError`, by which the client is
        told no."""

    def dismiss(resource: bytes) -> None:
        """Send no more of it, neither what waits. What was sent may still be settled."""

    def settled(tags: Sequence[Any], outcome: Outcome) -> None:
        """The client has settled these, in this order; there is `IMTLFlow.room` again."""

    def go_on() -> None:
        """There may be room again."""

    def deliver(batch: Sequence[tuple[Publication, tuple[Subscription, ...]]]) -> None:
        """See `IPeer`."""

    def take(deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        """See `IPeer`."""

    def subscription_ended(subscription: Subscription, reason: str) -> None:
        """See `IPeer`."""

    def consumer_ended(consumer: Consumer, reason: str) -> None:
        """See `IPeer`."""

    def ended() -> None:
        """The flow has ended. Give back what it was handed and has not sent: nobody has seen that."""


class IMTLWriter(Interface):
    """What a profile does for one flow that writes."""

    def write(resource: bytes, table: bytes, body: bytes) -> Deferred[None] | None:
        """Take a content. `table` is the entries of a field table, which nobody has looked into. Returns None if it is
        as safe now as it will be, else a Deferred that fires then. What this raises, or the Deferred fails with,
        rejects it: `Overloaded` and `StoreFailed` so that the client may send it again."""

    def turn_over() -> None:
        """All that has come in this turn is written: hand on what has gathered. Nothing is confirmed before."""


class IMTLProfile(IPlugin):
    """What resources are, for MTL clients that choose this profile."""

    name: str = Attribute("As clients name it, in lower case. A vendor's has a slash in it, such as ``acme/log``.")
    summary: str = Attribute("One line for the help text.")
    resources: Sequence[bytes] = Attribute(
        "The only ones there are, where the profile itself has them; empty where they come to be when they are used."
    )
    confirms_readers: bool = Attribute("A reader may have ``full`` confirmation.")
    confirms_writers: bool = Attribute("A writer may have it.")

    def demand(client: IMTLClient, is_reader: bool, resource: bytes) -> None:
        """A client asks for a lease of this resource. Raises a `BusError` if it may not, or there cannot be one. Where
        it asks for any and all, this is not called: so rights are to be asked again when one is used."""

    def reader(flow: IMTLFlow) -> IMTLReader:
        """Return what acts for a flow that reads."""

    def writer(flow: IMTLFlow) -> IMTLWriter:
        """Return what acts for a flow that writes."""


class IFraming(Interface):
    """How units travel on a stream."""

    def make_factory(listener: IListener, turns: Turns, begin: Callable[[IUnitLink], IUnitProtocol]) -> Any:
        """Return the `IProtocolFactory` for one listener. Each of its connections calls `begin` once it is open."""


class IUnitFactory(IProtocolFactory):
    """Connections of a protocol of units, as that protocol likes them best."""

    def framed(framing: IFraming) -> Any:
        """Return the `IProtocolFactory` for the same protocol where units travel in another way."""


class ICarrier(Interface):
    """One place to listen at, made by an `ITransport`."""

    def fitted(factory: Any) -> Any:
        """Return what to `listen` with for a protocol's factory: the factory itself, or, where units travel in the
        carrier's own way, the one that it makes for that. Raises `ConfigError` if the protocol cannot be carried here.
        """

    def listen(factory: Any) -> Deferred[Any]:
        """Listen. Fires with an `IListeningPort`; fails with `CannotListenError` when the address is taken."""

    def peer_facts(transport: Any) -> PeerFacts:
        """What this carrier knows about the other end of a connected transport."""

    def reload() -> None:
        """Read certificates and the like again, for new connections. On a bad file: keep the old and raise
        `ConfigError`."""


class ITransport(IPlugin):
    """A carrier, for protocols of streams, of units or of parts: an endpoint with its own peer facts."""

    prefix: str = Attribute("The word after ``PROTOCOL:`` in a listen string, such as ``tcp``.")
    summary: str = Attribute("One line for the help text: the arguments it takes.")

    def endpoint(reactor: Any, arguments: Sequence[str], options: Mapping[str, str]) -> ICarrier:
        """Return the carrier for one listener. `arguments` and `options` are what follows the prefix, already
        unescaped. Raises `ConfigError` for wrong arguments or unreadable files."""


class IServiceContext(Interface):
    """What a service topic may use of its bus."""

    router: IRouter = Attribute("The bus.")
    clock: Any = Attribute("IReactorTime.")

    def publish(payload: bytes, cached: bool) -> None:
        """Publish under the topic's own name; `cached` as the retained value, sent to later subscribers at once."""

    def connected(protocol: str) -> int:
        """How many clients of this protocol are connected now."""

    def stop(soft: bool) -> None:
        """End the broker: after a drain, or at once. Does nothing where the embedding application gave no way."""


class IServiceTopic(IPlugin):
    """A topic below ``$`` at which clients and the broker itself talk (FMQP, section Service topics)."""

    topic: bytes = Attribute("Full name, first level ``$``, no wildcard.")
    summary: str = Attribute("One line: what is published here, with the payload's form.")

    def start(context: IServiceContext) -> None:
        """The bus runs. Called once per bus; the part must keep its state per context."""

    def stop(context: IServiceContext) -> None:
        """The bus ends: cancel what `start` began."""

    def clients_changed(context: IServiceContext) -> None:
        """A client has come or gone. Interest and wills of one that went are already told."""

    def received(context: IServiceContext, principal: Principal, message: Message) -> None:
        """A client published to exactly this topic and the authorizer allows ``control`` on it. The message is not
        forwarded."""


class IAuthorizer(IPlugin):
    """Says who may do what. Asked in configured order; `Decision.DEFER` passes the question on."""

    def decide(principal: Principal, action: Action, name: bytes) -> Decision:
        """Decide on a name or pattern. For a pattern: whether the principal may ask; each topic that it leads to is
        asked again as a concrete name before anything is delivered. Must be a pure function between two
        `IRouter.policy_changed`: answers are cached. An exception counts as `Decision.DENY` and is logged."""


class IUsers(Interface):
    """The users that the operator has named. A mechanism asks for any name that it hears: what it gets for one that is
    not there is as good as any other, but that nothing fits it."""

    def knows(name: str) -> bool:
        """Whether there is such a user. Not for what a client is told, nor for what it could take the time of."""

    def secret_of(name: str) -> Secret:
        """What is kept of the user's password. If there is none, the same made-up one each time."""

    def password_of(name: str) -> bytes | None:
        """The password itself, where the operator had it kept readable for old clients; else None."""

    def groups_of(name: str) -> frozenset[str]:
        """The groups that the user is in."""

    def known_by(peer: Principal) -> Sequence[str]:
        """The users that this peer is, by what its carrier vouches for: certificates, UNIX credentials, keys."""


class ISASLExchange(Interface):
    """One client's login by one mechanism. No I/O, no clock: times are seconds of one that never goes back.

    After `Proved` or `Failed` it is asked nothing more. What it raises counts as `Failed`, and is logged.
    """

    claimed: str | None = Attribute(
        "Who the client says it is, once it has said so. Failures are counted by it; it proves nothing."
    )

    def start(response: bytes | None, now: float) -> Step:
        """Begin. `response` is what the client has sent along with the mechanism's name, None if nothing."""

    def respond(response: bytes, now: float) -> Step:
        """The client's answer to the last challenge."""


class ISASLMechanism(IPlugin):
    """A way to prove who one is (RFC 4422), for every protocol that can carry one. Used where the configuration names
    it."""

    name: str = Attribute("As clients name it: upper case, digits, hyphens and underscores, 20 at most.")
    summary: str = Attribute("One line for the help text.")
    shows_password: bool = Attribute(
        "Who listens on the link has the password: only for private links, unless the operator wants it otherwise."
    )
    needs_users: bool = Attribute("It is of no use without a file of users.")

    def begin(peer: Principal, users: IUsers) -> ISASLExchange:
        """Return the exchange for one login of this peer. What `peer` has proved before is in it, and what is known of
        its link: see `fmqbus.logins.is_private`."""


class ILogin(Interface):
    """One login of one client. Say `answer` once for each thing that the client says; wait for the end of each."""

    def answer(response: bytes | None) -> Deferred[Challenge | Admitted]:
        """Take what the client says; at first that may be None, see `ISASLExchange.start`. Fires with what to ask the
        client next, or with the end. Fails with `Refused`, whose text the client may be told: the login is then over.
        """

    def close() -> None:
        """The client has gone, or logs in anew: nothing fires any more. May be repeated."""


class ILogins(Interface):
    """How clients of a bus prove who they are. A protocol offers them what it can carry of it."""

    def offered(facts: PeerFacts) -> Sequence[str]:
        """The mechanisms that this peer may use, the best first."""

    def begin(mechanism: str, peer: Principal) -> ILogin:
        """Return a new login of this peer, who names the mechanism. Raises `Refused` if it is not offered to it."""

    def vouched(peer: Principal) -> Principal:
        """As whom a peer acts whose protocol may have no word for a login: as the one user whom its carrier vouches
        for, if that is a way to log in (EXTERNAL), else as it is."""

    def stand(principal: Principal, revoked: Callable[[], None]) -> Callable[[], None]:
        """A client acts as this principal from now on, who was admitted. `revoked` is called, once, where the file of
        users is read again and says something else of it. Returns what to call when the client has gone."""


class IRetainedStore(Interface):
    """Keeps one message per topic."""

    failure: StoreFailed | None = Attribute("Why what is put is no longer safe; None while all is well.")

    def recover() -> Deferred[None]:
        """Bring back what was kept when the former process ended; called once. Fires when it is there. What is put or
        removed meanwhile is newer, and stays. Damage is reported by log and `StoreFailed`, never skipped in silence."""

    def put(message: Message) -> None:
        """Keep the message instead of the topic's former one. Raises `Overloaded` at its bounds; nothing has
        changed."""

    def remove(topic: bytes) -> bool:
        """Forget the topic's message. Returns False if there is none."""

    def get(topic: bytes) -> Message | None:
        """The message kept for exactly this topic; None if there is none."""

    def matching(pattern: bytes) -> Sequence[Message]:
        """The messages of all topics equivalent to the pattern, in the order in which they were last put. Raises
        `Overloaded` if it would have to look at more than `Limits.replay_visits` names."""

    def __len__() -> int:
        """How many messages are kept."""

    def close() -> Deferred[None]:
        """Write out what is not yet safe; no call comes after this one. Never fails, see `IMessageStore.close`."""


class IRetainedStoreMaker(IPlugin):
    """Makes the `IRetainedStore` of one bus: what a configuration file's ``retained_store`` names."""

    name: str = Attribute("The word in configuration files, such as ``memory``.")

    def make(clock: Any, limits: Limits, options: Mapping[str, Any]) -> IRetainedStore:
        """Return a store of its own for each bus, within `Limits.retained_topics` and `Limits.retained_octets`.

        Nothing is opened, written or locked before `IRetainedStore.recover`. `clock` is an IReactorTime; a real one
        is an IReactorFromThreads too. `options` is the store's own table in the configuration file
        (``[stores.NAME]``); raises `ConfigError` naming a wrong key.
        """


class IMessageStore(Interface):
    """Keeps the messages of durable queues, as a log of what happens to them.

    `append`, `delivered` and `remove` return at once and take effect in that order; `commit` tells when they are
    safe. A message that is removed before it was committed need never be written.
    """

    def recover() -> Deferred[Sequence[StoredMessage]]:
        """Everything that is kept, by queue and number. Called once, before anything else. Messages that may have been
        handed out before the end of the former process have `is_redelivered` set. Damage is reported by log and
        `StoreFailed`, never skipped in silence."""

    def append(stored: StoredMessage) -> None:
        """Keep a message. The store reads it now, not later."""

    def delivered(stored: StoredMessage) -> None:
        """The message has been handed out once more. Nobody waits for this."""

    def remove(queue: bytes, number: int) -> None:
        """Forget a message. Repeating it, or naming an unknown number, does nothing."""

    def together() -> AbstractContextManager[None]:
        """What is said within the context, which lasts no longer than a turn, is one change: all of it outlives a
        crash, or nothing."""

    def commit(at_leisure: bool = False) -> Deferred[None]:
        """A new Deferred for each caller, fired once all that was said before is on the disk. `at_leisure` lets the
        store wait a little for what may make writing needless. Fails with `StoreFailed`; the store then takes nothing
        more, and says so by failing each `commit`."""

    def close() -> Deferred[None]:
        """Write out what is not yet safe; no call comes after this one. Never fails: what could not be written is told
        by log, and to those who wait for a `commit`."""


class IMessageStoreMaker(IPlugin):
    """Makes the `IMessageStore` of one bus: what a configuration file's ``message_store`` names."""

    name: str = Attribute("The word in configuration files, such as ``sqlite``.")

    def make(clock: Any, limits: Limits, options: Mapping[str, Any]) -> IMessageStore:
        """As `IRetainedStoreMaker.make`."""


class IScheduleStore(Interface):
    """Keeps the schedules of a bus, as a log of what happens to them.

    `put` and `remove` return at once and take effect in that order; `commit` tells when they are safe.
    """

    def recover() -> Deferred[Sequence[Schedule]]:
        """Everything that is kept, by key. Called once, before anything else. Damage is reported by log and
        `StoreFailed`, never skipped in silence."""

    def put(schedule: Schedule) -> None:
        """Keep a schedule, whose `what` is a `fmqbus.schedules.errands.Order`, instead of the former one of its key.
        Called at each of its runs, too, after what the run has put into a queue."""

    def remove(key: str) -> None:
        """Forget a schedule. Repeating it, or naming an unknown key, does nothing."""

    def commit(at_leisure: bool = False) -> Deferred[None]:
        """As `IMessageStore.commit`."""

    def close() -> Deferred[None]:
        """As `IMessageStore.close`."""


class IScheduleStoreMaker(IPlugin):
    """Makes the `IScheduleStore` of one bus: what a configuration file's ``schedule_store`` names."""

    name: str = Attribute("The word in configuration files, such as ``sqlite``.")

    def make(clock: Any, limits: Limits, options: Mapping[str, Any]) -> IScheduleStore:
        """As `IRetainedStoreMaker.make`."""


class IObserver(IPlugin):
    """Sees what passes over the bus: metrics, journal, trace. Constant time in each call, never raises; an observer
    that raises is removed and reported."""

    def published(session: ISession | None, publication: Publication) -> None:
        """A run is on its way to its targets. Called per run, before the outboxes. `session` is None for the bus
        itself."""

    def dropped(session: ISession, publication: Publication, reason: str) -> None:
        """The outbox of `session` did not take, or gave up, these messages."""

    def enqueued(session: ISession | None, messages: Sequence[StoredMessage]) -> None:
        """These have been put into their queues. Called in a flush, before anybody takes them. `session` is None for
        what the bus puts there by itself: dead letters, what is sent back from there, and what was scheduled."""

    def taken(session: ISession, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        """These are handed to the peer of `session`."""

    def settled(session: ISession, consumer: Consumer, messages: Sequence[StoredMessage], outcome: Outcome) -> None:
        """The consumer has settled these."""

    def gave_up(queue: bytes, message: StoredMessage, reason: str) -> None:
        """The queue has let a message go that nobody accepted: as a dead letter, which is then enqueued again, or for
        good. Reasons are those of dead letters, and ``purged``, ``make-room`` and ``requeued``."""

    def asked(calls: Sequence[Call]) -> None:
        """These calls have begun. Called in a flush, before any server gets them."""

    def called(session: ISession, calls: Sequence[Call]) -> None:
        """These are handed to the peer of `session`, a server."""

    def answered(answers: Sequence[Answer]) -> None:
        """These calls have ended, each for the only time; also those that their callers have abandoned, and are not
        told of. Called in a flush."""

    def interest_changed(change: InterestChange) -> None:
        """The number of visible subscriptions to a pattern has changed."""

    def session_opened(session: ISession) -> None:
        """A client is there."""

    def session_closed(session: ISession, reason: str) -> None:
        """A client has gone; its wills are published."""


#: How an embedding application, or twistd, ends the process: called with True for a soft stop.
StopCallback = Callable[[bool], None]
