"""What waits for one peer, and what happens when too much does.

Two stages. While the peer's link takes data, a publication waits only for the end of the turn (`_ready`), then the
whole batch goes to the peer in one call. When the link is full or gone, publications are kept (`_kept`), bounded in
octets; a publication that finds no room is treated as the subscription's `Overflow` says. What was kept first may give
way to it, by whichever subscription that came. Deliveries are made in `flush` and `resume` only, and a client is ended
after the turn, so a decision of the router is never interrupted by what follows from it.

Words to the client travel in the same queue, so that it gets them in order with everything else, but never give way to
publications, and may take as much room again. Of interest changes, only the last on each pattern is kept: a publisher
that missed the last unsubscription would work for nobody (reading 50). Answers to calls are kept too, for somebody
waits for each. Calls themselves are never kept: who cannot take one gives it back, and perhaps another server can.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, cast

from twisted.internet.defer import Deferred, succeed

from fmqbus.calls import NO_ROOM, Answer
from fmqbus.errors import CallFailed
from fmqbus.model import NOBODY, Interest, Overflow, Publication, Subscription
from fmqbus.router.asked import Asked
from fmqbus.waiting import Waiters

if TYPE_CHECKING:
    from fmqbus.router.session import Session

_Thing = Publication | Interest | Answer | Asked
_Item = tuple[_Thing, tuple[Subscription, ...]]
#: Kept items in their order. A later one finds the former that it replaces by its key: of a conflated message its
#: topic, of an interest change its pattern, in a tuple. Others have a number of their own.
_Key = bytes | tuple[bytes] | int
_Kept = OrderedDict[_Key, _Item]
_serial = count()
_NO_SESSIONS: set[Session] = set()  # never filled; saves each outbox a set of its own

#: What keeping one item costs besides its octets: its objects and its place in the queue. Small messages are bounded
#: too.
ITEM_OCTETS = 320
#: How much is handed to a link at a time; about what a socket buffer holds.
_DRAIN_OCTETS = 256 * 1024


def _octets(thing: _Thing) -> int:
    return ITEM_OCTETS + thing.size


def _pieces(batch: list[_Item]) -> Iterator[list[_Item]]:
    """Cut a batch into what is handed to a link at a time, which may be full after each: items of one kind, and no more
    than a link may hold."""
    begin = octets = 0
    for end, (item, _) in enumerate(batch):
        if octets >= _DRAIN_OCTETS or item.__class__ is not batch[begin][0].__class__:
            yield batch[begin:end]
            begin, octets = end, 0
        octets += _octets(item)
    yield batch[begin:] if begin else batch


class Outbox:
    """The queue between the router and one session's peer."""

    __slots__ = (
        "_dirty",
        "_empties",
        "_is_draining",
        "_is_replaying",
        "_kept",
        "_paused_publishers",
        "_ready",
        "_word_octets",
        "is_closed",
        "is_open",
        "kept_octets",
        "limit",
        "session",
        "takes_data",
    )

    def __init__(self, session: Session, limit: int, dirty: list[Outbox]) -> None:
        #: Whose it is, until that has ended.
        self.session = session
        #: Octets of publications kept at most while the link is not taking data.
        self.limit = limit
        #: What is put goes to the peer at the end of the turn: its link takes data, and nothing is kept.
        self.is_open = True
        #: The peer's link takes data.
        self.takes_data = True
        self._is_draining = False
        self._is_replaying = False
        #: Octets of publications kept now, with what keeping them costs.
        self.kept_octets = 0
        self._word_octets = 0
        #: Nothing is taken or handed over any more.
        self.is_closed = False
        self._dirty = dirty
        self._ready: list[_Item] = []
        # made when first needed: most peers are never slow, and 10,000 idle ones should cost little
        self._kept: _Kept | None = None
        self._paused_publishers: set[Session] = _NO_SESSIONS
        self._empties: Waiters | None = None

    def put(self, item: _Thing, matched: tuple[Subscription, ...], source: Session | None) -> None:
        """Take an item over; `source` is who may be paused for it. See `fmqbus.model.Receiver`."""
        if self._ready:
            self._ready.append((item, matched))
        elif self.is_open:
            self._dirty.append(self)
            self._ready.append((item, matched))
        else:
            self._keep(item, matched, source)

    @property
    def is_empty(self) -> bool:
        """Nothing waits, and the link has taken all that was handed over."""
        return self.is_open and not self._ready and not self._kept

    def when_empty(self) -> Deferred[None]:
        """A new Deferred for each caller, fired when next `is_empty`, or when it is closed."""
        if self.is_empty or self.is_closed:
            return succeed(None)
        if self._empties is None:
            self._empties = Waiters()
        return self._empties.wait()

    def pause(self) -> None:
        """The link is full or gone: what is not yet handed over is kept from now on."""
        self.is_open = self.takes_data = False

    def resume(self) -> Iterator[None]:
        """The link takes data: hand over what was kept, a piece a step, until it is full again."""
        self.takes_data = not self.is_closed
        if self._is_draining or self._is_replaying:
            # the steps of an earlier call go on, or what is replayed goes first
            return
        self._is_draining = True
        while self._kept and self.takes_data:
            piece: list[_Item] = []
            octets = 0
            kind = next(iter(self._kept.values()))[0].__class__
            while self._kept and octets < _DRAIN_OCTETS:
                key, (item, matched) = self._kept.popitem(last=False)
                if item.__class__ is not kind:
                    self._kept[key] = (item, matched)
                    self._kept.move_to_end(key, last=False)
                    break
                piece.append((item, matched))
                octets += self._release(item)
            self._hand_over(piece)
            if self._paused_publishers and self.kept_octets <= self.limit // 2:
                self._release_publishers()
            yield
        self._is_draining = False
        if self.takes_data:
            self.is_open, self._kept = True, None
            if self.is_empty:
                self._tell_empty()

    def begin_replay(self) -> None:
        """What is put from now on is kept, behind what is replayed (reading 21)."""
        self._is_replaying = True
        self.is_open = False

    def replay(self, piece: list[_Item]) -> None:
        """Hand over items of one kind now, before all that is kept. Only while `takes_data`."""
        if piece:
            self._hand_over(piece)

    def end_replay(self) -> None:
        """All is replayed. What was kept meanwhile follows with the next `resume`."""
        self._is_replaying = False

    def flush(self, source: Session | None) -> None:
        """End of the turn: hand over what is ready. Called by the router for every outbox in its dirty list."""
        batch, self._ready = self._ready, []
        for piece in _pieces(batch):
            if self.is_open:
                self._hand_over(piece)
            else:
                # the link filled up between `put` and now
                for item, matched in piece:
                    self._keep(item, matched, source)
        if self._empties is not None and self.is_empty:
            self._tell_empty()

    def close(self) -> None:
        """The client is cut off, or has gone: forget everything, take no more, and let nobody wait for it."""
        self.is_closed = True
        self.is_open = self.takes_data = False
        self._ready, self._kept, self.kept_octets, self._word_octets = [], None, 0, 0
        self._release_publishers()
        self._tell_empty()

    def _hand_over(self, piece: list[_Item]) -> None:
        """Hand a piece to the peer. One that raises is given nothing more, and is ended soon."""
        session, first = self.session, piece[0][0]
        if isinstance(first, Publication):
            has_taken = session.tell_peer("deliver", piece)
        elif isinstance(first, Asked):
            has_taken = session.hand_calls([item for item, _ in piece if isinstance(item, Asked)])
        else:
            word = "answered" if isinstance(first, Answer) else "interest_changed"
            has_taken = session.tell_peer(word, [item for item, _ in piece])
        if not has_taken:
            self.pause()

    def _keep(self, item: _Thing, matched: tuple[Subscription, ...], source: Session | None) -> None:
        """Keep an item, or make room for it, or let it go, as the overflow policy says."""
        if self.is_closed:
            return
        if isinstance(item, Asked):
            self.session.return_call(item)
            return
        if self._kept is None:
            self._kept = OrderedDict()
        if not isinstance(item, Publication):
            self._keep_word(item)
            return
        overflow = matched[0].overflow if matched else self.session.overflow
        if overflow is Overflow.CONFLATE:
            self._conflate(item, matched)
            return
        size = _octets(item)
        if self.kept_octets + size <= self.limit or self._find_room(size, overflow, source):
            self._kept[next(_serial)] = (item, matched)
            self.kept_octets += size
        else:
            self._drop(item, "outbox-full")

    def _find_room(self, size: int, overflow: Overflow, source: Session | None) -> bool:
        """Whether a publication is kept although the outbox is full."""
        if overflow is Overflow.PAUSE:
            if source is not None:
                self._pause_publisher(source)
            # what its last read brought is still taken, but not without end: new publishers could come for ever
            return self.kept_octets + size <= 2 * self.limit
        if overflow is Overflow.DISCONNECT:
            self.session.end_soon("outbox-full")
            return False
        return overflow is not Overflow.DROP_NEWEST and self._make_room(size)

    def _make_room(self, size: int) -> bool:
        """Drop the oldest publications until `size` octets fit; False, and none is dropped, if they never can."""
        assert self._kept is not None, "only called from _keep"
        if size > self.limit:
            return False
        while self.kept_octets + size > self.limit:
            key, (oldest, matched) = self._kept.popitem(last=False)
            if isinstance(oldest, Publication):
                self._release(oldest)
                self._drop(oldest, "outbox-full")
            else:
                # out of the way, so that it is not met again each time
                self._kept[key] = (oldest, matched)
        return True

    def _release(self, item: _Thing) -> int:
        """An item is kept no longer. Returns the octets it took."""
        octets = _octets(item)
        if isinstance(item, Publication):
            self.kept_octets -= octets
        else:
            self._word_octets -= octets
        return octets

    def _keep_word(self, word: Interest | Answer) -> None:
        """Keep what may not be lost. A client that cannot be told is ended: it must not go on believing what is no
        longer true, nor wait for what will not come."""
        assert self._kept is not None, "only called from _keep"
        key: _Key = next(_serial)
        if isinstance(word, Interest):
            key = (word.pattern,)
            former = self._kept.pop(key, None)
            if former is not None:
                self._release(former[0])
        elif self._word_octets + _octets(word) > self.limit:
            word = Answer(word.call, CallFailed("the answer is too much for the slow caller", reason=NO_ROOM))
        octets = _octets(word)
        if self._word_octets + octets > self.limit:
            self.session.end_soon("outbox-full")
        else:
            self._kept[key] = (word, ())
            self._word_octets += octets

    def _conflate(self, publication: Publication, matched: tuple[Subscription, ...]) -> None:
        """Keep only the last message of each topic: this run's last ones replace what is kept of the same topics."""
        assert self._kept is not None, "only called from _keep"
        latest = {message.topic: message for message in publication.messages}
        superseded = tuple(message for message in publication.messages if latest[message.topic] is not message)
        if superseded:
            self._drop(Publication(None, b"", len(superseded), NOBODY, publication.route, superseded), "conflated")
        for topic, message in latest.items():
            former = self._kept.pop(topic, None)
            if former is not None:
                self._release(former[0])
                self._drop(cast(Publication, former[0]), "conflated")
            single = Publication.of(message, route=publication.route)
            size = _octets(single)
            if self._make_room(size):
                self._kept[topic] = (single, matched)
                self.kept_octets += size
            else:
                self._drop(single, "outbox-full")

    def _drop(self, publication: Publication, reason: str) -> None:
        self.session.count_dropped(publication, reason)

    def _pause_publisher(self, publisher: Session) -> None:
        if self._paused_publishers is _NO_SESSIONS:
            self._paused_publishers = set()
        if publisher not in self._paused_publishers:
            self._paused_publishers.add(publisher)
            publisher.hold_reading()

    def _release_publishers(self) -> None:
        publishers, self._paused_publishers = self._paused_publishers, _NO_SESSIONS
        for publisher in publishers:
            publisher.release_reading()

    def _tell_empty(self) -> None:
        if self._empties is not None:
            self._empties.fire()
