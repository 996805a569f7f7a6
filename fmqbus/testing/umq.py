"""Both ends of a UMQ conversation in memory: what each hears, tells and sends. No message moves by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fmqbus.limits import DEFAULT_LIMITS, Limits
from fmqbus.protocols.umq.events import Event
from fmqbus.protocols.umq.peer import Peer, Role

#: A message as it travels: text as `str`, binary as `bytes`.
Unit = str | bytes


class End:
    """One end: a conversation, fed by hand."""

    def __init__(self, role: Role, limits: Limits = DEFAULT_LIMITS) -> None:
        self.peer = Peer(role, limits)

    def hear(self, *units: Unit) -> list[Event]:
        """What the conversation tells of these messages."""
        return [event for unit in units for event in self._hear(unit)]

    def _hear(self, unit: Unit) -> Sequence[Event]:
        if isinstance(unit, str):
            return self.peer.receive_text(unit.encode("utf-8", "surrogateescape"))
        return self.peer.receive_binary(unit)

    def sent(self) -> list[Unit]:
        """All that it has sent since the last call, in the order in which a carrier sends it."""
        units: list[Unit] = [text.decode() for text in self.peer.take_texts()]
        while self.peer.has_attachments:
            attachment = self.peer.take_attachment()
            units += [text.decode() for text in self.peer.take_texts()] if attachment is None else [attachment]
        return units


def server(limits: Limits = DEFAULT_LIMITS, is_open: bool = True) -> End:
    """The end that was connected to; open, unless it is to be greeted yet."""
    end = End(Role.SERVER, limits)
    if is_open:
        end.hear("H1:")
        end.peer.welcome()
        end.sent()
    return end


def client(limits: Limits = DEFAULT_LIMITS) -> End:
    """The end that connected, and has been welcomed."""
    end = End(Role.CLIENT, limits)
    end.peer.hello()
    end.hear("W1:")
    end.sent()
    return end


def talk(one: End, other: End) -> Sequence[tuple[Any, Event]]:
    """Let each end hear what the other has sent, until neither sends any more. Returns what they told, and which."""
    told: list[tuple[Any, Event]] = []
    is_quiet = False
    while not is_quiet:
        is_quiet = True
        for speaker, listener in ((one, other), (other, one)):
            units = speaker.sent()
            is_quiet &= not units
            told += [(listener, event) for event in listener.hear(*units)]
    return told
