"""What may be said and heard when, and what comes of it? (UMQ, Commands)"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fmqbus.calls import FailedAttachment
from fmqbus.errors import LocalError, PeerError
from fmqbus.limits import Limits
from fmqbus.protocols.umq.events import (
    AttributesChanged,
    Failed,
    Greeted,
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
    State.GREETED: (greeted, "F"),
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


@pytest.mark.parametrize("state", STATES)
def test_an_attachment_that_nobody_announced_is_the_end_in_every_state(state: State) -> None:
    """UMQ, Protocol control: binary messages are payload, and this one is nobody's (reading 13)."""
    end = STATES[state][0]()
    assert [type(event) for event in end.hear(b"?")] == ([] if state is State.CLOSED else [Failed])
    assert end.peer.state is State.CLOSED


@pytest.mark.parametrize("state", [State.HELLO_AWAITED, State.WELCOME_AWAITED, State.GREETED, State.CLOSED])
def test_what_may_be_said_in_which_state(state: State) -> None:
    """Before both have greeted, to say anything else is a mistake of ours; after the end, nothing is sent any more."""
    for say in (
        lambda peer: peer.call(b"x"),
        lambda peer: peer.set_attribute("a", "b"),
        lambda peer: peer.unset_attribute("a"),
        lambda peer: (peer.open_topic(1, "topic"), peer.update(1, b"x")),
    ):
        end = STATES[state][0]()
        if state is State.CLOSED:
            say(end.peer)
            assert end.sent() == []
        else:
            with pytest.raises(AssertionError):
                say(end.peer)


def test_who_begins() -> None:
    """Only the one that has connected, once (UMQ, Command H)."""
    for end in (server(is_open=False), server(), client()):
        with pytest.raises(AssertionError):
            end.peer.hello()


def test_a_server_welcomes_whom_it_likes() -> None:
    """After the hello, by W with the version that it speaks (UMQ, Command H, Command W; reading 16)."""
    end = server(is_open=False)
    assert end.hear('H3:{"user":"u"}') == [Greeted(b'{"user":"u"}')]
    assert end.sent() == []
    end.peer.welcome(b"hi", [b"\1"])
    assert end.sent() == ["A1:W1:hi", b"\1"]
    end.peer.welcome()
    assert end.sent() == []


def test_or_refuses_him() -> None:
    """By F, and says nothing more (UMQ, Command F; reading 20)."""
    end = greeted()
    end.peer.fail(1, "Authorization failed")
    end.peer.fail(3, "again")
    end.peer.welcome()
    assert end.sent() == ["F0:1 Authorization failed"]
    assert end.hear("C1:x") == []
    assert end.hear(b"x") == []


def test_a_greeting_may_have_attachments() -> None:
    """It is told of when they have come (UMQ, Command H, Command W)."""
    end = server(is_open=False)
    assert end.hear("A2:H1:x", b"1") == []
    assert end.hear("-:lost") == [Greeted(b"x", [b"1", FailedAttachment("lost")])]
    end = End(Role.CLIENT)
    end.peer.hello(b"x", [b"1"])
    assert end.sent() == ["A1:H1:x", b"1"]
    assert end.hear("A2:W1:y", b"2") == []
    assert end.hear("-:lost") == [Greeted(b"y", [b"2", FailedAttachment("lost")])]


def test_of_two_greetings_the_second_is_the_end_however_late_the_first_is_complete() -> None:
    """Reading 18."""
    end = server(is_open=False)
    events = end.hear("A1:H1:first", "A1:H1:second", b"1", b"2")
    assert [type(event) for event in events] == [Greeted, Failed]


def test_after_their_last_word_nothing_is_sent() -> None:
    """Not even what was said before (UMQ, Command F; reading 20)."""
    end = server()
    end.peer.call(b"1", [b"a"])
    assert end.hear("F0:123 Authorization failed", "C1:x") == [
        Failed("fatal", 123, "Authorization failed", is_theirs=True)
    ]
    assert end.sent() == []


def test_after_our_last_word_attachments_are_not_sent() -> None:
    """It is the last of all, and what was said before it comes first (UMQ, Command F)."""
    end = server()
    end.peer.call(b"1", [b"a"])
    end.peer.fail(3, "no")
    assert end.sent() == ["A1:C1:1", "F0:3 no"]


@pytest.mark.parametrize(("version", "is_known"), [("0", False), ("", False), ("1", True), ("2", True), ("Z", True)])
def test_versions(version: str, is_known: bool) -> None:
    """A server lowers them to its own; below there is none (UMQ, Command H, Command W; reading 16)."""
    events = server(is_open=False).hear(f"H{version}:")
    assert [isinstance(event, Greeted) for event in events] == [is_known]
    if not is_known:
        assert isinstance(events[0], Failed)
        assert events[0].code == 5


def test_a_client_does_not_take_another_version() -> None:
    """It asked for 1, and the server can only lower it."""
    end = End(Role.CLIENT)
    assert [event.code for event in end.hear("W2:") if isinstance(event, Failed)] == [5]


def test_a_topic_lives_from_its_subscription_to_its_close() -> None:
    """Under the id that the subscriber chose (UMQ, Command T, Command D; readings 31, 35 and 47)."""
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
    """Once; a further U, or one for an unknown topic, is ignored (UMQ, Command U; readings 33, 34, 36 and 37)."""
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
    """With what is attached (UMQ, Command S, Command X; readings 40, 41, 42 and 43)."""
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
    with pytest.raises(LocalError):
        one.peer.set_attribute("key=", "v")


def test_blanks_belong_to_attributes() -> None:
    """And all but the first ``=`` (UMQ, Command S; reading 40); without one it is the end (reading 39)."""
    end = server()
    assert end.hear("S0: k = v=1") == [AttributesChanged(" k ")]
    assert end.peer.attributes[" k "].text == " v=1"
    assert [event.code for event in end.hear("S:key") if isinstance(event, Failed)] == [3]


def test_attributes_are_bounded_in_number_and_size() -> None:
    """What is beyond is discarded, and counted (reading 41); also what is attached, even if it is nothing."""
    end = server(Limits(attributes_per_peer=2, attribute_octets_per_peer=20))
    assert end.hear("S:a=1", "S:b=2", "S:c=3")[-1] == Refused("attributes")
    assert end.hear("S:a=" + "x" * 30) == [Refused("attributes")]
    assert end.peer.attributes["a"].text == "1"
    assert end.hear("S:a=" + "x" * 10, "X:b", "S:c=3", "X:a", "X:c", "S:" + "k" * 18 + "=v")[-1] == AttributesChanged(
        "k" * 18
    )
    end = server(Limits(attribute_octets_per_peer=1000))
    assert end.hear("A1:S:a=1", "-:" + "x" * 1000, "A99:S:a=1", *9 * 36 * [b""], *9 * [b""]) == 2 * [
        Refused("attributes")
    ]
