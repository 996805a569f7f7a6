"""What may be said and heard when, and what comes of it? (UMQ, Commands)"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fmqbus.calls import FailedAttachment
from fmqbus.errors import Overloaded, PeerError
from fmqbus.limits import Limits
from fmqbus.protocols.umq.events import (
    Answered,
    AttributesChanged,
    Called,
    CalledBack,
    Failed,
    Greeted,
    Raised,
    Refused,
    TopicClosed,
    Unsubscribed,
    Updated,
)
from fmqbus.protocols.umq.peer import Role, State
from fmqbus.testing.umq import End, client, server, talk

ANYTHING = {
    "-": "-:gone",
    "H": "H1:",
    "W": "W1:",
    "F": "F0:1 no",
    "C": "C9:x",
    "B": "B9:7:x",
    "R": "R9:x",
    "E": "E9:1 x",
    "T": "T9:x",
    "D": "D9:",
    "U": "U9:",
    "S": "S:a=b",
    "X": "X:a",
}


def greeted() -> End:
    """A server that has been greeted, and has not made up its mind."""
    end = server(is_open=False)
    end.hear("H1:")
    return end


def closed() -> End:
    """A server whose conversation is over."""
    end = server()
    end.peer.close()
    return end


STATES: dict[State, tuple[Callable[[], End], str]] = {
    State.HELLO_AWAITED: (lambda: server(is_open=False), "HF"),
    State.WELCOME_AWAITED: (lambda: End(Role.CLIENT), "WF"),
    State.GREETED: (greeted, "FCBRETDUSX"),
    State.OPEN: (server, "FCBRETDUSX"),
    State.CLOSED: (closed, "".join(ANYTHING)),
}


@pytest.mark.parametrize("letter", ANYTHING)
@pytest.mark.parametrize("state", STATES)
def test_what_may_come_in_which_state(state: State, letter: str) -> None:
    """All else is the end, with F and code 3 (readings 14, 17, 18). A closed conversation hears nothing."""
    make, understood = STATES[state]
    end = make()
    assert end.peer.state is state
    events = end.hear(ANYTHING[letter])
    failures = [event for event in events if isinstance(event, Failed)]
    if letter in understood:
        assert all(failure.is_theirs for failure in failures)
        assert bool(failures) is (letter == "F" and state is not State.CLOSED)
    else:
        assert [(failure.code, failure.is_theirs) for failure in failures] == [(3, False)]
        assert str(end.sent()[-1]).startswith("F0:3 ")
        assert end.peer.state is State.CLOSED


def test_a_server_welcomes_whom_it_likes() -> None:
    """After the hello, by W with the version that it speaks (commands H, W; reading 16)."""
    end = server(is_open=False)
    assert end.hear('H3:{"user":"u"}') == [Greeted(b'{"user":"u"}')]
    assert end.sent() == []
    end.peer.welcome(b"hi", [b"\1"])
    assert end.sent() == ["A1:W1:hi", b"\1"]
    end.peer.welcome()
    assert end.sent() == []


def test_or_refuses_him() -> None:
    """By F, and says nothing more (command F; reading 20)."""
    end = greeted()
    end.peer.call(b"too early?")
    end.peer.fail(1, "Authorization failed")
    end.peer.fail(3, "again")
    end.peer.welcome()
    assert end.sent() == ["C1:too early?", "F0:1 Authorization failed"]
    assert end.hear("C1:x") == []
    assert end.hear(b"x") == []


def test_a_greeting_may_have_attachments() -> None:
    """It is told of when they have come (command H)."""
    end = server(is_open=False)
    assert end.hear("A2:H1:x", b"1") == []
    assert end.hear("-:lost") == [Greeted(b"x", [b"1", FailedAttachment("lost")])]


@pytest.mark.parametrize(("version", "is_known"), [("0", False), ("", False), ("1", True), ("2", True), ("Z", True)])
def test_versions(version: str, is_known: bool) -> None:
    """A server lowers them to its own; below there is none (reading 16)."""
    events = server(is_open=False).hear(f"H{version}:")
    assert [isinstance(event, Greeted) for event in events] == [is_known]
    if not is_known:
        assert isinstance(events[0], Failed)
        assert events[0].code == 5


def test_a_client_does_not_take_another_version() -> None:
    """It asked for 1, and the server can only lower it."""
    end = End(Role.CLIENT)
    assert [event.code for event in end.hear("W2:") if isinstance(event, Failed)] == [5]


def test_calls_and_answers_find_each_other() -> None:
    """Whatever their order (commands C, R, E; readings 24, 25, 26)."""
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


def test_callbacks_are_called_once() -> None:
    """By the id that their owner has told (command B; readings 28 to 30)."""
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


@pytest.mark.parametrize("payload", ["4454", "a:x", "4 4:x", "\N{ARABIC-INDIC DIGIT FOUR}:x"])
def test_a_callback_without_an_id_is_the_end(payload: str) -> None:
    """Reading 28."""
    assert [event.code for event in server().hear(f"B63:{payload}") if isinstance(event, Failed)] == [3]


def test_a_topic_lives_from_its_subscription_to_its_close() -> None:
    """Under the id that the subscriber chose (commands T, D; readings 31, 35)."""
    one, other = client(), server()
    id = one.peer.expect_topic("feed")
    other.peer.open_topic(id, "feed")
    other.peer.update(id, b"1")
    other.peer.update(id, b"2", [b"\2"])
    assert other.peer.close_topic(id)
    assert not other.peer.close_topic(id)
    other.peer.update(id, b"late")
    assert [event for _, event in talk(one, other)] == [
        Updated("feed", b"1"),
        Updated("feed", b"2", [b"\2"]),
        TopicClosed("feed"),
    ]
    other.peer.open_topic(id, "anew")


def test_unsubscribing_is_answered_by_the_close_and_by_nothing_after_it() -> None:
    """Once; a further U, or one for an unknown topic, is ignored (command U; readings 33, 34, 36)."""
    one, other = client(), server()
    id = one.peer.expect_topic("feed")
    other.peer.open_topic(id, "feed")
    one.peer.unsubscribe(id)
    one.peer.unsubscribe(id)
    other.peer.update(id, b"on its way")
    assert [event for _, event in talk(one, other)] == [
        Unsubscribed("feed"),
        Updated("feed", b"on its way"),
        TopicClosed("feed"),
    ]
    other.peer.update(id, b"late")
    one.peer.unsubscribe(id)
    assert talk(one, other) == []
    assert server().hear("UABC:whatever") == []


def test_an_update_that_nobody_has_asked_for_is_answered_by_unsubscribe() -> None:
    """Reading 38; whoever forgot a topic gets rid of it by that."""
    one, other = client(), server()
    id = one.peer.expect_topic("feed")
    other.peer.open_topic(id, "feed")
    one.peer.forget_topic(id)
    other.peer.update(id, b"1")
    assert [event for _, event in talk(one, other)] == [Unsubscribed("feed")]


def test_an_id_in_use_is_refused() -> None:
    """Reading 31; the subscribing call is answered by E, which is the session's to say."""
    end = server()
    end.peer.open_topic(5, "a")
    with pytest.raises(PeerError):
        end.peer.open_topic(5, "b")


def test_attributes_are_kept_for_the_application() -> None:
    """With what is attached (commands S, X; readings 40 to 43)."""
    one, other = client(), server()
    one.peer.set_attribute("key", "v=1")
    one.peer.set_attribute("file", "x", [b"12", FailedAttachment("lost")])
    assert [event for _, event in talk(one, other)] == [AttributesChanged("key"), AttributesChanged("file")]
    assert other.peer.attributes["key"].text == "v=1"
    assert other.peer.attributes["file"].attachments == [b"12", FailedAttachment("lost")]
    one.peer.unset_attribute("key")
    one.peer.unset_attribute("unknown")
    assert [event for _, event in talk(one, other)] == [AttributesChanged("key")]
    assert list(other.peer.attributes) == ["file"]


def test_attributes_are_bounded_in_number_and_size() -> None:
    """What is beyond is discarded, and counted (reading 41)."""
    end = server(Limits(attributes_per_peer=2, attribute_octets_per_peer=20))
    assert end.hear("S:a=1", "S:b=2", "S:c=3")[-1] == Refused("attributes")
    assert end.hear("S:a=" + "x" * 30) == [Refused("attributes")]
    assert end.peer.attributes["a"].text == "1"
    assert end.hear("S:a=" + "x" * 10, "X:b", "S:c=3", "X:a", "X:c", "S:" + "k" * 18 + "=v")[-1] == AttributesChanged(
        "k" * 18
    )


def test_what_they_ask_is_bounded() -> None:
    """Calls without an answer, topics, callbacks."""
    end = server(Limits(calls_per_peer=1, subscriptions_per_peer=1, callbacks_per_peer=1))
    assert end.hear("C1:x", "C2:x", "A1:C3:x")[1:] == [Refused("calls"), Failed("calls", 3, "too many calls")]
    end.peer.open_topic(1, "a")
    with pytest.raises(Overloaded):
        end.peer.open_topic(2, "b")
    end.peer.add_callback("a")
    with pytest.raises(Overloaded):
        end.peer.add_callback("b")


def test_what_waits_for_attachments_is_bounded() -> None:
    """In octets of all that has come, and every message costs something."""
    end = server(Limits(incomplete_octets_per_peer=1000))
    assert end.hear("A2:C1:x", bytes(700)) == []
    assert end.peer.held > 700
    assert [event.reason for event in end.hear(bytes(300)) if isinstance(event, Failed)] == ["attachments"]
    assert end.peer.held == 0
    end = server(Limits(incomplete_octets_per_peer=1000))
    events = end.hear(*(f"A1:S{number}:a=b" for number in range(10)))
    assert isinstance(events[-1], Failed)


def test_whether_attachments_are_overdue_can_be_seen() -> None:
    """The number stays the same as long as none completes a message (reading 12)."""
    end = server()
    assert end.peer.awaited_attachments is None
    end.hear("A2:C1:x", "A1:C2:x")
    first = end.peer.awaited_attachments
    end.hear(b"1")
    assert end.peer.awaited_attachments == first
    end.hear(b"2")
    assert end.peer.awaited_attachments not in (None, first)
    end.hear(b"3")
    assert end.peer.awaited_attachments is None


def test_attachments_let_messages_without_any_pass() -> None:
    """But none goes before the message that announces it, nor out of its order (reading 11)."""
    end = server()
    end.peer.call(b"1", [b"a", FailedAttachment("lost"), b"b"])
    end.peer.call(b"2", [b"c"])
    end.peer.call(b"3")
    assert end.sent() == ["A3:C1:1", "A1:C2:2", "C3:3", b"a", "-:lost", b"b", b"c"]
