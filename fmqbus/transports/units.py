"""One connection of a protocol of units: text and binary messages, whole. Knows no protocol, and no way to frame them.

A link derives from `UnitLink` and says how octets become units and units octets. What `fmqbus.transports.stream` does
for octets holds for units too, with these differences:

**Fairness.** Each unit is a step.

**Back pressure.** A large unit leaves in pieces, as the link has room; the pieces are made one by one. What is sent
behind it waits here.

**Endings.** A link that is no longer heard still reads, for what its framing has to say, and discards units.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IAddress
from twisted.internet.protocol import Factory
from twisted.logger import Logger
from zope.interface import implementer

from fmqbus.interfaces import IFraming, IListener, IUnitFactory, IUnitLink, IUnitProtocol
from fmqbus.model import Parting
from fmqbus.transports.assembly import AssemblingStream
from fmqbus.transports.stream import LinkState
from fmqbus.turns import Turns

#: Makes the protocol of one connection, which has just opened.
Begin = Callable[[IUnitLink], IUnitProtocol]

#: What is written at a time, and the largest piece of a unit: a socket takes so much at once.
PIECE_OCTETS = 64 * 1024

_log = Logger()


@implementer(IUnitLink)
class UnitLink(AssemblingStream):
    """The link half of a connection. A framing overrides `units_in`, `framed`, `held` and `forget_half_received`."""

    #: None until the link is open, and once it has gone.
    protocol: IUnitProtocol | None = None
    _is_deaf = False
    _is_mute = False
    #: The second numbers of all that is unsent.
    _asked_unread = 0

    def __init__(self, listener: IListener, turns: Turns, begin: Begin) -> None:
        super().__init__(listener, turns)
        self._begin = begin
        #: What has not left of each unit, and how many octets of it the client has asked for without reading. None
        #: while all has left: an empty deque has room for 64, and most links are idle.
        self._unsent: deque[tuple[Iterator[bytes], int]] | None = None
        self._awaiting_room: list[Deferred[None]] = []

    # for the framing

    def units_in(self, data: bytes) -> Iterator[None]:
        """Call `unit_arrived` for each unit that is now complete; a step for each, at least."""
        raise NotImplementedError

    def framed(self, is_binary: bool, octets: bytes) -> Iterator[bytes]:
        """The octets of a unit, in pieces of some `PIECE_OCTETS`, made when asked for."""
        raise NotImplementedError

    # what the framing calls

    def open(self) -> None:
        """Units can be sent and arrive from now on."""
        try:
            self.protocol = self._begin(cast(IUnitLink, self))
        except Exception:
            self._fail()

    def unit_arrived(self, is_binary: bool, octets: bytes) -> None:
        """This one is complete; text is UTF-8."""
        if self._is_deaf or self.protocol is None:
            return
        try:
            if is_binary:
                self.protocol.binary_arrived(octets)
            else:
                self.protocol.text_arrived(octets)
        except Exception:
            self._fail()

    def fall_silent(self) -> None:
        """No unit leaves any more, whole or in part."""
        self._is_mute = True
        self._unsent = None
        self._tell_written()

    def complain(self, complaint: str) -> None:
        """Tell people why the client cannot stay."""
        _log.info("{peer} is cut off: {complaint!r}", peer=self.facts.address, complaint=complaint)

    # IUnitLink

    def send_texts(self, texts: Sequence[bytes]) -> None:
        self._send(False, texts)

    def send_binary(self, octets: bytes) -> None:
        self._send(True, (octets,))

    def pause_reading(self) -> None:
        if not self._is_deaf:
            super().pause_reading()

    def stop_listening(self) -> None:
        self._is_deaf = True
        if self.state is LinkState.OPEN:
            self.resume_reading()

    def lose(self, reason: str, parting: Parting = Parting.GOING_AWAY) -> None:
        self._is_deaf = True
        super().stop_listening()
        self._finish()

    # what the stream tells

    def link_made(self) -> None:
        self.open()

    def octets_arrived(self, data: bytes) -> None:
        self.take_steps(self._act_on(data))

    def _act_on(self, data: bytes) -> Iterator[None]:
        for _ in self.units_in(data):
            if not self.account():
                return
            yield
        self.account()

    def turn_over(self) -> None:
        if self.protocol is not None:
            self.protocol.turn_over()

    def link_full(self) -> None:
        if self.protocol is not None:
            self.protocol.link_full()

    def link_clear(self) -> None:
        self._pump()
        if self.protocol is not None and not (self._unsent or self.is_full):
            self.protocol.link_clear()

    def link_lost(self, reason: str) -> None:
        self.release()
        self.fall_silent()
        if self.protocol is not None:
            self.protocol.link_lost(reason)
            self.protocol = None  # it has this link

    def when_sent(self) -> Deferred[None]:
        if self.protocol is None or self._is_mute:
            return succeed(None)
        return self.protocol.when_sent().addCallback(self._when_written)

    # sending

    def _send(self, is_binary: bool, units: Sequence[bytes]) -> None:
        if self._is_mute or not units:
            return
        if self._unsent is None:
            if not self.is_full and sum(map(len, units)) <= PIECE_OCTETS:
                # as nearly always: all of it leaves now
                self.write([piece for octets in units for piece in self.framed(is_binary, octets)])
                return
            self._unsent = deque()
        for octets in units:
            unread = len(octets) if self.is_full else 0
            self._unsent.append((self.framed(is_binary, octets), unread))
            self._asked_unread += unread
        if self._asked_unread > self.listener.limits.outbox_octets:
            self.abort("unread")
        elif not self.is_full:
            self._pump()

    def _pump(self) -> None:
        """Write as much as there is room for."""
        while self._unsent and not self.is_full:
            chunks: list[bytes] = []
            room = PIECE_OCTETS
            while self._unsent and room > 0:
                pieces, unread = self._unsent[0]
                piece = next(pieces, None)
                if piece is None:
                    self._unsent.popleft()
                    self._asked_unread -= unread
                else:
                    chunks.append(piece)
                    room -= len(piece)
            if chunks:
                self.write(chunks)
        if not self._unsent:
            self._unsent = None
            self._tell_written()

    def _when_written(self, _: object) -> Deferred[None]:
        written: Deferred[None] = Deferred()
        self._awaiting_room.append(written)
        if not self._unsent:
            self._tell_written()
        return written

    def _tell_written(self) -> None:
        awaiting, self._awaiting_room = self._awaiting_room, []
        for one in awaiting:
            one.callback(None)

    def _fail(self) -> None:
        _log.failure("{peer} is cut off", peer=self.facts.address)
        self.lose("failed", Parting.FAILED)


@implementer(IUnitFactory)
class UnitFactory:
    """What `IBusProtocol.make_factory` of a protocol of units returns."""

    def __init__(self, listener: IListener, turns: Turns, begin: Begin, framing: IFraming) -> None:
        """`framing` is how the protocol likes best that its units travel."""
        self._listener = listener
        self._turns = turns
        self._begin = begin
        self._factory = self.framed(framing)

    def framed(self, framing: IFraming) -> Any:
        return framing.make_factory(self._listener, self._turns, self._begin)

    def doStart(self) -> None:
        self._factory.doStart()

    def doStop(self) -> None:
        self._factory.doStop()

    def buildProtocol(self, addr: IAddress | None) -> Any:
        return self._factory.buildProtocol(addr)


class LinkFactory(Factory):
    """Makes the links of one listener, one way of framing."""

    noisy = False

    def __init__(self, make_link: Callable[[], UnitLink]) -> None:
        self._make_link = make_link

    def buildProtocol(self, addr: IAddress | None) -> UnitLink:
        return self._make_link()
