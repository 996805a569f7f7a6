"""Who hears publications at the socket ``pubout``? (eMQP, Publisher)

ZeroMQ's subscribers want all that begins with some octets, at any depth of levels; the bus knows patterns of as many
levels as a topic has. So one wish becomes a pattern for each depth, down to `MOST_LEVELS`, and ZeroMQ itself, which
knows each subscriber's wish, drops what goes beyond it. Who subscribes cannot be told apart, and none of them can be
refused alone: all are one client of the bus, and from where the sockets listen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from fmqbus import names
from fmqbus.errors import BusError, Overloaded
from fmqbus.interfaces import IPartsSocket, IRouter
from fmqbus.model import PeerFacts, Principal, Publication, Subscription
from fmqbus.protocols.emqp.peers import PROTOCOL
from fmqbus.protocols.quiet_peer import QuietPeer

#: Topics of more levels reach nobody here.
MOST_LEVELS = 16

_BEGINS = b"\1"


def patterns_of(prefix: bytes) -> Iterator[bytes]:
    """The patterns that together fit every topic which begins so, and some more."""
    *whole, _ = prefix.split(b"/")
    if not all(whole):
        # no topic begins with a slash, or has two of them in a row
        return
    for depth in range(len(whole) + 1, MOST_LEVELS + 1):
        pattern = b"/".join([*whole, *[names.STAR] * (depth - len(whole))])
        if len(pattern) <= names.MAX_OCTETS:
            yield pattern


class Subscribers(QuietPeer):
    """All of them."""

    def __init__(self, router: IRouter, facts: PeerFacts, socket: IPartsSocket) -> None:
        super().__init__(router, Principal(PROTOCOL, facts))
        self._socket = socket
        #: What topics are to begin with → the patterns by which that is wished, but for those that were refused.
        self._wishes: dict[bytes, list[bytes]] = {}
        #: Pattern → how many wishes it belongs to.
        self._wanted: Counter[bytes] = Counter()
        self._most = router.limits.subscriptions_per_peer

    def wished(self, wish: bytes) -> None:
        """What an XPUB socket tells: an octet, and then what the topics begin with."""
        begins, prefix = wish[:1] == _BEGINS, wish[1:]
        if not begins:
            for pattern in self._wishes.pop(prefix, ()):
                self._take_away(pattern)
        elif len(self._wishes) >= self._most:
            self.bus.count_refused(Overloaded.reason)
        elif prefix not in self._wishes:
            self._wishes[prefix] = [pattern for pattern in patterns_of(prefix) if self._is_added(pattern)]

    def _is_added(self, pattern: bytes) -> bool:
        if pattern not in self._wanted:
            try:
                names.parse(pattern)
                self.bus.subscribe(pattern)
            except BusError as error:
                self.bus.count_refused(error.reason)
                return False
        self._wanted[pattern] += 1
        return True

    def _take_away(self, pattern: bytes) -> None:
        self._wanted[pattern] -= 1
        if not self._wanted[pattern]:
            del self._wanted[pattern]
            self.bus.unsubscribe(pattern)

    def deliver(self, batch: Sequence[tuple[Publication, tuple[Subscription, ...]]]) -> None:
        sent = octets = 0
        for publication, _ in batch:
            for message in publication.messages:
                try:
                    self._socket.send(b"", (message.topic, message.payload))
                except BusError as error:
                    self.bus.count_refused(error.reason)
            sent += publication.count
            octets += publication.size
        self.bus.count_sent(sent, octets)

    def subscription_ended(self, subscription: Subscription, reason: str) -> None:
        pattern = subscription.pattern
        del self._wanted[pattern]
        for patterns in self._wishes.values():
            if pattern in patterns:
                patterns.remove(pattern)
