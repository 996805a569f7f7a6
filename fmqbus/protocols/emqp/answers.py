"""What is told to clients about their jobs, and what of it has to wait because they are not there?

A client may have gone for good, or may come back in a moment: after a broker's restart it comes back before it has said
a word. So a result that cannot be sent is kept for a while, within bounds, and tried again.
"""

from __future__ import annotations

from collections.abc import Callable

from fmqbus.protocols.emqp.commands import Reply
from fmqbus.protocols.emqp.presence import Peer
from fmqbus.protocols.emqp.wire import Wire

_Waiting = tuple[Peer, Reply, float, Callable[[], None]]


class Answers:
    """The results for all clients, with time as an argument."""

    def __init__(self, wire: Wire, keep_seconds: float, most: int, most_octets: int) -> None:
        """So many results, and octets of them, are kept."""
        self._wire = wire
        self._keep_seconds = keep_seconds
        self._most = most
        self._most_octets = most_octets
        self._waiting: list[_Waiting] = []
        self._octets = 0
        #: Results that nobody was there for.
        self.lost = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def result(self, client: Peer, message_id: bytes, body: bytes, now: float, then: Callable[[], None]) -> None:
        """Tell a client the result of its job, at the end of the turn. `then` is called when that has been done, or
        given up."""
        reply = Reply(self._wire.make_id(), body, message_id)

        def then_or_keep(is_told: bool) -> None:
            if is_told:
                then()
            elif self._keep_seconds and len(self) < self._most and self._octets + len(body) <= self._most_octets:
                self._waiting.append((client, reply, now + self._keep_seconds, then))
                self._octets += len(body)
            else:
                self.lost += 1
                then()

        self._wire.tell_soon(client, reply, then_or_keep)

    def try_again(self, now: float) -> None:
        """Some clients may be back, and the time of others is over."""
        waiting, self._waiting = self._waiting, []
        for client, reply, until, then in waiting:
            is_told = self._wire.tell(client, reply)
            if is_told or until <= now:
                self._octets -= len(reply.body)
                self.lost += not is_told
                then()
            else:
                self._waiting.append((client, reply, until, then))

    def give_up(self) -> None:
        """The broker ends."""
        waiting, self._waiting = self._waiting, []
        self.lost += len(waiting)
        for *_, then in waiting:
            then()
