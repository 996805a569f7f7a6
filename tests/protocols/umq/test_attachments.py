"""Does each attachment find its message, and what goes before what? (UMQ, Attachment count; readings 6 to 15)"""

from __future__ import annotations

from fmqbus.calls import FailedAttachment
from fmqbus.limits import Limits
from fmqbus.protocols.umq.attachments import octets_of
from fmqbus.protocols.umq.events import Called, Failed, Raised, TopicClosed, Updated
from fmqbus.testing.umq import client, server, talk

# what comes


def test_attachments_fill_the_oldest_place_that_is_open() -> None:
    """Over all messages together; what failed counts as one (UMQ, Message types, Command -; reading 11)."""
    end = server()
    assert end.hear("A2:C1:x", "A1:C2:y", b"1") == []
    assert end.hear("-:gone", b"3") == [
        Called(1, b"x", [b"1", FailedAttachment("gone")]),
        Called(2, b"y", [b"3"]),
    ]


def test_a_message_without_attachments_waits_for_nobody() -> None:
    """Readings 7, 12."""
    assert server().hear("A1:C1:x", "C2:y", "A0:C3:z") == [Called(2, b"y"), Called(3, b"z")]


def test_the_count_is_in_base_36() -> None:
    """UMQ, Attachment count; readings 6, 8."""
    end = server()
    assert end.hear("A10:C6:x", *35 * [b"."]) == []
    assert end.hear(b".") == [Called(6, b"x", 36 * [b"."])]


def test_what_waits_for_attachments_is_bounded() -> None:
    """In octets of all that has come, and every message and every place costs something."""
    for units in (
        ["A2:C1:x", bytes(600), bytes(400)],
        ["A2:C1:x", "-:" + "x" * 1000],
        [f"A1:S{number}:a=b" for number in range(10)],
        ["AZ:C1:x", *20 * [b""]],
        ["A1:C1:" + "x" * 1000],
    ):
        end = server(Limits(incomplete_octets_per_peer=1000))
        assert [event.reason for event in end.hear(*units) if isinstance(event, Failed)] == ["attachments"]
        assert end.peer.held == 0


def test_what_is_complete_is_held_no_longer() -> None:
    """And what is attached to a refused call never is."""
    end = server()
    end.hear("A2:C1:x", "A2:C1:again", b"12345")
    held = end.peer.held
    assert held > octets_of(b"12345") > 5
    end.hear(b"", bytes(1000))
    assert 0 < end.peer.held < held
    end.hear(b"")
    assert end.peer.held == 0


def test_whether_an_attachment_is_overdue_can_be_seen() -> None:
    """The number stays the same as long as none comes (reading 12)."""
    end = server()
    assert end.peer.awaited_attachments is None
    end.hear("A2:C1:x", "A1:C2:x")
    seen = [end.peer.awaited_attachments]
    for octets in (b"1", b"2"):
        end.hear("C9:")
        assert end.peer.awaited_attachments == seen[-1]
        end.hear(octets)
        seen.append(end.peer.awaited_attachments)
    assert len(set(seen)) == 3
    assert None not in seen
    end.hear(b"3")
    assert end.peer.awaited_attachments is None


# what is sent


def test_attachments_let_messages_without_any_pass() -> None:
    """But none goes before the message that announces it, nor out of its order (reading 11)."""
    end = server()
    end.peer.call(b"1", [b"a", FailedAttachment("lost"), b"b"])
    end.peer.call(b"2", [b"c"])
    end.peer.call(b"3")
    assert end.sent() == ["A3:C1:1", "A1:C2:2", "C3:3", b"a", "-:lost", b"b", b"c"]


def test_a_slow_attachment_holds_back_no_later_call() -> None:
    """What is said while attachments wait for room goes before them (reading 11)."""
    end = server()
    end.peer.call(b"1", [b"a", b"b"])
    assert end.peer.take_texts() == [b"A2:C1:1"]
    assert end.peer.take_attachment() == b"a"
    end.peer.call(b"2")
    assert end.sent() == ["C2:2", b"b"]


def test_what_is_told_of_a_topic_keeps_its_order() -> None:
    """An update without attachments waits for those before it, as does the end; other topics wait for neither
    (reading 11)."""
    one, other = client(), server()
    ids = [one.peer.expect_topic(tag) for tag in "ab"]
    for id in ids:
        other.peer.open_topic(id, id)
    other.peer.call(b"x", [b"0"])
    other.peer.update(ids[0], b"1")
    other.peer.update(ids[0], b"2", [b"22", FailedAttachment("lost")])
    other.peer.update(ids[0], b"3")
    other.peer.update(ids[0], b"4", [b"44"])
    other.peer.update(ids[1], b"5")
    other.peer.close_topic(ids[1])
    other.peer.close_topic(ids[0])
    texts, line = other.peer.take_texts(), []
    while other.peer.has_attachments:
        line.append(other.peer.take_attachment())
    assert texts == [b"A1:C1:x", b"T1:1", b"A2:T1:2", b"A1:T1:4", b"T2:5", b"D2:"]
    assert line == [b"0", b"22", None, None, b"44", None]
    assert other.peer.take_texts() == [b"-:lost", b"T1:3", b"D1:"]


def test_what_is_told_of_a_topic_arrives_in_order() -> None:
    """Also where a close is answered by an update that was on its way."""
    one, other = client(), server()
    id = one.peer.expect_topic("feed")
    other.peer.open_topic(id, "feed")
    other.peer.update(id, b"1", [b"11"])
    other.peer.update(id, b"2")
    other.peer.close_topic(id)
    assert [event for _, event in talk(one, other)] == [
        Updated("feed", b"1", [b"11"]),
        Updated("feed", b"2"),
        TopicClosed("feed"),
    ]


def test_order_costs_nothing_once_the_attachments_have_gone() -> None:
    """Then a topic's updates go at once again."""
    end = server()
    end.peer.open_topic(1, "feed")
    end.peer.update(1, b"1", [b"11"])
    end.peer.call(b"x", [b"0"])
    assert [end.peer.take_texts(), end.peer.take_attachment()] == [[b"A1:T1:1", b"A1:C1:x"], b"11"]
    end.peer.update(1, b"2")
    assert end.sent() == ["T1:2", b"0"]


def test_a_reason_of_any_characters_can_be_sent() -> None:
    """It came from elsewhere (UMQ, Command -, Command E)."""
    one, other = client(), server()
    one.peer.call(b"x", [FailedAttachment("\ud800:\n")])
    assert [event for _, event in talk(one, other)] == [Called(1, b"x", [FailedAttachment("?:\n")])]
    other.peer.refuse(1, 9, "\ud800")
    assert [event for _, event in talk(one, other)] == [Raised(None, 9, "?")]
