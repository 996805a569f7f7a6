"""Batches by UMQ's call ``put_batch``."""

from __future__ import annotations

from typing import Any

import pytest

from fmqbus.protocols.umq.batch import BatchMessage, pack
from fmqbus.testing.bus import MemoryClient
from tests.protocols.umq.clients import greeted, make_bus


def test_a_batch_comes_once() -> None:
    """To queues and topics, with all that can be said of messages."""
    bus = make_bus()
    listener, client = MemoryClient(bus), greeted(bus)
    listener.subscribe(b"t")
    listener.consume(b"q")
    batch = (
        pack([BatchMessage(True, "q", b"1", {"k": "v"}, priority=3), BatchMessage(False, "/t/", b"2")]),
        pack([BatchMessage(True, "q", b"3", priority=4, time_to_live=60.0)]),
    )
    assert client.ask("1", "put_batch", "p", 0, attachments=batch) == ["R1:true"]
    assert client.ask("2", "put_batch", "p", 0, attachments=batch) == ["R2:false"]
    assert listener.payloads == [b"2"]
    assert listener.taken_payloads == [b"3", b"1"]


def test_a_batch_is_not_empty() -> None:
    """Nobody has to be allowed anything for it, so it does not count."""
    client = greeted(make_bus())
    (said,) = client.ask("1", "put_batch", "p", 3)
    assert str(said).startswith("E1:3 ")
    assert client.ask("2", "put_batch", "p", 2, attachments=(pack([BatchMessage(False, "t", b"")]),)) == ["R2:true"]


@pytest.mark.parametrize(
    ("arguments", "attachment", "answer"),
    [
        (("p" * 256, 0), b"\x90", "E1:3 "),
        (("p", 0, 2, 2), b"\x90", "E1:3 there is no part 2 of 2"),
        (("p", 0, 1, 2, "d"), pack([BatchMessage(True, "q", b"")]), "E1:3 of batch 0, part 0 comes first"),
        (("p", 0, 0, 2, "d" * 129), b"\x90", "E1:3 "),
        (("p", -1), b"\x90", "E1:3 "),
        (("p", 0), b"\xc1", "E1:3 the messages cannot be read"),
        (("p", 0), b"\x91\x93\xc3\xa1q\xa1x", "E1:3 the messages cannot be read"),
        (("p", 0), pack([BatchMessage(True, "q", b""), BatchMessage(True, "", b"")]), "E1:3 message 1: "),
        (("p", 0), pack([BatchMessage(True, "a/*", b"")]), "E1:3 message 0: "),
    ],
)
def test_what_is_no_batch_is_refused(arguments: tuple[Any, ...], attachment: bytes, answer: str) -> None:
    """And a message that cannot be taken is named."""
    client = greeted(make_bus())
    (said,) = client.ask("1", "put_batch", *arguments, attachments=(attachment,))
    assert str(said).startswith(answer), said


def test_a_large_batch_comes_in_parts() -> None:
    """Each once, and in their order."""
    bus = make_bus()
    listener, client = MemoryClient(bus), greeted(bus)
    listener.consume(b"q")
    batches = [(pack([BatchMessage(True, "q", b"%d" % part)]),) for part in range(2)]
    answers = [
        client.ask(str(number), "put_batch", "p", 0, part, 2, "digest", attachments=batches[part])
        for number, part in enumerate((0, 0, 1, 1), 1)
    ]
    assert answers == [["R1:true"], ["R2:false"], ["R3:true"], ["R4:false"]]
    assert listener.taken_payloads == [b"0", b"1"]
