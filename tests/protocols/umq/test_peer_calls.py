"""Is each call answered once, and by whom it was meant for? (UMQ, Commands C, B, R, E)"""

from __future__ import annotations

import pytest

from fmqbus.errors import Overloaded
from fmqbus.limits import Limits
from fmqbus.protocols.umq.events import Answered, Called, CalledBack, Failed, Raised, Refused
from fmqbus.testing.umq import client, server, talk


def test_calls_and_answers_find_each_other() -> None:
    """Whatever their order (UMQ, Command C, Command R, Command E; readings 24, 25, 26)."""
    one, other = client(), server()
    ids = [one.peer.call(payload, tag=payload) for payload in (b"1", b"2", b"3")]
    calls = [event for _, event in talk(one, other)]
    assert calls == [Called(id, payload) for id, payload in zip(ids, (b"1", b"2", b"3"), strict=True)]
    other.peer.answer(ids[2], b"three", [b"\0"])
    other.peer.refuse(ids[0], 418, "I'm teapot")
    other.peer.answer(ids[0], b"again")
    other.peer.call(b"mine", tag="mine")
    assert [event for _, event in talk(one, other)] == [
        Raised(b"1", 418, "I'm teapot"),
        Called(1, b"mine"),
        Answered(b"3", b"three", [b"\0"]),
    ]
    one.peer.forget_call(ids[1])
    other.peer.answer(ids[1], b"late")
    assert talk(one, other) == []


def test_an_id_that_is_not_answered_yet_is_refused_and_can_then_be_used_again() -> None:
    """Reading 24."""
    end = server()
    assert end.hear("C7:x") == [Called(7, b"x")]
    assert end.hear("C07:y") == [Refused("call-id")]
    end.peer.answer(7, b"x")
    assert end.hear("C7:z") == [Called(7, b"z")]
    assert [str(unit)[:4] for unit in end.sent()] == ["E7:3", "R7:x"]


def test_a_call_that_waits_for_attachments_has_its_id_already() -> None:
    """The second is refused, and with it what is attached to it, whichever is complete first (reading 24)."""
    end = server()
    assert end.hear("A1:C7:first", "C7:second", "A2:C7:third") == [Refused("call-id"), Refused("call-id")]
    assert end.hear(b"1") == [Called(7, b"first", [b"1"])]
    assert end.hear("-:2", b"3") == []
    assert end.hear("A1:C8:next", b"4") == [Called(8, b"next", [b"4"])]
    assert [str(unit)[:4] for unit in end.sent()] == ["E7:3", "E7:3"]


def test_callbacks_are_called_once() -> None:
    """By the id that their owner has told (UMQ, Command B; readings 28 to 30)."""
    one, other = client(), server()
    id = one.peer.add_callback("work")
    other.peer.call_back(id, b"some:work", [b"1"], tag="asked")
    assert [event for _, event in talk(one, other)] == [CalledBack(1, "work", b"some:work", [b"1"])]
    one.peer.answer(1, b"done")
    assert [event for _, event in talk(one, other)] == [Answered("asked", b"done")]
    other.peer.call_back(id, b"again", tag="again")
    assert [event for _, event in talk(one, other)] == [
        Refused("callback"),
        Raised("again", 2, "there is no such callback"),
    ]
    gone = one.peer.add_callback("gone")
    one.peer.remove_callback(gone)
    other.peer.call_back(gone, b"x")
    assert talk(one, other)[0][1] == Refused("callback")
    assert server().hear("B63::no id") == [Refused("callback")]


@pytest.mark.parametrize("payload", ["4454", "a:x", "4 4:x", "\N{ARABIC-INDIC DIGIT FOUR}:x", "1" * 20 + ":x"])
def test_a_callback_without_an_id_is_the_end(payload: str) -> None:
    """Reading 28."""
    assert [event.code for event in server().hear(f"B63:{payload}") if isinstance(event, Failed)] == [3]


def test_what_they_ask_is_bounded() -> None:
    """Calls without an answer, topics, callbacks."""
    end = server(Limits(calls_per_peer=1, subscriptions_per_peer=1, callbacks_per_peer=1))
    assert end.hear("C1:x", "C2:x", "A1:C3:x", "B4:1:x", b"3") == [Called(1, b"x"), *3 * [Refused("calls")]]
    assert [str(unit)[:4] for unit in end.sent()] == ["E2:1", "E3:1", "E4:1"]
    end.peer.open_topic(1, "a")
    with pytest.raises(Overloaded):
        end.peer.open_topic(2, "b")
    end.peer.add_callback("a")
    with pytest.raises(Overloaded):
        end.peer.add_callback("b")


def test_what_we_ask_is_bounded() -> None:
    """Until there is room again: by an answer, or because the oldest calls are given up."""
    end = server(Limits(calls_in_hand_per_peer=2))
    end.peer.call(b"1", tag=1)
    end.peer.call_back(7, b"2", tag=2)
    with pytest.raises(Overloaded):
        end.peer.call(b"3")
    assert end.hear("R2:two") == [Answered(2, b"two")]
    end.peer.call(b"3", tag=3)
    end.peer.make_room(1)
    end.peer.call(b"4", tag=4)
    end.peer.make_room(0)
    assert end.hear("R1:late", "R3:three", "R4:four") == [Answered(3, b"three"), Answered(4, b"four")]
