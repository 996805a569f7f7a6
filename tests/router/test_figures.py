"""What the router tells those who run the bus."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from fmqbus.errors import StoreFailed
from fmqbus.limits import Limits
from fmqbus.model import Outcome, Overflow, QueueSettings
from fmqbus.router.figures import COMMIT_SECONDS
from fmqbus.router.service import Router
from fmqbus.schedules.timing import Every
from fmqbus.stores.memory import MemoryRetainedStore
from fmqbus.testing.bus import MemoryClient, make_router
from fmqbus.testing.message_store import MemoryMessageStore
from fmqbus.vitals import Distribution


def figures(router: Router) -> dict[str, float]:
    """Each reading, as NAME or NAME{LABELS}; of distributions, how much was added."""
    found: dict[str, float] = {}
    for reading in router.vitals.readings():
        if reading is not None:
            labels = f"{{{','.join(reading.labels)}}}" if reading.labels else ""
            value = reading.value
            found[f"{reading.metric.name}{labels}"] = value.up_to()[-1][1] if isinstance(value, Distribution) else value
    return found


def test_each_number_of_a_bus_that_has_nothing_to_do_is_there() -> None:
    """What has no labels that only come with use, and nothing twice."""
    router = make_router()
    readings = [reading for reading in router.vitals.readings() if reading is not None]
    assert len({(reading.metric, reading.labels) for reading in readings}) == len(readings)
    assert figures(router)["fmqbus_subscriptions"] == 0


def test_no_part_tells_what_it_has_not_announced() -> None:
    """With something to tell of everything."""
    router = make_router(message_store=MemoryMessageStore())
    router.startService()
    client = MemoryClient(router)
    client.subscribe(b"a")
    client.pause()
    client.publish(b"a", b"1")
    client.session.count_refused("topic-utf8")
    client.enqueue(b"q", b"1")
    announced = router.vitals.metrics
    assert len(set(announced)) == len(announced)
    for reading in router.vitals.readings():
        assert reading is None or (reading.metric in announced and len(reading.labels) == len(reading.metric.labels))


def test_traffic_is_told_by_protocol() -> None:
    """As sessions count it."""
    router = make_router()
    client = MemoryClient(router)
    client.session.count_received(2, 100)
    client.session.count_sent(3, 50)
    client.session.count_refused("topic-utf8")
    told = figures(router)
    assert told["fmqbus_messages_received_total{memory}"] == 2
    assert told["fmqbus_received_bytes_total{memory}"] == 100
    assert told["fmqbus_messages_sent_total{memory}"] == 3
    assert told["fmqbus_sent_bytes_total{memory}"] == 50
    assert told["fmqbus_refusals_total{memory,topic-utf8}"] == 1
    assert told["fmqbus_sessions{memory}"] == 1
    client.close()
    told = figures(router)
    assert (told["fmqbus_sessions{memory}"], told["fmqbus_sessions_opened_total"]) == (0, 1)


def test_a_slow_client_shows() -> None:
    """By what is kept for it, and by what is lost."""
    router = make_router(limits=Limits(outbox_octets=1000))
    slow, publisher = MemoryClient(router), MemoryClient(router)
    slow.subscribe(b"a", overflow=Overflow.DROP_NEWEST)
    slow.pause()
    for _ in range(5):
        publisher.publish(b"a", bytes(100))
    told = figures(router)
    assert told["fmqbus_slow_sessions{memory}"] == 1
    kept = told["fmqbus_outbox_bytes{memory}"]
    assert 0 < kept <= 1000
    assert told["fmqbus_outbox_largest_bytes{memory}"] == kept
    assert told["fmqbus_messages_dropped_total{memory,outbox-full}"] == 3
    assert "fmqbus_refusals_total{memory,outbox-full}" not in told


def test_queues_are_told_apart_by_their_rules() -> None:
    """All others are one, so their names do not matter."""
    rules = [(b"orders/*", QueueSettings())]
    router = make_router(queue_rules=rules)
    client = MemoryClient(router)
    for queue in (b"orders/1", b"orders/2", b"q", b"r", b"s"):
        client.enqueue(queue, b"12345")
    told = figures(router)
    assert told["fmqbus_queues{orders/*}"] == 2
    assert told["fmqbus_queue_ready_messages{orders/*}"] == 2
    assert told["fmqbus_queues{(others)}"] == 3
    assert told["fmqbus_queue_enqueued_total{(others)}"] == 3
    assert [key for key in told if key.startswith("fmqbus_queues")] == [
        "fmqbus_queues{orders/*}",
        "fmqbus_queues{(others)}",
    ]


@pytest.mark.parametrize("outcome", [Outcome.ACCEPT, Outcome.REJECT])
def test_what_queues_have_counted_stays_when_they_go(outcome: Outcome) -> None:
    """A counter must not fall, and names come and go."""
    router = make_router(queue_settings=QueueSettings(dead_letter=None))
    client = MemoryClient(router)
    for round_ in (1, 2, 3):
        consumer = client.consume(b"q")
        client.enqueue(b"q", b"1")
        client.settle(consumer, outcome=outcome)
        client.cancel(consumer)
        assert router.queue(b"q") is None
        told = figures(router)
        assert told["fmqbus_queue_enqueued_total{(others)}"] == round_
        counted = "accepted" if outcome is Outcome.ACCEPT else "dropped"
        assert told[f"fmqbus_queue_{counted}_total{{(others)}}"] == round_
        assert told["fmqbus_queues{(others)}"] == 0


def test_calls_are_counted_to_their_ends() -> None:
    """Also those of methods that nobody serves any more."""
    router = make_router()
    caller, server = MemoryClient(router), MemoryClient(router)
    service = server.serve(b"m", window=1)
    first, _ = caller.call(b"m"), caller.call(b"m")
    told = figures(router)
    assert (told["fmqbus_calls_total"], told["fmqbus_calls_under_way"], told["fmqbus_calls_waiting"]) == (2, 2, 1)
    server.unserve(service)
    server.reply(first)
    told = figures(router)
    assert (told["fmqbus_methods"], told["fmqbus_calls_under_way"]) == (0, 0)
    assert told["fmqbus_calls_ended_total{replied}"] == 1
    assert told["fmqbus_calls_ended_total{unserved}"] == 1


def test_schedules_are_counted_with_their_runs() -> None:
    """And those that came to nothing by reason."""
    clock = Clock()
    router = make_router(clock, queue_settings=QueueSettings(max_messages=1))
    router.startService()
    MemoryClient(router).schedule("key", Every(1.0), b"12345", queue=b"q")
    for _ in range(30):
        clock.advance(0.1)
    told = figures(router)
    assert told["fmqbus_schedules"] == 1
    assert told["fmqbus_scheduled_bytes"] > 5
    assert told["fmqbus_schedule_runs_total"] >= 3
    assert told["fmqbus_schedule_failures_total{queue-full}"] == told["fmqbus_schedule_runs_total"] - 1


def test_how_long_commits_take_is_measured() -> None:
    """By the clock of the bus."""
    clock, store = Clock(), MemoryMessageStore(is_slow=True)
    router = make_router(clock, message_store=store)
    router.startService()
    client = MemoryClient(router)
    client.enqueue(b"q", b"1")
    clock.advance(0.3)
    assert figures(router)["fmqbus_store_commit_seconds"] == 0
    store.write()
    assert figures(router)["fmqbus_store_commit_seconds"] == 1
    (seconds,) = (reading.value for reading in router.vitals.readings() if reading and reading.metric is COMMIT_SECONDS)
    assert isinstance(seconds, Distribution)
    assert seconds.sum == pytest.approx(0.3)


class FailedStore(MemoryRetainedStore):
    """Its disk is gone."""

    @property
    def failure(self) -> StoreFailed | None:
        return StoreFailed("the disk is gone")


def test_a_store_that_has_failed_makes_the_bus_unready() -> None:
    """Each by its name."""
    router = make_router(retained=FailedStore())
    router.startService()
    assert figures(router)["fmqbus_store_failed{retained}"] == 1
    assert figures(router)["fmqbus_store_failed{messages}"] == 0
    assert router.vitals.ready.results() == {
        "router": None,
        "message_store": None,
        "retained_store": "the disk is gone",
        "schedule_store": None,
    }


class SlowStore(MemoryRetainedStore):
    """Is not back yet."""

    def recover(self) -> Deferred[None]:
        return Deferred()


def test_a_bus_is_ready_once_its_stores_are_back_and_until_it_drains() -> None:
    """In words for people."""
    router = make_router(retained=SlowStore())
    router.startService()
    assert router.vitals.ready.results()["router"] == "what the stores keep is not yet back"
    router = make_router()
    assert router.vitals.ready.results()["router"] == "what the stores keep is not yet back"
    router.startService()
    assert router.vitals.ready.results()["router"] is None
    router.drain()
    assert router.vitals.ready.results()["router"] == "the bus is draining"


def test_others_have_their_turn_while_very_many_sessions_are_looked_at() -> None:
    """Each hundred of them is a step."""
    router = make_router()
    before = sum(reading is None for reading in router.vitals.readings())
    for _ in range(1000):
        MemoryClient(router)
    assert sum(reading is None for reading in router.vitals.readings()) == before + 10
