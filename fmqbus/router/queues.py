"""The queues of a bus, as the router and its sessions see them: the parts, and what concerns all of them.

- `queue_table`: which queues there are, and what they hold together
- `queue`: one queue; `consumers`: who shares it; `line`: whose turn it is
- `settling`: what consumers ask; `deliveries`: what they are handed
- `batches`: what comes as a whole, and only once
- `dead_letters`: what leaves without being accepted
- `schedule`: what is due when; `slices`: long work in pieces; `safekeeping`: the store

Deciding and handing over are apart: sessions change queues and wake them, `flush` empties those that are awake.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred, succeed
from twisted.python.failure import Failure

from fmqbus.errors import Overloaded, StoreFailed
from fmqbus.interfaces import IMessageStore
from fmqbus.model import Message, QueueOverflow, QueueSettings, StoredMessage, Terms
from fmqbus.router.batches import NOTES, Batches
from fmqbus.router.dead_letters import QUEUE_FULL, DeadLetters, unforged
from fmqbus.router.deliveries import Deliveries
from fmqbus.router.queue import Queue
from fmqbus.router.queue_table import QueueTable
from fmqbus.router.safekeeping import Safekeeping
from fmqbus.router.schedule import Schedule
from fmqbus.router.settling import Settling
from fmqbus.router.slices import STEP, Slices
from fmqbus.vitals import Distribution

if TYPE_CHECKING:
    from fmqbus.router.service import Router
    from fmqbus.router.session import Session


class Queues:
    """All of it for one bus."""

    def __init__(
        self,
        router: Router,
        wall: Callable[[], float],
        store: IMessageStore | None,
        settings: QueueSettings,
        rules: Sequence[tuple[bytes, QueueSettings]],
    ) -> None:
        self._router = router
        self._store = store
        self._safekeeping = None if store is None else Safekeeping(store, router.clock.seconds)
        #: What the store keeps is here; nothing can be asked before.
        self._is_open = store is None
        self._slices = Slices(router.turns, self._end_turn)
        self.schedule = Schedule(router.clock, wall, self._slices, self._are_due, self._end_turn)
        #: Queues that have something for somebody, in the order in which they came to it.
        awake: dict[Queue, None] = {}
        self.table = QueueTable(router, self.schedule, self._safekeeping, awake, settings, rules)
        self.batches = Batches(router, self.table, self._safekeeping)
        self._dead_letters = DeadLetters(self.table)
        self._deliveries = Deliveries(router, self.table, self._dead_letters, awake)
        self.settling = Settling(router, self.table, self._dead_letters, self._slices)

    def _end_turn(self) -> None:
        self._router.flush(None)

    @property
    def is_open(self) -> bool:
        """What the store keeps is here."""
        return self._is_open

    @property
    def commit_seconds(self) -> Distribution | None:
        """How long commits of the store took; None without a store."""
        return None if self._safekeeping is None else self._safekeeping.commit_seconds

    def demand_open(self) -> None:
        """Raises `Overloaded` while what the store keeps is not yet here."""
        if not self._is_open:
            raise Overloaded("the queues are not yet back from the store", "recovering")

    # enqueueing

    def enqueue(self, session: Session | None, name: bytes, message: Message, terms: Terms) -> Deferred[None] | None:
        """See `ISession.enqueue`; rights and the name have been looked at. Without a session, the bus does it itself;
        it does not wait where a producer would have to."""
        table = self.table
        queue = table.queue(name)
        if message.properties:
            message = unforged(message, None if session is None else session.principal.protocol)
        stored = table.new_message(queue, message, terms)
        octets = stored.octets
        table.demand_room(octets)
        if queue.safekeeping is not None and queue.safekeeping.failure is not None:
            raise StoreFailed(str(queue.safekeeping.failure))
        if not queue.has_room(octets):
            queue, stored = self._find_place(session, queue, stored, octets)
            octets = stored.octets
        table.add(session, queue, stored, octets)
        return None if queue.safekeeping is None else queue.safekeeping.when_safe(stored)

    def _find_place(
        self, session: Session | None, queue: Queue, stored: StoredMessage, octets: int
    ) -> tuple[Queue, StoredMessage]:
        """Where a message goes that finds its queue full, and as what. Raises `Overloaded` if nowhere."""
        overflow = queue.settings.overflow
        if overflow is QueueOverflow.PAUSE and session is not None and queue.has_room(octets, times=2):
            self.table.hold(queue, session)
            return queue, stored
        if overflow is QueueOverflow.DROP_OLDEST and self.table.make_room(queue, octets, stored.priority):
            return queue, stored
        if overflow is QueueOverflow.DEAD_LETTER:
            found = self._dead_letters.grave_for(queue, stored, QUEUE_FULL)
            if found is not None:
                queue.enqueued += 1
                queue.dead_lettered += 1
                return found
        queue.refused += 1
        raise Overloaded("the queue is full", "queue-full")

    # what an operator asks

    def purge(self, name: bytes, numbers: Sequence[int] | None) -> Deferred[int]:
        """See `IRouter.purge`."""

        def forget(queue: Queue, stored: StoredMessage) -> bool:
            if not queue.withdraw(stored):
                return False
            self.table.drop(queue, stored, "purged")
            return True

        queue = self.table.find(name)
        return succeed(0) if queue is None else self._with_each(queue, _chosen(queue, numbers), None, forget)

    def requeue(self, name: bytes, most: int | None, numbers: Sequence[int] | None) -> Deferred[int]:
        """See `IRouter.requeue`."""
        queue = self.table.find(name)
        send_back = self._dead_letters.send_back
        return succeed(0) if queue is None else self._with_each(queue, _chosen(queue, numbers), most, send_back)

    def search(self, name: bytes, properties: Mapping[str, str], most: int) -> Deferred[Sequence[StoredMessage]]:
        """See `IRouter.search`."""
        queue = self.table.find(name)
        if queue is None:
            return succeed(())
        wanted = list(properties.items())
        matching: list[int] = []

        def look_at(_: Queue, stored: StoredMessage) -> bool:
            said = stored.message.properties
            if all(said.get(key) == value for key, value in wanted):
                matching.append(stored.number)
                return True
            return False

        held = chain.from_iterable(member.unsettled.values() for member in queue.consumers)
        searched = self._with_each(queue, chain(held, queue.waiting()), most, look_at)
        return searched.addCallback(lambda _: queue.find(matching))

    def _with_each(
        self,
        queue: Queue,
        messages: Iterable[StoredMessage],
        most: int | None,
        act: Callable[[Queue, StoredMessage], bool],
    ) -> Deferred[int]:
        """Do this with each of these messages of a queue. Fires with the number of those that it was done to."""
        # emptied as it goes: to let go of a million messages at once would take as long as anything here
        left = deque(messages)
        done = 0

        def one_by_one() -> Iterator[None]:
            nonlocal done
            while left and done != most:
                done += act(queue, left.popleft())
                if len(left) % STEP == 0:
                    yield
            self.table.look_at(queue)

        work = self._slices.run(one_by_one())
        self._end_turn()
        return work.addCallback(lambda _: done)

    # what time does

    def _are_due(self, due: Sequence[StoredMessage]) -> None:
        """The time of these has come: they have expired, or their delay is over."""
        changed: dict[Queue, None] = {}
        for stored in due:
            queue = self.table.find(stored.queue)
            # what became of one may have driven out another
            if queue is not None and queue.withdraw(stored):
                self.settling.place(queue, stored)
                changed[queue] = None
        for queue in changed:
            self.table.look_at(queue)

    # the turn, the beginning and the end

    def flush(self) -> None:
        """The turn is over: tell what came, hand out what is ready, and let the store commit."""
        self.table.tell_news()
        self._deliveries.flush()
        if self._safekeeping is not None:
            self._safekeeping.flush()

    def recover(self) -> Deferred[None]:
        """Bring back what the store keeps. Fails with `StoreFailed`; durable queues then take nothing."""
        if self._store is None:
            return succeed(None)
        return self._store.recover().addCallback(self._bring_back).addErrback(self._cannot_recover)

    def _bring_back(self, kept: Sequence[StoredMessage]) -> Deferred[None]:
        def batch_by_batch() -> Iterator[None]:
            self.table.count_from(max((stored.number for stored in kept), default=0) + 1)
            for begin in range(0, len(kept), STEP):
                for stored in kept[begin : begin + STEP]:
                    if stored.queue == NOTES:
                        self.batches.bring_back(stored)
                        continue
                    queue = self.table.bring_back(stored)
                    self.settling.place(queue, stored)
                    self.table.look_at(queue)
                yield
            self._is_open = True

        return self._slices.run(batch_by_batch())

    def _cannot_recover(self, failure: Failure) -> Failure:
        assert self._safekeeping is not None, "there is a store"
        self._safekeeping.fail(failure)
        self._is_open = True
        return failure

    @property
    def store_failure(self) -> StoreFailed | None:
        """See `IRouter.store_failure`."""
        return None if self._safekeeping is None else self._safekeeping.failure

    def stop_delivering(self) -> None:
        """Hand out nothing more."""
        self._deliveries.stop()

    def close(self) -> Deferred[None]:
        """All sessions have closed: write out what is not yet safe."""
        self.schedule.stop()
        return succeed(None) if self._safekeeping is None else self._safekeeping.close()


def _chosen(queue: Queue, numbers: Sequence[int] | None) -> Iterable[StoredMessage]:
    return queue.waiting() if numbers is None else queue.find(numbers)
