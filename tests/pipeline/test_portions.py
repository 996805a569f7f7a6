"""A large batch is always cut in the same way, whoever has made its messages."""

from __future__ import annotations

from fmqbus.pipeline.portions import Portion, digest_of, message_at, portions
from fmqbus.protocols.umq.batch import BatchMessage, pack, unpack


def messages(*payloads: bytes) -> list[BatchMessage]:
    """For a queue."""
    return [BatchMessage(True, "q", payload) for payload in payloads]


def cut(found: list[Portion]) -> list[tuple[int, list[bytes]]]:
    """Where portions begin, and what is in them."""
    return [
        (each.first, [message.payload for one in each.attachments for message in unpack(one)])
        for each in found
    ]  # fmt: skip


def test_what_fits_is_one_portion() -> None:
    """Nothing is none."""
    assert portions([]) == []
    assert cut(portions([pack(messages(b"1")), pack(messages(b"2", b"3"))])) == [(0, [b"1", b"2", b"3"])]


def test_places_decide_not_tasks() -> None:
    """The same messages of other tasks are the same portions, and have the same digest; others have another."""
    one = portions([pack(messages(b"1", b"2", b"3")), pack(messages(b"4", b"5"))], 2)
    other = portions([pack(messages(b"1")), pack(messages(b"2", b"3", b"4", b"5"))], 2)
    assert cut(one) == [(0, [b"1", b"2"]), (2, [b"3", b"4"]), (4, [b"5"])]
    assert one == other
    assert digest_of(one) == digest_of(other) != digest_of(portions([pack(messages(b"2", b"1"))], 2))
    assert all(each.messages == len(payloads) for each, (_, payloads) in zip(one, cut(one), strict=True))


def test_octets_have_bounds_too() -> None:
    """Of an attachment, and of a call; a message that is larger than all goes by itself."""
    large = portions([pack(messages(*[bytes(1_000_000)] * 70)), pack(messages(bytes(40_000_000), b"x"))])
    sizes = [sum(len(one) for one in each.attachments) for each in large]
    assert sum(each.messages for each in large) == 72
    assert max(sizes[:-2]) < 34_000_000
    assert all(len(one) < 6_000_000 for each in large[:2] for one in each.attachments)
    assert [each.messages for each in large[-2:]] == [1, 1]


def test_a_message_is_found_by_its_place() -> None:
    """To be named in an error."""
    attachments = [pack(messages(b"1")), pack(messages(b"2", b"3"))]
    assert [found and found.payload for found in (message_at(attachments, place) for place in range(4))] == [
        b"1",
        b"2",
        b"3",
        None,
    ]
