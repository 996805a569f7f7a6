"""Does anybody listen? What the feedback topics tell about one topic (FMQP, section Feedback topics).

Feedback names the subscribers' own patterns, so one topic may be wanted through several: through itself, through
``room/*``, through ``*/temperature``. There is demand as long as any of them has a subscriber.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from twisted.internet.defer import Deferred, succeed

from fmqbus import names
from fmqbus.client.equivalents import Equivalents
from fmqbus.client.events import DemandChange
from fmqbus.client.feed import Feed
from fmqbus.errors import Detached
from fmqbus.protocols.fmqp.codec import FEEDBACK, SUBSCRIPTION, UNSUBSCRIBE, encode
from fmqbus.waiting import Waiters

_COUNT = struct.Struct(">Q")


def subscribers_in(body: bytes) -> int:
    """Return the number of subscribers that a feedback body tells of.

    Empty is none (readings 34 and 35). Other brokers may write anything else into a body that is not empty; that is
    read as one subscriber, since somebody does listen.
    """
    return int(_COUNT.unpack(body)[0]) if len(body) == _COUNT.size else int(bool(body))


class Demand(Feed[DemandChange]):
    """The demand for one topic, or for all topics that a pattern is equivalent to.

    Iterate over it for every change, or wait for the two that matter. Without a connection nobody listens.
    """

    def __init__(
        self,
        name: bytes,
        forget: Callable[[Demand], None],
        max_patterns: int,
        max_queue: int,
        max_octets: int,
        callback: Callable[[DemandChange], object] | None,
    ) -> None:
        super().__init__(max_queue, max_octets, callback)
        self.name = name
        #: The number of subscribers, over all patterns; debug subscriptions do not count.
        self.subscribers = 0
        self._forget = forget
        self._counts: dict[bytes, int] = {}
        self._max_patterns = max_patterns
        self._begins = Waiters()
        self._ends = Waiters()

    @property
    def topic(self) -> str:
        """What is watched, without outer slashes."""
        return names.to_text(self.name)

    @property
    def is_wanted(self) -> bool:
        """Somebody listens."""
        return self.subscribers > 0

    def when_wanted(self) -> Deferred[None]:
        """Return a Deferred that fires once somebody listens: at once if so. Fails with `Detached` when stopped."""
        return self._when(self.is_wanted, self._begins)

    def when_unwanted(self) -> Deferred[None]:
        """Return a Deferred that fires once nobody listens: at once if so. Fails with `Detached` when stopped."""
        return self._when(not self.is_wanted, self._ends)

    def told(self, pattern: bytes, subscribers: int) -> None:
        """The broker told the number of subscribers to a pattern equivalent to ours.

        More patterns than the limit are not believed; a topic with a thousand subscribers to it is wanted anyway.
        """
        before = self._counts.get(pattern, 0)
        if subscribers == before or (not before and len(self._counts) >= self._max_patterns):
            return
        if subscribers:
            self._counts[pattern] = subscribers
        else:
            del self._counts[pattern]
        was_wanted = self.is_wanted
        self.subscribers += subscribers - before
        self.extend([DemandChange(names.to_text(pattern), subscribers)])
        if self.is_wanted and not was_wanted:
            self._begins.fire()
        elif was_wanted and not self.is_wanted:
            self._ends.fire()

    def link_lost(self) -> None:
        """Nobody listens over a connection that has gone; the next one tells anew."""
        for pattern in list(self._counts):
            self.told(pattern, 0)

    def stop(self) -> None:
        """Stop watching. May be repeated."""
        if not self.is_stopped:
            super().stop()
            self._forget(self)
            for waiters in (self._begins, self._ends):
                waiters.fail(Detached(f"demand for {self.topic} is no longer watched"))

    def _when(self, is_so: bool, waiters: Waiters) -> Deferred[None]:
        if self.is_stopped:
            raise Detached(f"demand for {self.topic} is no longer watched")
        return succeed(None) if is_so else waiters.wait()

    def __repr__(self) -> str:
        return f"<Demand for {self.topic!r}: {self.subscribers}>"


class Demands:
    """All that one client watches. On the wire there is one feedback subscription per exact name."""

    def __init__(self) -> None:
        self._kept: Equivalents[Demand] = Equivalents()

    def add(self, demand: Demand) -> bytes:
        """Keep a watch. Returns the packet that the broker must get: always one, so that the newcomer is told too."""
        self._kept.add(demand.name, demand)
        return encode(SUBSCRIPTION | FEEDBACK, demand.name)

    def remove(self, demand: Demand) -> bytes:
        """Forget a watch. Returns the packet that the broker must get; empty while others watch the same name."""
        self._kept.remove(demand.name, demand)
        return b"" if self._kept.at(demand.name) else encode(SUBSCRIPTION | UNSUBSCRIBE | FEEDBACK, demand.name)

    def told(self, pattern: bytes, body: bytes) -> None:
        """A feedback message has come."""
        subscribers = subscribers_in(body)
        for demand in self._kept.matching(pattern):
            demand.told(pattern, subscribers)

    def packets(self) -> bytes:
        """What a new connection must say after its subscriptions."""
        return b"".join(encode(SUBSCRIPTION | FEEDBACK, name) for name in self._kept.names())

    def link_lost(self) -> None:
        """The connection has gone, and with it everybody's subscribers."""
        for demand in list(self._kept):
            demand.link_lost()

    def stop_all(self) -> None:
        """End every watch."""
        for demand in list(self._kept):
            demand.stop()
