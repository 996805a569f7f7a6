"""One WebSocket connection: units are messages. (RFC 6455)

What comes is walked from frame to frame. Plain ones are taken here; all others go to the engine, each from its first
octet to its last, and in small pieces, so that others are served in between.

Units that are sent are framed here. Between the frames of a large one there is place for what the engine says: pongs,
and the Close.

A link says goodbye before its stream ends: when all is sent, a Close goes out; when the client's has come, or the time
is over, the stream is closed. A client that says goodbye first gets a Close in return, and the stream is closed at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from fmqbus.interfaces import IListener
from fmqbus.model import Parting, PeerFacts
from fmqbus.transports.idle import SilenceSweep
from fmqbus.transports.stream import LinkState
from fmqbus.transports.units import PIECE_OCTETS, Begin, UnitLink
from fmqbus.transports.websocket import frames
from fmqbus.transports.websocket.deflate import deflated
from fmqbus.transports.websocket.engine import Engine, Owner
from fmqbus.turns import Turns

#: The longest frame that is taken here; what has come of one is kept until it is whole.
PLAIN_OCTETS = 4 * 1024
#: What the engine gets at a time; and where it can be inflated, to a thousand times as much.
SLICE_OCTETS = 16 * 1024
DEFLATED_SLICE_OCTETS = 1024
#: Units from here to `PIECE_OCTETS` are compressed where that is agreed on: in shorter ones there is little to gain,
#: and longer ones take too long.
COMPRESSED_FROM = 1024

_PING = frames.frame(frames.FINAL | frames.PING, b"")


class WebSocketLink(UnitLink):
    """A connection whose first octets are the head of an opening handshake, and nothing else."""

    #: A proxy has passed the handshake on.
    is_proxied = False
    _engine: Engine
    _is_finished = False
    _rest = b""
    #: Octets of the present frame that are the engine's and have not come yet.
    _left_of_frame = 0
    _slice_octets = SLICE_OCTETS
    _deadline: Any = None

    def __init__(
        self,
        listener: IListener,
        turns: Turns,
        begin: Begin,
        make_engine: Callable[[Owner], Engine],
        sweep: SilenceSweep[WebSocketLink],
    ) -> None:
        """`sweep` is told of the link as long as it is open."""
        super().__init__(listener, turns, begin)
        self._make_engine = make_engine
        self._sweep = sweep
        self._most_plain = min(PLAIN_OCTETS, listener.limits.body_octets)

    def ping(self) -> None:
        """Have the client say something, if only a pong."""
        if not self._is_mute:
            self.write([_PING])

    def lose(self, reason: str, parting: Parting = Parting.GOING_AWAY) -> None:
        if self._engine.is_opening:
            super().lose(reason)
        elif self._deadline is None and self.state is not LinkState.CLOSED:
            self.stop_listening()
            limit = self.listener.limits.linger_seconds
            self._deadline = self.listener.clock.callLater(limit, self.abort, "lingered too long")
            self.when_sent().addCallback(lambda _: self._engine.say_goodbye(parting, reason))

    # what the stream tells

    def peer_facts(self) -> PeerFacts:
        """The address is a proxy's, perhaps; who is behind it can be anywhere."""
        facts = super().peer_facts()
        return attrs.evolve(facts, is_local=False) if self.is_proxied else facts

    def link_made(self) -> None:
        self._engine = self._make_engine(self)

    def link_clear(self) -> None:
        self._engine.room_again()
        super().link_clear()

    def link_lost(self, reason: str) -> None:
        self._sweep.forget(self)
        self._cancel_deadline()
        super().link_lost(reason)
        self._engine.let_go()

    # what the engine asks

    def handshake_done(self) -> None:
        if self._engine.window_bits:
            self._slice_octets = DEFLATED_SLICE_OCTETS
        self._sweep.watch(self)
        self.open()

    def close_sent(self) -> None:
        self.stop_listening()
        self.fall_silent()

    def finished(self, complaint: str) -> None:
        if complaint:
            self.complain(complaint)
        self._is_finished = True
        self._cancel_deadline()
        super().lose("finished")

    def _cancel_deadline(self) -> None:
        if self._deadline is not None and self._deadline.active():
            self._deadline.cancel()

    # frames

    def units_in(self, data: bytes) -> Iterator[None]:
        if self._engine.is_opening:
            self._engine.dataReceived(data)
            return
        data, self._rest = self._rest + data, b""
        at = 0
        while at < len(data) and not self._is_finished:
            if not self._left_of_frame:
                bounds = frames.bounds(data, at)
                if bounds is None:
                    break
                start, end = bounds
                if end - start <= self._most_plain and frames.is_plain(data, at, start, end):
                    if end > len(data):
                        break
                    if self._take(data, at, start, end):
                        at = end
                        yield
                        continue
                self._left_of_frame = end - at
            piece = data[at : at + min(self._left_of_frame, self._slice_octets)]
            at += len(piece)
            self._left_of_frame -= len(piece)
            self._engine.dataReceived(piece)
            yield
        if not self._is_finished:
            self._rest = data[at:]

    def _take(self, data: bytes, at: int, start: int, end: int) -> bool:
        """Take a plain frame; False if it is not so plain after all."""
        if not self._engine.is_between_messages:
            return False
        payload = frames.unmasked(data, start, end)
        is_binary = data[at] == frames.WHOLE_BINARY
        if not is_binary:
            try:
                payload.decode()
            except UnicodeDecodeError:
                return False
        self.unit_arrived(is_binary, payload)
        return True

    def framed(self, is_binary: bool, octets: bytes) -> Iterator[bytes]:
        opcode = frames.BINARY if is_binary else frames.TEXT
        if len(octets) > PIECE_OCTETS:
            yield from frames.fragments(opcode, octets, PIECE_OCTETS)
        elif len(octets) >= COMPRESSED_FROM and self._engine.window_bits:
            compressed = deflated(octets, self._engine.window_bits)
            yield frames.frame(frames.FINAL | frames.COMPRESSED | opcode, compressed)
        else:
            yield frames.frame(frames.FINAL | opcode, octets)

    @property
    def held(self) -> int:
        return len(self._rest) + len(self._engine.assembled)

    def forget_half_received(self) -> None:
        self._rest = b""
        self._engine.assembled = bytearray()
