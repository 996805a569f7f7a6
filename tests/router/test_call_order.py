"""In which order do calls, answers and publications come, and what do observers see of calls?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fmqbus.calls import Answer, Call, Parcel
from fmqbus.model import Message
from fmqbus.testing.bus import MemoryClient, make_router
from tests.router.test_observers import Witness


class Diary(MemoryClient):
    """Remembers messages, calls and answers in one order. If it is narrow, its link is full again after each batch."""

    def __init__(self, *arguments: Any, is_narrow: bool = False) -> None:
        super().__init__(*arguments)
        self.pages: list[bytes] = []
        self._is_narrow = is_narrow

    def _write(self, *pages: bytes) -> None:
        self.pages += pages
        if self._is_narrow:
            self.pause()

    def deliver(self, batch: Any) -> None:
        super().deliver(batch)
        self._write(*(message.payload for publication, _ in batch for message in publication.messages))

    def called(self, calls: Sequence[Call]) -> None:
        super().called(calls)
        self._write(*(call.parcel.payload for call in calls))

    def answered(self, answers: Sequence[Answer]) -> None:
        super().answered(answers)
        self._write(*(answer.result.payload for answer in answers if isinstance(answer.result, Parcel)))


def test_calls_and_publications_come_in_the_order_in_which_they_were_said() -> None:
    """A server that is told of a change and then asked knows of the change."""
    router = make_router()
    server, caller = Diary(router), MemoryClient(router)
    server.serve(b"m")
    server.subscribe(b"t")
    caller.session.publish(Message(b"t", b"1"))
    caller.session.call(b"m", Parcel(b"2"))
    caller.session.publish(Message(b"t", b"3"))
    caller.session.call(b"m", Parcel(b"4"))
    caller.session.flush()
    assert server.pages == [b"1", b"2", b"3", b"4"]


def test_answers_and_publications_come_in_the_order_in_which_they_were_said() -> None:
    """Whether the link is free or not."""
    for is_narrow in (False, True):
        router = make_router()
        server, caller = MemoryClient(router), Diary(router, is_narrow=is_narrow)
        server.serve(b"m")
        caller.subscribe(b"t")
        calls = [caller.call(b"m") for _ in range(2)]
        server.session.reply(calls[1], Parcel(b"1"))
        server.session.publish(Message(b"t", b"2"))
        server.session.reply(calls[0], Parcel(b"3"))
        server.session.flush()
        for _ in range(3):
            caller.resume()
        assert caller.pages == [b"1", b"2", b"3"]


def test_calls_that_find_the_link_full_in_their_turn_go_on_to_others_in_order() -> None:
    """A narrow server gets what its link takes, the other the rest."""
    router = make_router()
    narrow, wide, caller = Diary(router, is_narrow=True), MemoryClient(router), MemoryClient(router)
    narrow.serve(b"m")
    wide.serve(b"m")
    # half of these are for each, and each is too large to go with another
    for number in range(6):
        caller.session.call(b"m", Parcel(b"%d" % number + bytes(300_000)))
    caller.session.flush()
    assert [payload[:1] for payload in narrow.asked_payloads] == [b"0"]
    assert sorted(payload[:1] for payload in wide.asked_payloads) == [b"1", b"2", b"3", b"4", b"5"]
    narrow.resume()
    assert router.methods()[0].in_hand == 6


def test_calls_wait_while_all_links_are_full_and_keep_their_order() -> None:
    """The oldest goes first when one is free again."""
    router = make_router()
    narrow, caller = Diary(router, is_narrow=True), MemoryClient(router)
    narrow.serve(b"m")
    for number in range(4):
        caller.session.call(b"m", Parcel(b"%d" % number + bytes(300_000)))
    caller.session.flush()
    caller.call(b"m", b"4")
    while len(narrow.asked) < 5:
        narrow.resume()
    assert [payload[:1] for payload in narrow.asked_payloads] == [b"0", b"1", b"2", b"3", b"4"]


def test_an_observer_sees_calls_in_batches_from_beginning_to_end() -> None:
    """Asked, handed to a server, ended; also what nobody is told of."""
    witness = Witness()
    router = make_router(observers=[witness])
    caller, server = MemoryClient(router), MemoryClient(router)
    server.serve(b"m")
    witness.seen.clear()
    for payload in (b"1", b"2", b"3"):
        caller.session.call(b"m", Parcel(payload))
    caller.session.flush()
    assert witness.seen == [
        ("asked", [(b"m", b"1"), (b"m", b"2"), (b"m", b"3")]),
        ("called", server.session, [b"1", b"2", b"3"]),
    ]
    witness.seen.clear()
    server.session.reply(server.asked[1], Parcel(b"two"))
    server.session.fail(server.asked[0], 1, "no")
    caller.session.abandon(server.asked[2])
    server.session.flush()
    assert witness.seen == [("answered", [(b"2", b"two"), (b"1", "failed"), (b"3", "abandoned")])]


def test_an_observer_hears_at_once_of_what_ends_on_its_way() -> None:
    """Not only when somebody speaks again."""
    witness = Witness()
    router = make_router(observers=[witness])
    caller, server = MemoryClient(router), MemoryClient(router)
    service = server.serve(b"m")
    caller.session.call(b"m", Parcel(b"1"))
    server.session.unserve(service)
    witness.seen.clear()
    caller.session.flush()
    assert witness.seen == [("asked", [(b"m", b"1")]), ("answered", [(b"1", "unserved")])]
