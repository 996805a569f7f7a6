"""Who is handed what when a turn is over?

Queues that have something for somebody are emptied in rounds: a hundred messages of each, gathered by session, then one
call to each peer. So all queues advance together, a link that fills up is seen before the next round, and what would
take too long goes on in a later turn.

A dead letter is still a message of the queue where it died. A consumer that may not consume that one is not given the
letter by another name: he ends when it would be his, and the letter waits for somebody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fmqbus.model import DEAD_LETTER_QUEUE, Action, Consumer, StoredMessage
from fmqbus.names import from_text
from fmqbus.router.consumers import Member
from fmqbus.router.dead_letters import DeadLetters
from fmqbus.router.queue import EXPIRED, Queue
from fmqbus.router.queue_table import QueueTable

if TYPE_CHECKING:
    from fmqbus.router.service import Router
    from fmqbus.router.session import Session

_Batches = dict["Session", list[tuple[Consumer, StoredMessage]]]

#: Messages of one queue in a round.
_ROUND_MESSAGES = 100
#: Octets of all queues in a round, but for the last message; about what a socket buffer holds.
_ROUND_OCTETS = 256 * 1024


class Deliveries:
    """The deliveries of one bus."""

    def __init__(
        self,
        router: Router,
        table: QueueTable,
        dead_letters: DeadLetters,
        awake: dict[Queue, None],
    ) -> None:
        """`awake` are the queues that have something for somebody, in the order in which they came to it."""
        self._router = router
        self._table = table
        self._dead_letters = dead_letters
        self._awake = awake
        #: Consumers to end when the round is over.
        self._forbidden: dict[Member, None] = {}
        self._is_stopped = False
        self._goes_on_later = False

    def stop(self) -> None:
        """Hand out nothing more."""
        self._is_stopped = True

    def flush(self) -> None:
        """Hand out what can be, or as much of it as one turn allows."""
        if not self._awake or self._is_stopped or self._goes_on_later:
            return
        turns = self._router.turns
        while self._awake:
            self._hand_out()
            if self._awake and turns.is_used_up:
                self._goes_on_later = True
                turns.wait(self._go_on)
                return

    def _go_on(self) -> None:
        self._goes_on_later = False
        self._router.flush(None)

    def _hand_out(self) -> None:
        """One round."""
        batches: _Batches = {}
        octets = 0
        for queue in tuple(self._awake):
            del self._awake[queue]
            octets += self._assign(queue, batches, _ROUND_OCTETS - octets)
            self._table.look_at(queue)
            if octets >= _ROUND_OCTETS:
                break
        self._table.tell_news()
        for session, batch in batches.items():
            if self._router.observers:
                self._router.tell("taken", session, batch)
            session.tell_peer("take", batch)
        forbidden, self._forbidden = self._forbidden, {}
        for member in forbidden:
            member.session.end_consumer(member)

    def _assign(self, queue: Queue, batches: _Batches, most_octets: int) -> int:
        """Give messages of one queue to its consumers; returns their octets."""
        now = self._table.now()
        left, octets = _ROUND_MESSAGES, 0
        while queue.can_deliver and left > 0 and octets < most_octets:
            turn = queue.consumers.next()
            if turn is None:
                break
            member, most = turn
            taken = queue.take(min(most, left), most_octets - octets)
            left -= len(taken)
            live = self._without_expired(queue, taken, now)
            for place, stored in enumerate(live):
                if stored.message.properties and not self._may_have(member, stored):
                    self._forbidden[member] = None
                    for other in live[place:]:
                        queue.place(other, now)
                    live = live[:place]
                    left = 0  # nobody else before he has ended, so that all stays in order
                    break
            if live:
                queue.give(member, live, now)
                if queue.safekeeping is not None:
                    queue.safekeeping.delivered(live)
                batches.setdefault(member.session, []).extend([(member, stored) for stored in live])
                octets += sum([len(stored.message.payload) for stored in live])
        return octets

    def _may_have(self, member: Member, stored: StoredMessage) -> bool:
        origin = stored.message.properties.get(DEAD_LETTER_QUEUE)
        return origin is None or self._router.authorize(member.session.principal, Action.CONSUME, from_text(origin))

    def _without_expired(self, queue: Queue, taken: Sequence[StoredMessage], now: float) -> Sequence[StoredMessage]:
        """Bury those whose time has come in this very moment, when the timer has not."""
        live = []
        for stored in taken:
            if stored.expires_at is None or stored.expires_at > now:
                live.append(stored)
            else:
                self._dead_letters.bury(queue, stored, EXPIRED)
        return live
