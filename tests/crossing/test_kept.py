"""What the bus keeps for later: retained messages and last wills."""

from __future__ import annotations

import pytest

from tests.crossing.conftest import CELLS, Join
from tests.crossing.speakers import Heard, Speaker, wait_for

Pair = tuple[Speaker, Speaker]


def as_heard(listener: Speaker, topic: bytes, payload: bytes, *marks: str) -> Heard:
    """The message as this one hears it, who may not see the marks."""
    return Heard(topic, payload, marks=frozenset(marks if listener.has_marks else ()))


def plain(heard: list[Heard]) -> list[Heard]:
    """Without the properties that asked for it, which arrive like any other."""
    return [Heard(message.topic, message.payload, marks=message.marks) for message in heard]


def test_a_retained_message_waits_for_those_who_subscribe_later(pair: Pair, topic: bytes) -> None:
    """The last one of each topic."""
    speaker, listener = pair
    for name, payload in ((b"/a", b"old"), (b"/a", b"1"), (b"/b", b"2")):
        speaker.publish(topic + name, payload, retain=True)
    listener.subscribe(topic + b"/*")
    heard = sorted(plain(listener.heard()), key=lambda message: message.topic)
    assert heard == [
        as_heard(listener, topic + name, said, "retained") for name, said in ((b"/a", b"1"), (b"/b", b"2"))
    ]


def test_a_retained_message_reaches_those_who_have_subscribed_at_once(pair: Pair, topic: bytes) -> None:
    """With the mark, where there is one."""
    speaker, listener = pair
    listener.subscribe(topic)
    speaker.publish(topic, b"1", retain=True)
    assert plain(listener.heard()) == [as_heard(listener, topic, b"1", "retained")]


def test_an_empty_retained_message_takes_away_what_is_kept(pair: Pair, topic: bytes) -> None:
    """Whoever has put it there; and is not itself handed on."""
    speaker, listener = pair
    listener.publish(topic, b"1", retain=True)
    listener.subscribe(topic)
    assert len(listener.heard()) == 1
    speaker.publish(topic, b"", retain=True)
    assert listener.heard() == []
    listener.unsubscribe(topic)
    listener.subscribe(topic)
    assert listener.heard() == []


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.values[0][0].has_wills])
def test_a_will_is_published_when_its_client_goes(
    join: Join, cell: tuple[type[Speaker], type[Speaker]], topic: bytes
) -> None:
    """Not before, and only the last word on it."""
    speaker, listener = map(join, cell)
    listener.subscribe(topic + b"/*")
    for name, payload in ((b"/a", b"no"), (b"/a", b"gone"), (b"/b", b"no"), (b"/b", b"")):
        speaker.leave_will(topic + name, payload)
    assert listener.heard() == []
    speaker.close()
    assert plain(wait_for(listener.heard)) == [as_heard(listener, topic + b"/a", b"gone", "will")]
