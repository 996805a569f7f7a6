"""What happens in a soft stop, and in which order? (FMQP, section Service topics, ``$/signals/stop``)

The specification's seven steps: accept no more clients (1) and no more messages (2), wait until subscribers have what
was published (3), publish all wills (4), wait again (5), close all connections (6), end (7).
"""

from __future__ import annotations

import pytest

from tests.protocols.fmqp.memory_bus import MemoryBus
from tests.protocols.fmqp.packets import LAST_WILL, feedback, publication, subscribe, watch

STOP = publication(b"$/signals/stop", b"!")
BACKLOG = [publication(b"news", bytes([number])) for number in range(1, 4)]
WILL = publication(b"status", b"gone", LAST_WILL)


def test_the_steps_of_a_soft_stop_come_one_after_the_other() -> None:
    """FMQP, section Service topics: each step is looked at before the next may begin; reading 45: a subscriber has
    received what has left its write buffer."""
    bus = MemoryBus()
    slow = bus.connect(subscribe(b"news"), subscribe(b"status"), watch(b"late"))
    publisher, testator = bus.connect(*BACKLOG[:1]), bus.connect(WILL)
    assert slow.heard() == BACKLOG[:1]
    slow.stop_reading()
    publisher.say(*BACKLOG[1:])

    testator.say(STOP)
    assert bus.is_accepting
    bus.wait()
    assert not bus.is_accepting, "step 1"
    late = bus.connect(subscribe(b"news"))
    bus.wait()
    assert not late.is_connected, "step 1, also for one that was on its way"

    publisher.say(publication(b"news", b"too late"))
    publisher.say(subscribe(b"late"), publication(b"status", b"new will", LAST_WILL))
    assert slow.heard() == [], "step 2, and 3 waits for the slow one"
    assert testator.is_connected

    slow.read_on()
    heard = slow.heard()
    assert heard == [*BACKLOG[1:], WILL], "steps 3 and 4: first what was published before, then the wills"
    bus.wait()
    assert [client.is_connected for client in (slow, publisher, testator)] == 3 * [False], "step 6"
    assert bus.has_ended, "step 7"


def test_wills_are_waited_for_before_connections_close() -> None:
    """FMQP, section Service topics, step 5: also by those who read slowly only then."""
    bus = MemoryBus()
    heir = bus.connect(subscribe(b"news"), subscribe(b"status"))
    testator = bus.connect(WILL)
    heir.stop_reading()
    testator.say(*BACKLOG)
    bus.stop()
    heir.read_once()
    assert heir.heard() == BACKLOG
    bus.wait()
    assert heir.is_connected
    assert testator.is_connected
    assert not bus.has_ended
    heir.read_on()
    assert heir.heard() == [WILL]
    bus.wait()
    assert not heir.is_connected
    assert bus.has_ended


def test_wills_are_published_once_in_a_soft_stop() -> None:
    """FMQP, section Service topics, step 4: the connections that close in step 6 bring no second copy."""
    bus = MemoryBus()
    heir = bus.connect(subscribe(b"status"))
    bus.connect(WILL)
    bus.stop()
    bus.wait()
    assert heir.heard() == [WILL]


def test_wills_of_clients_that_go_during_a_soft_stop_are_published_too() -> None:
    """FMQP, section Last will; reading 27."""
    bus = MemoryBus()
    slow, heir = bus.connect(subscribe(b"news")), bus.connect(subscribe(b"status"))
    testator = bus.connect(WILL)
    slow.stop_reading()
    testator.say(*BACKLOG)
    bus.stop()
    testator.reset()
    assert heir.heard() == [WILL]


def test_a_soft_stop_closes_a_client_that_never_reads() -> None:
    """Reading 45: each wait has a limit, or one slow subscriber would keep the broker up for ever."""
    bus = MemoryBus("[limits]\ndrain_seconds = 10\nlinger_seconds = 1")
    deaf, heir = bus.connect(subscribe(b"news")), bus.connect(subscribe(b"status"))
    testator = bus.connect(WILL)
    deaf.stop_reading()
    testator.say(*BACKLOG)
    bus.stop()
    bus.wait(9)
    assert heir.heard() == []
    bus.wait(1)
    assert heir.heard() == [WILL]
    bus.wait(9)
    assert heir.is_connected
    bus.wait(1)
    bus.wait(2)
    assert [client.is_connected for client in (deaf, heir, testator)] == 3 * [False]
    assert bus.has_ended


def test_a_second_request_for_a_soft_stop_changes_nothing() -> None:
    """FMQP, section Service topics: it is on its way."""
    bus = MemoryBus()
    heir = bus.connect(subscribe(b"status"))
    bus.connect(WILL, STOP, STOP)
    bus.wait()
    assert heir.heard() == [WILL]
    assert bus.has_ended


def test_what_stood_before_the_signal_in_the_same_segment_still_counts() -> None:
    """FMQP, section Service topics, step 3: it was published by that time."""
    bus = MemoryBus()
    subscriber = bus.connect(subscribe(b"news"), watch(b"new"))
    bus.connect(*BACKLOG, subscribe(b"new"), STOP)
    assert subscriber.heard() == [*BACKLOG, feedback(b"new", 1)]
    bus.wait()
    assert not subscriber.is_connected


@pytest.mark.parametrize("is_reading", [True, False])
def test_a_stop_at_once_waits_for_nobody(is_reading: bool) -> None:
    """FMQP, section Service topics, ``$/signals/terminate``: the broker has ended when the turn has."""
    bus = MemoryBus()
    client = bus.connect(subscribe(b"news"))
    if not is_reading:
        client.stop_reading()
    client.say(*BACKLOG, publication(b"$/signals/terminate", b"!"))
    bus.wait()
    assert bus.has_ended


def test_no_will_is_published_when_the_broker_ends_at_once() -> None:
    """FMQP, section Service topics: nor anything else told, however the connections then go; reading 27."""
    bus = MemoryBus()
    heir = bus.connect(subscribe(b"status"), subscribe(b"news"), watch(b"news"))
    heir.heard()
    testator = bus.connect(WILL, subscribe(b"news"))
    assert heir.heard() == [feedback(b"news", 2)]
    testator.say(publication(b"$/signals/terminate", b"!"), *BACKLOG)
    bus.wait()
    testator.reset()
    assert heir.heard() == []


def test_a_stop_at_once_cuts_a_soft_stop_short() -> None:
    """FMQP, section Service topics: also while that waits for a slow subscriber."""
    bus = MemoryBus()
    slow = bus.connect(subscribe(b"news"))
    slow.stop_reading()
    bus.connect(*BACKLOG)
    bus.stop()
    assert not bus.has_ended
    bus.stop_at_once()
    assert bus.has_ended
