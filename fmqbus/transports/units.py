"""One connection of a protocol of units: text and binary messages, whole. Knows no protocol, and no way to frame them.

A link derives from `UnitLink` and says how octets become units and units octets. What `fmqbus.transports.stream` does
for octets holds for units too, with these differences:

**Fairness.** Each unit is a step.

**Back pressure.** A large unit leaves in pieces, as the link has room; the pieces are made one by one. What is sent
behind it waits here. A client that goes on asking while it reads nothing is cut off at `Limits.outbox_octets`.

**Endings.** A link that is no longer heard still reads, for what its framing has to say, and discards units.

What is half-received is accounted for, and who has too much of it is cut off.
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
from fmqbus.transports.stream import LinkState, StreamProtocol
from fmqbus.turns import Turns

#: Makes the protocol of one connection, which has just opened.
Begin = Callable[[IUnitLink], IUnitProtocol]

#: What is written at a time, and the largest piece of a unit: a socket takes so much at once.
PIECE_OCTETS = 64 * 1024

#: A half-received unit counts against the listener's `Limits.assembly_octets` from here on; what is shorter is bounded
#: by the number of connections, and most reads end with such a rest.
ACCOUNTED_FROM = 16 * 1024

_log = Logger()


@implementer(IUnitLink)
class UnitLink(StreamProtocol):
    """The link half of a connection. A framing overrides `units_in`, `framed`, `held` and `forget_half_received`."""

    #: None until the link is open.
    protocol: IUnitProtocol | None = None
    is_full = False
    _is_deaf = False
    _is_mute = False
    _accounted = 0
    #: Octets of units that were sent since the link is full.
    _unread_octets = 0

    def __init__(self, listener: IListener, turns: Turns, begin: Begin) -> None:
        super().__init__(listener, turns)
        self._begin = begin
        self._unsent: deque[Iterator[bytes]] = deque()
        self._awaiting_room: list[Deferred[None]] = []

    # for the framing

    def units_in(self, data: bytes) -> Iterator[None]:
        """Call `unit_arrived` for each unit that is now complete; a step for each, at least."""
        raise NotImplementedError

    def framed(self, is_binary: bool, octets: bytes) -> Iterator[bytes]:
        """The octets of a unit, in pieces of some `PIECE_OCTETS`, made when asked for."""
        raise NotImplementedError

    @property
    def held(self) -> int:
        """Octets held for what has not fully arrived."""
        raise NotImplementedError

    def forget_half_received(self) -> None:
        """Let go of those; nothing is acted on any more."""
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
        self._unsent.clear()
        self._tell_written()

    def complain(self, complaint: str) -> None:
        """Tell people why the client cannot stay."""
        _log.info("{peer} is cut off: {complaint}", peer=self.facts.address, complaint=complaint)

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
            if not self._account():
                return
            yield
        self._account()

    def turn_over(self) -> None:
        if self.protocol is not None:
            self.protocol.turn_over()

    def link_full(self) -> None:
        self.is_full = True
        if self.protocol is not None:
            self.protocol.link_full()

    def link_clear(self) -> None:
        self.is_full = False
        self._pump()
        if not (self._unsent or self.is_full):
            self._unread_octets = 0
            if self.protocol is not None:
                self.protocol.link_clear()

    def link_lost(self, reason: str) -> None:
        self._release()
        self.fall_silent()
        if self.protocol is not None:
            self.protocol.link_lost(reason)

    def when_sent(self) -> Deferred[None]:
        if self.protocol is None or self._is_mute:
            return succeed(None)
        return self.protocol.when_sent().addCallback(self._when_written)

    # sending

    def _send(self, is_binary: bool, units: Sequence[bytes]) -> None:
        if self._is_mute:
            return
        self._unsent.extend(self.framed(is_binary, octets) for octets in units)
        if not self.is_full:
            self._pump()
            return
        self._unread_octets += sum(map(len, units))
        if self._unread_octets > self.listener.limits.outbox_octets:
            self.abort("unread")

    def _pump(self) -> None:
        """Write as much as there is room for."""
        while self._unsent and not self.is_full:
            chunks: list[bytes] = []
            room = PIECE_OCTETS
            while self._unsent and room > 0:
                piece = next(self._unsent[0], None)
                if piece is None:
                    self._unsent.popleft()
                else:
                    chunks.append(piece)
                    room -= len(piece)
            if chunks:
                self.write(chunks)
        if not self._unsent:
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

    # receiving

    def _account(self) -> bool:
        held = self.held
        if held <= ACCOUNTED_FROM:
            held = 0
        if held == self._accounted:
            return True
        if self.listener.hold(held - self._accounted):
            self._accounted = held
            return True
        _log.warn("half-received units of all clients pass their limit; {peer} is cut off", peer=self.facts.address)
        # now, and not when the connection has gone: else others would be cut off for what this one held
        self._release()
        self.abort("assembly limit")
        return False

    def _release(self) -> None:
        self.forget_half_received()
        self.listener.hold(-self._accounted)
        self._accounted = 0

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
