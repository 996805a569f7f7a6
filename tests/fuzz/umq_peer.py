"""What must hold for the broker's end of a UMQ conversation whatever messages it is fed?

It raises nothing, and holds no more than it may. Each call that has come whole is answered, and none is answered twice.
All that it sends is understood by a client, and nothing comes after its last word.

A message ends with an octet that is in no vector; one that begins with a zero octet is binary, all others are text.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from fmqbus.errors import BusError
from fmqbus.limits import Limits
from fmqbus.protocols.umq import codec
from fmqbus.protocols.umq.codec import Command, Fault
from fmqbus.protocols.umq.events import Called, Failed, Greeted
from fmqbus.protocols.umq.peer import Role, State
from fmqbus.testing.umq import End, Unit, server
from tests.vectors.units import VECTORS, units_of

LIMITS = Limits(
    attachments_per_message=40, incomplete_octets_per_peer=4000, calls_per_peer=20, subscriptions_per_peer=3
)

_CALLS = (codec.CALL, codec.CALLBACK)
_ANSWERS = (codec.RESULT, codec.EXCEPTION)
#: A binary message counts as what can take its place.
ATTACHMENT = Command(codec.ATTACHMENT_ERROR, 0, b"", 0)

_END = b"\x1e"
_BINARY = b"\0"


def _joined(*units: Unit) -> bytes:
    return b"".join((unit.encode() if isinstance(unit, str) else _BINARY + unit) + _END for unit in units)


def _goes_on(vector: dict[str, Any]) -> bool:
    return vector["text"][:1] not in "HF" and not any(reply.startswith("F") for reply in vector.get("reply", ()))


#: What the search begins with: each vector, and all after which a conversation goes on.
SEEDS = [_joined(*units_of(vector)) for vector in VECTORS]
SEEDS.append(b"".join(_joined(*units_of(vector)) for vector in VECTORS if _goes_on(vector)))


def check(octets: bytes) -> None:
    """Raise `AssertionError`, or whatever the conversation raised, if it does not bear these messages, in place of a
    greeting or after one."""
    pieces = octets.split(_END)[:-1]
    units: list[Unit] = [piece[1:] if piece[:1] == _BINARY else piece.decode("utf-8", "replace") for piece in pieces]
    check_conversation(units)
    check_conversation(["H1:", *units])


def check_conversation(units: Sequence[Unit]) -> None:
    end = server(LIMITS, is_open=False)
    sent = list(played(end, units))
    events = End(Role.CLIENT).hear(*sent)
    assert all(event.is_theirs for event in events if isinstance(event, Failed))
    answers = Counter(command.id for command in commands(sent) if command.letter in _ANSWERS)
    assert answers <= Counter(command.id for command in commands(units) if command.letter in _CALLS)
    if end.peer.state is State.OPEN:
        assert answers >= Counter(whole_calls(units))
    assert not any(command.letter == codec.FATAL for command in commands(sent[:-1]))


def played(end: End, units: Iterable[Unit]) -> Iterator[Unit]:
    """All that a server sends who welcomes everybody. What a call brings is also published, under its id; every second
    call is answered at the end only. Both bring back what came."""
    late: list[Called] = []
    for unit in units:
        for event in end.hear(unit):
            if isinstance(event, Greeted):
                end.peer.welcome(event.payload, event.attachments)
            elif isinstance(event, Called):
                publish(end, event)
                late.append(event)
        if len(late) > 1:
            answer(end, late.pop())
        assert end.peer.held <= LIMITS.incomplete_octets_per_peer
        yield from end.sent()
    for call in late:
        answer(end, call)
    yield from end.sent()


def publish(end: End, call: Called) -> None:
    """As long as there is room for topics."""
    try:
        end.peer.open_topic(call.id, call)
    except BusError:
        end.peer.close_topic(call.id)
    end.peer.update(call.id, call.payload, call.attachments)


def answer(end: End, call: Called) -> None:
    end.peer.answer(call.id, call.payload, call.attachments)


def commands(units: Iterable[Unit]) -> Iterator[Command]:
    """The text messages that are any."""
    for unit in units:
        if isinstance(unit, str):
            with suppress(Fault):
                yield codec.decode(unit.encode(), LIMITS.attachments_per_message)


def whole_calls(units: Iterable[Unit]) -> Iterator[int]:
    """The ids of calls that have come with all that they announced, in a conversation without a fault."""
    places: deque[Command] = deque()
    for unit in units:
        (command,) = commands([unit]) if isinstance(unit, str) else [ATTACHMENT]
        if command.attachments:
            places += [command] * command.attachments
            continue
        if command.letter == codec.ATTACHMENT_ERROR:
            command = places.popleft()
            if places and places[0] is command:
                continue
        if command.letter in _CALLS:
            yield command.id
