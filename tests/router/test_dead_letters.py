"""What becomes of messages that nobody accepts, and how do they come back?"""

from __future__ import annotations

import pytest
from twisted.internet.task import Clock
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.errors import Refused
from fmqbus.interfaces import IAuthorizer
from fmqbus.limits import Limits
from fmqbus.model import (
    DEAD_LETTER_DETAIL,
    DEAD_LETTER_QUEUE,
    DEAD_LETTER_REASON,
    Action,
    Decision,
    Message,
    Outcome,
    PeerFacts,
    Principal,
    QueueOverflow,
    QueueSettings,
)
from fmqbus.router.service import Router
from fmqbus.testing.bus import MemoryClient, OpenPolicy, make_router


def reject(client: MemoryClient, queue: bytes, reason: str = "") -> None:
    """Consume all that is in a queue, and reject it."""
    consumer = client.consume(queue)
    client.settle(consumer, outcome=Outcome.REJECT, reason=reason)
    client.cancel(consumer)


def payloads(router: Router, queue: bytes) -> list[bytes]:
    """What waits in a queue."""
    return [stored.message.payload for stored in router.peek(queue, 1000)]


def requeue(router: Router, queue: bytes = b"dead", most: int | None = None) -> int:
    """How many dead letters went back."""
    done: list[int] = []
    router.requeue(queue, most).addCallback(done.append)
    [count] = done
    return count


def test_a_dead_letter_says_what_it_died_of_and_where() -> None:
    """Beside all that it said before; its deliveries begin anew."""
    router = make_router()
    client = MemoryClient(router)
    client.session.enqueue(b"a/b", Message(b"t", b"x", properties={"k": "v"}))
    reject(client, b"a/b", "cannot be read")
    [letter] = router.peek(b"dead", 9)
    assert letter.message == Message(
        b"t",
        b"x",
        properties={
            "k": "v",
            DEAD_LETTER_REASON: "rejected",
            DEAD_LETTER_QUEUE: "a/b",
            DEAD_LETTER_DETAIL: "cannot be read",
        },
    )
    assert (letter.deliveries, letter.is_redelivered, letter.expires_at) == (0, False, None)


def test_a_consumers_reason_is_cut_and_need_not_be() -> None:
    """It is memory that he makes the bus hold."""
    router = make_router()
    client = MemoryClient(router)
    for reason in ("", "x" * 10_000):
        client.enqueue(b"q", b"x")
        reject(client, b"q", reason)
    silent, loud = router.peek(b"dead", 9)
    assert DEAD_LETTER_DETAIL not in silent.message.properties
    assert len(loud.message.properties[DEAD_LETTER_DETAIL]) == 255


def test_dead_letters_go_where_the_queue_says_or_nowhere() -> None:
    """What goes nowhere is counted."""
    router = make_router(
        queue_rules=[(b"q", QueueSettings(dead_letter=b"late")), (b"r", QueueSettings(dead_letter=None))]
    )
    client = MemoryClient(router)
    for queue in (b"q", b"r"):
        client.enqueue(queue, b"x")
        reject(client, queue)
    assert payloads(router, b"late") == [b"x"]
    lost = router.queue(b"r")
    assert lost is not None
    assert (lost.dropped, lost.dead_lettered, lost.ready) == (1, 0, 0)


def test_a_dead_letter_that_dies_again_is_forgotten() -> None:
    """Also where two queues are each other's: none runs in a circle."""
    router = make_router(queue_rules=[(b"a", QueueSettings(dead_letter=b"b")), (b"b", QueueSettings(dead_letter=b"a"))])
    client = MemoryClient(router)
    client.enqueue(b"a", b"x")
    reject(client, b"a")
    assert payloads(router, b"b") == [b"x"]
    reject(client, b"b")
    assert [(status.ready, status.dropped) for status in router.queues()] == [(0, 0), (0, 1)]


def test_what_dies_in_the_queue_of_dead_letters_is_forgotten() -> None:
    """A message that somebody enqueued there, too."""
    router = make_router()
    client = MemoryClient(router)
    client.enqueue(b"dead", b"x")
    reject(client, b"dead")
    assert router.queues() == []


def test_looking_at_dead_letters_again_and_again_does_not_lose_them() -> None:
    """They have no delivery limit: who releases one wants it kept."""
    router = make_router(queue_settings=QueueSettings(delivery_limit=2))
    client = MemoryClient(router)
    client.enqueue(b"q", b"x")
    reject(client, b"q")
    for _ in range(10):
        client.cancel(client.consume(b"dead"))
    assert payloads(router, b"dead") == [b"x"]


def test_a_full_queue_takes_no_dead_letters_unless_it_drops_the_oldest() -> None:
    """What finds no room is forgotten, and counted where it died."""
    for overflow, kept in (
        (QueueOverflow.REFUSE, b"1"),
        (QueueOverflow.PAUSE, b"1"),
        (QueueOverflow.DROP_OLDEST, b"2"),
    ):
        router = make_router(queue_rules=[(b"dead", QueueSettings(max_messages=1, overflow=overflow))])
        client = MemoryClient(router)
        holder = client.consume(b"q", window=10)
        client.enqueue(b"q", b"1")
        client.enqueue(b"q", b"2")
        client.settle(holder, outcome=Outcome.REJECT)
        assert payloads(router, b"dead") == [kept]
        status = router.queue(b"q")
        assert status is not None
        assert status.dead_lettered + status.dropped == 2


def test_a_letter_that_is_driven_out_in_the_moment_it_expires_is_gone_once() -> None:
    """Both are told of the same message."""
    clock = Clock()
    dead = QueueSettings(max_messages=1, overflow=QueueOverflow.DROP_OLDEST, time_to_live=5.0)
    router = make_router(clock, queue_rules=[(b"dead", dead)])
    client = MemoryClient(router)
    client.enqueue(b"q", b"1", time_to_live=5.0)
    client.enqueue(b"r", b"2")
    reject(client, b"r")
    clock.advance(5.0)
    assert payloads(router, b"dead") == [b"1"]
    accounts = router.queue(b"dead")
    assert accounts is not None
    assert (accounts.enqueued, accounts.dropped, accounts.expired) == (2, 1, 0)
    assert router.queuing.table.messages == 1


def test_there_may_be_no_queue_left_for_dead_letters() -> None:
    """Then they are forgotten, rather than one queue too many be made."""
    router = make_router(limits=Limits(queues=1))
    client = MemoryClient(router)
    client.enqueue(b"q", b"x")
    reject(client, b"q")
    assert router.queues() == []


def test_a_client_cannot_make_dead_letters_of_its_own() -> None:
    """A requeue would carry them where it may not write."""
    router = make_router()
    client = MemoryClient(router)
    marks = {DEAD_LETTER_QUEUE: "secret", DEAD_LETTER_REASON: "x", DEAD_LETTER_DETAIL: "x"}
    client.session.enqueue(b"dead", Message(b"dead", b"x", properties={"k": "v", **marks}))
    [stored] = router.peek(b"dead", 9)
    assert stored.message.properties == {"k": "v"}
    assert requeue(router) == 0
    assert payloads(router, b"dead") == [b"x"]


# coming back


def test_dead_letters_go_back_to_where_they_died_as_if_they_were_new() -> None:
    """In their order, without their marks, with their priority, and to whoever waits there."""
    router = make_router(Clock(), queue_settings=QueueSettings(time_to_live=60.0))
    client = MemoryClient(router)
    for queue, payload, priority in ((b"q", b"1", 0), (b"r", b"2", 0), (b"q", b"3", 0), (b"q", b"4", 7)):
        client.enqueue(queue, payload, priority=priority)
    for queue in (b"q", b"r"):
        reject(client, queue)
    client.taken.clear()
    client.consume(b"q")
    assert requeue(router) == 4
    assert client.taken_payloads == [b"4", b"1", b"3"]
    _, first = client.taken[0]
    assert (first.message, first.priority, first.deliveries, first.expires_at) == (Message(b"q", b"4"), 7, 1, 60.0)
    assert payloads(router, b"r") == [b"2"]
    assert router.queue(b"dead") is None


def test_as_many_go_back_as_asked_for() -> None:
    """The first ones."""
    router = make_router()
    client = MemoryClient(router)
    for number in range(5):
        client.enqueue(b"q", b"%d" % number)
    reject(client, b"q")
    assert requeue(router, most=2) == 2
    assert (payloads(router, b"q"), payloads(router, b"dead")) == ([b"0", b"1"], [b"2", b"3", b"4"])


def test_what_is_no_dead_letter_stays_and_what_finds_no_room_too() -> None:
    """Others go on past it."""
    router = make_router(queue_rules=[(b"q", QueueSettings(max_messages=2))])
    client = MemoryClient(router)
    client.enqueue(b"dead", b"plain")
    for queue, payload in ((b"q", b"1"), (b"q", b"2"), (b"r", b"3")):
        client.enqueue(queue, payload)
    for queue in (b"q", b"r"):
        reject(client, queue)
    client.enqueue(b"q", b"new")
    assert requeue(router) == 2
    assert payloads(router, b"dead") == [b"plain", b"2"]
    assert (payloads(router, b"q"), payloads(router, b"r")) == ([b"new", b"1"], [b"3"])


def test_what_dies_again_at_once_is_not_sent_back_again() -> None:
    """A requeue is of what was there when it was asked for, so that it ends."""
    router = make_router()
    client = MemoryClient(router)
    consumer = client.consume(b"q")

    def reject_all() -> None:
        client.settle(consumer, outcome=Outcome.REJECT)

    client.enqueue(b"q", b"x")
    for _ in range(3):
        reject_all()
        assert requeue(router) == 1
    assert len(client.taken) == 4


@pytest.mark.parametrize("queue", [b"dead", b"q"])
def test_there_may_be_nothing_to_send_back(queue: bytes) -> None:
    """A queue that is not there, or one that has no dead letters."""
    router = make_router()
    MemoryClient(router).enqueue(b"q", b"x")
    assert requeue(router, queue) == 0


def test_a_dead_letter_is_not_for_those_who_may_not_consume_where_it_died() -> None:
    """The queue of dead letters is no way around: whose turn it would be, ends, and somebody else gets it in order.
    What he held is back as well."""
    policy = OpenPolicy()
    router = make_router(authorizers=[ExceptFor(policy, "reader")])
    reader = MemoryClient(router, Principal("memory", PeerFacts("memory"), "reader"))
    operator = MemoryClient(router)
    for queue, payload in ((b"open", b"1"), (b"secret", b"2"), (b"open", b"3")):
        operator.enqueue(queue, payload)
        reject(operator, queue)
    policy.deny(Action.CONSUME, b"secret")
    reader.consume(b"dead")
    assert reader.taken_payloads == [b"1"]
    assert reader.calls == ["consumer_ended dead policy"]
    assert payloads(router, b"dead") == [b"1", b"2", b"3"]
    with pytest.raises(Refused):
        reader.consume(b"secret")
    heir = MemoryClient(router)
    heir.consume(b"dead")
    assert heir.taken_payloads == [b"1", b"2", b"3"]
    assert [stored.is_redelivered for _, stored in heir.taken] == [True, False, False]
    (status,) = [status for status in router.queues() if status.name == b"dead"]
    assert (status.ready, status.unsettled, status.consumers) == (0, 3, 1)


@pytest.mark.parametrize("comes_first", ["reader", "operator"])
def test_others_get_dead_letters_as_ever(comes_first: str) -> None:
    """Whoever of them was there first."""
    policy = OpenPolicy()
    policy.deny(Action.CONSUME, b"secret")
    router = make_router(authorizers=[ExceptFor(policy, "reader")])
    clients = {
        "reader": MemoryClient(router, Principal("memory", PeerFacts("memory"), "reader")),
        "operator": MemoryClient(router),
    }
    for name in (comes_first, *(clients.keys() - {comes_first})):
        clients[name].consume(b"dead", window=2)
    rejecting = MemoryClient(router)
    for number in range(4):
        rejecting.enqueue(b"secret", b"%d" % number)
    reject(rejecting, b"secret")
    operator = clients["operator"]
    assert clients["reader"].taken == []
    while operator.taken_payloads != [b"0", b"1", b"2", b"3"]:
        consumer, _ = operator.taken[-1]
        assert operator.settle(consumer)


@implementer(IPlugin, IAuthorizer)
class ExceptFor:
    """Denies somebody what a policy denies, and everybody else nothing."""

    def __init__(self, policy: OpenPolicy, name: str) -> None:
        self._policy = policy
        self._name = name

    def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
        return self._policy.decide(principal, action, name) if principal.identity == self._name else Decision.ALLOW
