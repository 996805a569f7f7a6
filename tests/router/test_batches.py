"""A batch comes as a whole, and once, whatever happens in between."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from twisted.internet.defer import Deferred

from fmqbus.errors import BusError, InvalidName, Overloaded, PeerError, Refused, StoreFailed
from fmqbus.limits import Limits
from fmqbus.model import Action, BatchPart, Message, QueueSettings
from fmqbus.router.service import Router
from fmqbus.schedules.errands import Errand
from fmqbus.testing.bus import LOCAL, MemoryClient, OpenPolicy, make_router
from fmqbus.testing.message_store import Medium, MemoryMessageStore


def queued(payload: bytes, queue: bytes = b"q") -> Errand:
    """A message for a queue."""
    return Errand(Message(queue, payload), queue)


def published(payload: bytes, topic: bytes = b"t") -> Errand:
    """A message for a topic."""
    return Errand(Message(topic, payload))


def bus(store: MemoryMessageStore | None = None, **options: Any) -> tuple[Router, MemoryClient]:
    """A bus that has begun, and a client of it."""
    router = make_router(message_store=store, **options)
    router.startService()
    return router, MemoryClient(router)


def put(client: MemoryClient, number: int, *errands: Errand, producer: str = "p") -> list[Any]:
    """Put a batch; the list has its outcome once there is one."""
    told: list[Any] = []
    waiting: Deferred[bool] = client.session.put_batch(producer, number, errands)
    waiting.addCallbacks(told.append, lambda failure: told.append(failure.type))
    client.session.flush()
    return told


def test_a_batch_goes_to_queues_and_topics() -> None:
    """In the order in which it was said."""
    router, client = bus()
    listener = MemoryClient(router)
    listener.subscribe(b"t")
    listener.consume(b"q")
    assert put(client, 0, queued(b"1"), published(b"2"), queued(b"3"), published(b"4")) == [True]
    assert listener.payloads == [b"2", b"4"]
    assert listener.taken_payloads == [b"1", b"3"]


def test_a_batch_that_has_come_does_not_come_again() -> None:
    """Nor does one before it; other producers are others."""
    _, client = bus()
    client.consume(b"q")
    assert put(client, 5, queued(b"a")) == [True]
    assert put(client, 5, queued(b"a")) == [False]
    assert put(client, 4, queued(b"b")) == [False]
    assert put(client, 5, queued(b"c"), producer="other") == [True]
    assert put(client, 7, queued(b"d")) == [True]
    assert client.taken_payloads == [b"a", b"c", b"d"]


def test_nobody_gets_anything_before_it_is_safe() -> None:
    """What the store loses in a crash, nobody has seen."""
    store = MemoryMessageStore(is_slow=True)
    router, client = bus(store)
    listener = MemoryClient(router)
    listener.subscribe(b"t")
    listener.consume(b"q")
    told = put(client, 0, queued(b"1"), published(b"2"))
    again = put(client, 0, queued(b"1"), published(b"2"))
    assert (told, again, listener.payloads, listener.taken_payloads) == ([], [], [], [])
    store.write()
    assert (told, again) == ([True], [False])
    assert listener.payloads == [b"2"]
    assert listener.taken_payloads == [b"1"]


def test_a_restart_remembers_what_the_store_has() -> None:
    """The batch whose note was written is not taken again; one that was not safe is, whole."""
    medium = Medium()
    store = MemoryMessageStore(medium)
    _, client = bus(store)
    assert put(client, 0, queued(b"1"), queued(b"2")) == [True]
    store.is_slow = True
    assert put(client, 1, queued(b"3"), queued(b"4")) == []
    # the process dies here
    _, client = bus(MemoryMessageStore(medium))
    client.consume(b"q")
    assert client.taken_payloads == [b"1", b"2"]
    assert put(client, 0, queued(b"1"), queued(b"2")) == [False]
    assert put(client, 1, queued(b"3"), queued(b"4")) == [True]
    assert client.taken_payloads == [b"1", b"2", b"3", b"4"]


def test_notes_are_no_queue() -> None:
    """No operator sees them, and there is one of each producer in the store."""
    medium = Medium()
    router, client = bus(MemoryMessageStore(medium))
    for number in range(5):
        put(client, number, published(b"x"))
    assert router.queues() == []
    assert len(medium.kept) == 1
    router, client = bus(MemoryMessageStore(medium))
    assert router.queues() == []
    assert put(client, 4, published(b"x")) == [False]


def test_a_store_that_fails_takes_nothing() -> None:
    """And nobody gets what is not kept; who asks meanwhile hears of it too."""
    store = MemoryMessageStore(is_slow=True)
    _, client = bus(store)
    client.consume(b"q")
    told, again = put(client, 0, queued(b"1")), put(client, 0, queued(b"1"))
    store.break_down()
    assert [error.__name__ for error in told + again] == ["StoreFailed", "StoreFailed"]
    assert client.taken_payloads == []


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (queued(b"x", b"forbidden"), Refused),
        (published(b"x", b"forbidden"), Refused),
        (queued(b"x", b"a/*"), InvalidName),
        (queued(b"x", b"$/batches"), InvalidName),
        (published(b"x", b"$/stop"), InvalidName),
        (queued(b"x", b"small"), Overloaded),
    ],
)
def test_one_message_that_cannot_be_taken_stops_all(wrong: Errand, error: type[BusError]) -> None:
    """Nothing has come then, and the batch can be said again without it."""
    policy = OpenPolicy()
    for action in (Action.ENQUEUE, Action.PUBLISH):
        policy.deny(action, b"forbidden")
    _, client = bus(authorizers=[policy], queue_rules=[(b"small", QueueSettings(max_octets=10))])
    client.consume(b"q")
    with pytest.raises(error):
        put(client, 0, queued(b"1"), wrong)
    assert client.taken_payloads == []
    assert put(client, 0, queued(b"1")) == [True]


def test_the_message_that_stops_a_batch_is_named() -> None:
    """By its place; who made the batch knows what that is."""
    _, client = bus()
    with pytest.raises(InvalidName, match="message 1: "):
        put(client, 0, queued(b"1"), queued(b"2", b"a/*"))


def test_a_batch_has_bounds() -> None:
    """In one turn only so much is done for one client; and the bus remembers only so many producers."""
    _, client = bus(limits=Limits(batch_messages=2, batch_producers=2, queues=2))
    with pytest.raises(Overloaded, match="a batch of 3 messages, 2 at most"):
        put(client, 0, *[queued(b"x")] * 3)
    with pytest.raises(Overloaded, match="too many queues"):
        put(client, 0, queued(b"x", b"a"), queued(b"x", b"b"))
        put(client, 1, queued(b"x", b"c"))
    for producer in ("one", "two", "three"):
        assert put(client, 0, published(b"x"), producer=producer) == [True]
    assert put(client, 0, published(b"x"), producer="two") == [False]
    assert put(client, 0, published(b"x"), producer="one") == [True]


def test_a_batch_without_messages_is_none() -> None:
    """Nobody has to be allowed anything for it, so it must not count."""
    _, client = bus()
    with pytest.raises(PeerError, match="one message at least"):
        put(client, 99)
    assert put(client, 0, published(b"x")) == [True]


def test_a_producer_belongs_to_its_user() -> None:
    """Nobody says of another's that its batches have come, not even after a restart; nor drives out notes of others."""
    medium = Medium()
    for _ in range(2):
        router, mine = bus(MemoryMessageStore(medium), limits=Limits(batch_producers=3))
        evil = MemoryClient(router, attrs.evolve(LOCAL, identity="evil"))
        put(mine, 5, published(b"x"))
        put(evil, 10**9, published(b"x"))
        for number in range(5):
            put(evil, 0, published(b"x"), producer=f"evil-{number}")
        assert put(mine, 5, published(b"x")) == [False]
    assert put(mine, 6, published(b"x")) == [True]


def test_without_a_store_that_works_nothing_is_taken() -> None:
    """Not even for topics: it could not be noted, and would come again."""
    store = MemoryMessageStore()
    _, client = bus(store)
    store.break_down()
    assert [error.__name__ for error in put(client, 0, queued(b"1"))] == ["StoreFailed"]
    with pytest.raises(StoreFailed):
        put(client, 0, published(b"x"))


def test_what_was_put_in_a_batch_is_as_any_other_message() -> None:
    """It is settled, and gone from the store then."""
    medium = Medium()
    store = MemoryMessageStore(medium)
    _, client = bus(store)
    consumer = client.consume(b"q")
    put(client, 0, queued(b"1"), queued(b"2"))
    client.settle(consumer)
    store.write()
    assert len(medium.kept) == 1


def put_part(client: MemoryClient, number: int, part: int, of: int = 3, digest: str = "d", **options: Any) -> list[Any]:
    """Put one part of a batch, with a message that says which."""
    told: list[Any] = []
    waiting: Deferred[bool] = client.session.put_batch(
        options.get("producer", "p"), number, [queued(b"%d.%d" % (number, part))], BatchPart(part, of, digest)
    )
    waiting.addCallbacks(told.append, lambda failure: told.append(failure.type))
    client.session.flush()
    return told


def test_a_batch_may_come_in_parts() -> None:
    """Each of them once, over a restart too; whoever begins anew is told which have come."""
    medium = Medium()
    _, client = bus(MemoryMessageStore(medium))
    assert [put_part(client, 0, part) for part in (0, 1, 0, 1)] == [[True], [True], [False], [False]]
    # the process dies here
    _, client = bus(MemoryMessageStore(medium))
    assert [put_part(client, 0, part) for part in (0, 1, 2)] == [[False], [False], [True]]
    assert [put_part(client, 0, part) for part in (0, 1, 2)] == [[False]] * 3
    assert put_part(client, 0, 0, 1, "") == [False]
    assert put_part(client, 1, 0) == [True]
    client.consume(b"q")
    assert client.taken_payloads == [b"0.0", b"0.1", b"0.2", b"1.0"]
    assert len(medium.kept) == 5


def test_parts_are_of_one_batch_and_in_their_order() -> None:
    """Else messages would be missing or there twice, and nobody would know."""
    _, client = bus()
    with pytest.raises(PeerError, match="part 0 comes first"):
        put_part(client, 0, 1)
    put_part(client, 0, 0)
    for of, digest in ((3, "e"), (4, "d"), (1, "")):
        with pytest.raises(PeerError, match="batch 0 was begun with other messages: 1 of its 3 parts have come"):
            put_part(client, 0, 0, of, digest)
    with pytest.raises(PeerError, match="part 1 comes next"):
        put_part(client, 0, 2)
    with pytest.raises(PeerError, match="part 0 comes first"):
        put_part(client, 1, 1)
    assert put_part(client, 0, 1) == [True]
    assert put_part(client, 1, 0) == [True], "the one before was given up"
    assert put_part(client, 0, 2) == [False]


def test_a_part_that_is_not_yet_safe_is_not_taken_twice() -> None:
    """Who says it again waits with the first."""
    store = MemoryMessageStore(is_slow=True)
    _, client = bus(store)
    told, again = put_part(client, 0, 0), put_part(client, 0, 0)
    assert told == again == []
    store.write()
    assert (told, again) == ([True], [False])


def test_of_a_producer_without_a_name_nothing_is_remembered() -> None:
    """So those who say nothing again take no room: one note is for all of them."""
    medium = Medium()
    _, client = bus(MemoryMessageStore(medium), limits=Limits(batch_producers=2))
    assert put(client, 5, published(b"x"), producer="named") == [True]
    for _ in range(3):
        assert put(client, 0, published(b"x"), producer="") == [True]
    assert len(medium.kept) == 2
    assert put(client, 5, published(b"x"), producer="named") == [False]


def test_several_without_a_name_each_hear_when_theirs_is_safe() -> None:
    """Though the note of one takes the place of another's that is not."""
    store = MemoryMessageStore(is_slow=True)
    _, client = bus(store)
    client.consume(b"q")
    told = [put(client, 0, queued(b"%d" % number), producer="") for number in range(3)]
    assert told == [[], [], []]
    store.write()
    assert told == [[True]] * 3
    assert client.taken_payloads == [b"0", b"1", b"2"]
