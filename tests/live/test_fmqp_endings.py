"""How a real broker ends, and what its FMQP clients then get. (FMQP, section Service topics and subscriptions)"""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.live.broker import Broker
from tests.live.fmqp_client import Client
from tests.protocols.fmqp.packets import LAST_WILL, publication, subscribe, watch

STOP, TERMINATE = publication(b"$/signals/stop", b"!"), publication(b"$/signals/terminate", b"!")
WILL = publication(b"status", b"gone", LAST_WILL)

#: 24 MiB: more than all socket buffers on the way, less than an outbox.
FLOOD = [publication(b"flood", bytes([number]) + bytes((1 << 20) - 1)) for number in range(24)]


def by_topic(broker: Broker, client: Client) -> None:
    """A client publishes to ``$/signals/stop``."""
    client.say(STOP)


def by_signal(broker: Broker, client: Client) -> None:
    """The process is told to end."""
    broker.signal(signal.SIGTERM)


def is_served(broker: Broker) -> bool:
    """Whether a new client gets an answer."""
    try:
        with Client(broker.connect()) as late:
            late.say(subscribe(b"$/info/clients"))
            return bool(late.hear())
    except ConnectionError:
        return False


@pytest.mark.parametrize("stop", [by_topic, by_signal])
def test_a_soft_stop_waits_for_a_slow_subscriber(stop: Callable[[Broker, Client], None]) -> None:
    """FMQP, section Service topics: the steps in their order, over sockets; reading 45."""
    with Broker() as broker, Client(broker.connect()) as slow, Client(broker.connect()) as publisher:
        slow.say(subscribe(b"flood"), subscribe(b"status"), watch(b"late"))
        assert slow.heard() == []
        publisher.say(WILL, *FLOOD)
        assert publisher.heard() == []

        stop(broker, publisher)
        broker.wait_for(r"Closed\)")
        assert not is_served(broker)  # step 1
        publisher.say(publication(b"flood", b"too late"), subscribe(b"late"))  # step 2

        assert slow.heard_to_the_end() == [*FLOOD, WILL]  # steps 3 to 6
        assert broker.wait() == 0  # step 7


def test_a_subscriber_that_never_reads_delays_a_soft_stop_only_so_long(tmp_path: Path) -> None:
    """Reading 45: for `drain_seconds`; others get the wills all the same."""
    config = tmp_path / "bus.toml"
    config.write_text('listen = ["fmqp:tcp:0"]\n[limits]\ndrain_seconds = 0.2\nlinger_seconds = 0.2\n')
    with Broker("--config", str(config)) as broker, Client(broker.connect()) as deaf, Client(broker.connect()) as heir:
        deaf.say(subscribe(b"flood"))
        heir.say(subscribe(b"status"))
        assert (deaf.heard(), heir.heard()) == ([], [])
        with Client(broker.connect()) as publisher:
            publisher.say(WILL, *FLOOD, STOP)
            assert heir.heard_to_the_end() == [WILL]
            assert broker.wait() == 0


def test_a_termination_ends_all_work_at_once() -> None:
    """FMQP, section Service topics: nothing is delivered any more, and no will is published."""
    with Broker() as broker, ExitStack() as open_clients:
        heirs = [open_clients.enter_context(Client(broker.connect())) for _ in range(8)]
        slow, testator = [open_clients.enter_context(Client(broker.connect())) for _ in range(2)]
        for heir in heirs:
            heir.say(subscribe(b"status"))
            assert heir.heard() == []
        slow.say(subscribe(b"flood"))
        assert slow.heard() == []
        testator.say(WILL, *FLOOD, TERMINATE)
        assert broker.wait() == 0
        assert [heir.heard_to_the_end() for heir in heirs] == 8 * [[]]


def test_a_silent_client_is_closed_and_its_will_published(tmp_path: Path) -> None:
    """FMQP, section Last will; reading 27: with an idle limit set, silence is a way of leaving."""
    config = tmp_path / "bus.toml"
    config.write_text('listen = ["fmqp:tcp:0"]\n[limits]\nidle_seconds = 0.4\n')
    with (
        Broker("--config", str(config)) as broker,
        Client(broker.connect()) as heir,
        Client(broker.connect()) as testator,
    ):
        testator.say(WILL)
        heir.say(subscribe(b"status"))
        heard: list[bytes] = []
        while not heard:
            heard = heir.heard()  # keeps talking, so it is not silent
        assert heard == [WILL]
        # closed, and then cut off, since it did not go itself: which of the two it sees depends on when it looks
        with suppress(ConnectionResetError):
            assert testator.hear() == b""
        testator.close()
