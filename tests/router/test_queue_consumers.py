"""Who gets a message, how many at a time, and what becomes of those that he does not settle?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from twisted.internet.task import Clock

from fmqbus.errors import Detached, LocalError, Overloaded
from fmqbus.limits import Limits
from fmqbus.model import Action, Consumer, Message, Outcome, QueueSettings, StoredMessage
from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient, OpenPolicy, make_router


def fill(client: MemoryClient, messages: int, queue: bytes = b"q") -> None:
    """Enqueue so many, numbered from 0."""
    for number in range(messages):
        client.enqueue(queue, b"%d" % number)


def counts(*clients: MemoryClient) -> list[int]:
    """How many messages each of them has been handed."""
    return [len(client.taken) for client in clients]


# windows


def test_each_message_goes_to_one_consumer() -> None:
    """Whoever else there is."""
    router = make_router()
    one, other = MemoryClient(router), MemoryClient(router)
    one.consume(b"q")
    other.consume(b"q")
    fill(one, 10)
    assert sorted(one.taken_payloads + other.taken_payloads, key=int) == [b"%d" % number for number in range(10)]


def test_a_consumer_holds_no_more_than_its_window() -> None:
    """Whatever it settles makes room for as much."""
    client = MemoryClient(make_router())
    fill(client, 10)
    consumer = client.consume(b"q", window=3)
    assert client.taken_payloads == [b"0", b"1", b"2"]
    client.settle(consumer, list(consumer.unsettled)[:2])
    assert client.taken_payloads == [b"0", b"1", b"2", b"3", b"4"]
    assert len(consumer.unsettled) == 3


def test_a_window_can_be_changed_and_a_window_of_none_is_a_pause() -> None:
    """What it holds it keeps."""
    client = MemoryClient(make_router())
    fill(client, 10)
    consumer = client.consume(b"q", window=2)
    for window, handed in ((0, 2), (1, 2), (5, 5)):
        client.session.set_window(consumer, window)
        client.session.flush()
        assert len(client.taken) == handed
    client.session.set_window(consumer, 0)
    assert client.settle(consumer) == 5
    assert len(client.taken) == 5


def test_consumers_of_one_client_are_independent() -> None:
    """Also on one queue; each has its window."""
    client = MemoryClient(make_router())
    one, other = client.consume(b"q", window=1), client.consume(b"q", window=2)
    fill(client, 10)
    assert (len(one.unsettled), len(other.unsettled)) == (1, 2)
    assert client.settle(one, list(other.unsettled)) == 0
    client.settle(other)
    assert (len(one.unsettled), len(other.unsettled)) == (1, 2)


def test_a_consumer_is_its_clients_alone() -> None:
    """No other client can settle, cancel or change it."""
    router = make_router()
    client, stranger = MemoryClient(router), MemoryClient(router)
    consumer = client.consume(b"q", window=1)
    stranger.consume(b"r")
    fill(client, 2)
    assert stranger.settle(consumer) == 0
    stranger.cancel(consumer)
    stranger.session.set_window(consumer, 10)
    stranger.session.flush()
    assert (len(consumer.unsettled), len(client.taken)) == (1, 1)


def test_what_was_never_sent_is_given_back_as_if_nobody_had_had_it() -> None:
    """Neither does it count as a delivery, nor does it wait before it comes again; others have it in its order."""
    clock = Clock()
    router = make_router(clock, queue_settings=QueueSettings(delivery_limit=2, retry_first=10.0))
    client, other = MemoryClient(router), MemoryClient(router)
    consumer = client.consume(b"q", window=3)
    fill(client, 4)
    for _ in range(5):
        assert client.give_back(consumer, [*consumer.unsettled, 1000]) == 3
    client.session.pause_delivery()
    client.give_back(consumer, list(consumer.unsettled))
    assert client.give_back(consumer, [1, 2, 3]) == 0
    other.consume(b"q", window=10)
    assert [stored.message.payload for _, stored in other.taken] == [b"0", b"1", b"2", b"3"]
    assert [(stored.deliveries, stored.is_redelivered) for _, stored in other.taken] == [(1, False)] * 4
    assert router.queue(b"q").dead_lettered == 0


def test_what_is_given_back_is_no_longer_held() -> None:
    """So it is once more, and once, in the hands of somebody."""
    client = MemoryClient(make_router())
    consumer = client.consume(b"q", window=1)
    fill(client, 1)
    assert client.give_back(consumer, list(consumer.unsettled)) == 1
    assert client.taken_payloads == [b"0", b"0"]
    assert client.settle(consumer) == 1


@pytest.mark.parametrize(("window", "weight"), [(0, 1), (-1, 1), (1, 0)])
def test_a_consumer_for_nothing_is_a_mistake_of_the_protocol(window: int, weight: int) -> None:
    """And leaves no queue behind."""
    router = make_router()
    with pytest.raises(LocalError):
        MemoryClient(router).consume(b"q", window, weight)
    assert router.queues() == []


# fairness


def test_equals_take_turns() -> None:
    """Each message goes to whose turn it is, whoever is quicker."""
    router = make_router()
    clients = [MemoryClient(router) for _ in range(3)]
    for client in clients:
        client.consume(b"q", window=1000)
    fill(clients[0], 10)
    assert counts(*clients) == [4, 3, 3]
    assert clients[1].taken_payloads == [b"1", b"4", b"7"]


def test_who_was_alone_has_its_whole_turn_when_another_comes() -> None:
    """What it got before was nobody else's."""
    router = make_router()
    first, second, sender = (MemoryClient(router) for _ in range(3))
    first.session.consume(b"q", 1000, weight=3)
    sender.enqueue(b"q", b"1")
    sender.enqueue(b"q", b"2")
    second.session.consume(b"q", 1000, weight=3)
    for number in range(3, 7):
        sender.enqueue(b"q", b"%d" % number)
    assert [len(first.taken), len(second.taken)] == [5, 1]


def test_a_weight_is_a_share() -> None:
    """Whether messages come one by one or all together."""
    for together in (False, True):
        router = make_router()
        heavy, light = MemoryClient(router), MemoryClient(router)
        producer = MemoryClient(router)
        if together:
            fill(producer, 400)
        heavy.session.consume(b"q", 1000, weight=3)
        light.session.consume(b"q", 1000)
        light.session.flush()
        if not together:
            fill(producer, 400)
        assert counts(heavy, light) == [300, 100]


def test_who_has_no_room_is_passed_over_and_back_in_line_when_he_has() -> None:
    """The others get what he cannot take, and he makes up for nothing afterwards."""
    router = make_router()
    small, large = MemoryClient(router), MemoryClient(router)
    consumer = small.consume(b"q", window=1)
    large.consume(b"q", window=1000)
    fill(large, 9)
    assert counts(small, large) == [1, 8]
    small.settle(consumer)
    fill(large, 4)
    assert counts(small, large) == [2, 11]


def test_nobody_can_weigh_more_than_the_limit_nor_hold_more() -> None:
    """Else one could shut out all others, or take all memory into his hands."""
    router = make_router(limits=Limits(consumer_weight=2, consumer_window=10))
    greedy, modest = MemoryClient(router), MemoryClient(router)
    consumer = greedy.consume(b"q", window=10**9, weight=10**9)
    modest.consume(b"q", window=10**9)
    fill(modest, 30)
    assert counts(greedy, modest) == [10, 10]
    greedy.session.set_window(consumer, 10**9)
    greedy.session.flush()
    assert counts(greedy, modest) == [10, 10]
    assert (consumer.window, consumer.weight) == (10, 2)


# the link


def test_a_client_whose_link_is_full_gets_nothing_and_others_get_it_instead() -> None:
    """When the link has room again, he is back in line at once."""
    router = make_router()
    slow, quick = MemoryClient(router), MemoryClient(router)
    slow.consume(b"q")
    slow.pause()
    fill(quick, 3)
    assert slow.taken == []
    quick.consume(b"q", window=2)
    assert quick.taken_payloads == [b"0", b"1"]
    slow.resume()
    assert slow.taken_payloads == [b"2"]


def test_what_is_for_one_client_comes_in_one_batch_a_turn() -> None:
    """From whichever queues it is."""
    router = make_router()
    client, producer = MemoryClient(router), MemoryClient(router)
    client.consume(b"q")
    client.consume(b"r")
    for queue in (b"q", b"r", b"q"):
        producer.session.enqueue(queue, Message(queue, b"x"))
    producer.session.flush()
    assert [len(batch) for batch in client.takes] == [3]


def test_a_link_that_fills_up_stops_what_is_handed_to_it() -> None:
    """However large its window is; about as much goes out as a socket holds."""
    router = make_router()

    class Narrow(MemoryClient):
        def take(self, deliveries: object) -> None:
            super().take(deliveries)  # type: ignore[arg-type]
            self.pause()

    client, producer = Narrow(router), MemoryClient(router)
    for _ in range(100):
        producer.enqueue(b"q", bytes(64 * 1024))
    client.consume(b"q", window=1000)
    assert len(client.taken) == 4
    client.resume()
    assert len(client.taken) == 8


def test_many_queues_together_hand_no_more_to_a_link_than_one() -> None:
    """What a turn may give is counted over all of them."""
    router = make_router()
    batches: list[int] = []

    class Narrow(MemoryClient):
        def take(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
            batches.append(sum(len(stored.message.payload) for _, stored in deliveries))

    client, producer = Narrow(router), MemoryClient(router)
    for number in range(50):
        client.consume(b"q%d" % number)
    for number in range(50):
        producer.session.enqueue(b"q%d" % number, Message(b"q", bytes(64 * 1024)))
    producer.session.flush()
    assert (sum(batches), max(batches)) == (50 * 64 * 1024, 4 * 64 * 1024)


def test_a_peer_that_fails_is_cut_off_and_its_messages_go_to_others() -> None:
    """Nothing is lost with it."""
    router = make_router()

    class Broken(MemoryClient):
        def take(self, deliveries: object) -> None:
            raise RuntimeError("out of order")

    broken, sound = Broken(router), MemoryClient(router)
    broken.consume(b"q")
    fill(sound, 2)
    assert broken.calls == ["abort failed"]
    broken.close()
    sound.consume(b"q")
    assert [(stored.message.payload, stored.is_redelivered) for _, stored in sound.taken] == [
        (b"0", True),
        (b"1", False),
    ]


# settling


def test_what_is_accepted_is_gone() -> None:
    """Settling is for what one holds: other numbers, and repetitions, do nothing."""
    router = make_router()
    client = MemoryClient(router)
    fill(client, 3)
    consumer = client.consume(b"q", window=2)
    held = list(consumer.unsettled)
    assert client.settle(consumer, [held[0], held[0], 99]) == 1
    assert client.settle(consumer, held[:1]) == 0
    status = router.queue(b"q")
    assert status is not None
    assert (status.accepted, status.unsettled, status.ready) == (1, 2, 0)


def test_what_is_released_comes_first_again_and_says_so() -> None:
    """In its old order, with a count of its deliveries."""
    client = MemoryClient(make_router())
    fill(client, 4)
    consumer = client.consume(b"q", window=3)
    client.settle(consumer, list(consumer.unsettled)[1:], Outcome.RELEASE)
    again = [(stored.message.payload, stored.deliveries, stored.is_redelivered) for _, stored in client.taken[3:]]
    assert again == [(b"1", 2, True), (b"2", 2, True)]
    client.settle(consumer)
    assert client.taken_payloads[-1] == b"3"
    assert client.taken[-1][1].is_redelivered is False


def test_a_rejected_message_is_not_seen_again() -> None:
    """But among the dead letters."""
    router = make_router()
    client = MemoryClient(router)
    fill(client, 2)
    consumer = client.consume(b"q")
    client.settle(consumer, outcome=Outcome.REJECT)
    assert len(client.taken) == 2
    assert [letter.message.payload for letter in router.peek(b"dead", 9)] == [b"0", b"1"]


# endings

ENDINGS: dict[str, Callable[[Router, OpenPolicy, MemoryClient, Consumer], None]] = {
    "cancelled": lambda router, policy, client, consumer: client.cancel(consumer),
    "closed": lambda router, policy, client, consumer: client.close(),
    "forbidden": lambda router, policy, client, consumer: forbid(router, policy),
    "kicked": lambda router, policy, client, consumer: kick(client),
}


def forbid(router: Router, policy: OpenPolicy) -> None:
    """Nobody may consume any more, until somebody else asks."""
    policy.deny(Action.CONSUME, b"q")
    router.policy_changed()
    policy.denied.clear()
    router.policy_changed()


def kick(client: MemoryClient) -> None:
    """The bus ends the client, and then its link goes."""
    client.session.kick("test")  # type: ignore[attr-defined]
    client.close()


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_a_consumer_held_when_it_ended_comes_again_in_order_once(ending: str) -> None:
    """However it ended; to whoever is there, before all that had not been handed out."""
    policy = OpenPolicy()
    router = make_router(authorizers=[policy])
    gone, heir = MemoryClient(router), MemoryClient(router)
    fill(heir, 6)
    consumer = gone.consume(b"q", window=4)
    gone.settle(consumer, [list(consumer.unsettled)[1]])
    ENDINGS[ending](router, policy, gone, consumer)
    assert consumer.unsettled == {}
    heir.consume(b"q")
    assert [(stored.message.payload, stored.is_redelivered) for _, stored in heir.taken] == [
        (b"0", True),
        (b"2", True),
        (b"3", True),
        (b"4", True),
        (b"5", False),
    ]
    fill(heir, 1)
    assert len(heir.taken) == 6
    assert gone.session.settle(consumer, [1, 2, 3], Outcome.ACCEPT) == 0


def test_a_consumer_may_be_cancelled_twice() -> None:
    """The second time there is nothing to do."""
    client = MemoryClient(make_router())
    consumer = client.consume(b"q")
    for _ in range(2):
        client.cancel(consumer)
    fill(client, 1)
    assert client.taken == []


def test_a_client_that_has_gone_can_ask_for_nothing() -> None:
    """Of queues as of topics."""
    client = MemoryClient(make_router())
    client.close()
    with pytest.raises(Detached):
        client.enqueue(b"q", b"x")
    with pytest.raises(Detached):
        client.consume(b"q")


def test_a_detached_client_keeps_what_it_holds_and_gets_no_more() -> None:
    """Its consumers go on when it is back, and end with the session."""
    clock = Clock()
    router = make_router(clock)
    client, producer = MemoryClient(router), MemoryClient(router)
    consumer = client.consume(b"q", window=2)
    fill(producer, 1)
    token = client.session.detach(60.0)
    fill(producer, 1)
    assert len(client.taken) == len(consumer.unsettled) == 1
    back = router.resume(token, client, client.session.principal)
    back.resume_delivery()
    assert len(client.taken) == 2
    client.session.detach(60.0)
    clock.advance(60.0)
    producer.consume(b"q")
    assert len(producer.taken) == 2


def test_a_client_has_so_many_consumers_and_no_more() -> None:
    """One that ends makes room."""
    client = MemoryClient(make_router(limits=Limits(consumers_per_peer=2)))
    consumer = client.consume(b"q")
    client.consume(b"r")
    with pytest.raises(Overloaded):
        client.consume(b"s")
    client.cancel(consumer)
    client.consume(b"s")


def test_a_message_is_delivered_so_often_and_no_more() -> None:
    """Also where consumers die of it, one after the other."""
    router = make_router(queue_settings=QueueSettings(delivery_limit=3))
    producer = MemoryClient(router)
    fill(producer, 1)
    deliveries = Counter[bytes]()
    for _ in range(5):
        victim = MemoryClient(router)
        victim.consume(b"q")
        deliveries.update(victim.taken_payloads)
        victim.close()
    assert deliveries == {b"0": 3}
    assert len(router.peek(b"dead", 9)) == 1
