"""FMQP over real sockets of each kind, with a broker in a process of its own."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fmqbus.limits import DEFAULT_LIMITS
from tests.live.broker import PATIENCE_SECONDS, Broker
from tests.live.fmqp_client import Client
from tests.protocols.fmqp.packets import (
    CACHE,
    DEBUG,
    LAST_WILL,
    feedback,
    publication,
    subscribe,
    u64,
    unsubscribe,
    watch,
)
from tests.transports.certificates import Issued, issue

CARRIERS = ["tcp", "unix", "tls"]


class Carriers:
    """One broker that listens on all carriers."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "bus.sock"
        self._authority: Issued = issue("authority")
        key, certificate = issue("broker", self._authority).write(folder)
        self.broker = Broker(
            *("--listen", "fmqp:tcp:0"),
            *("--listen", f"fmqp:unix:{self._path}"),
            *("--listen", f"fmqp:ssl:0:privateKey={key}:certKey={certificate}"),
        )

    def connect(self, carrier: str) -> Client:
        """A new client by this carrier."""
        if carrier == "unix":
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(PATIENCE_SECONDS)
            connection.connect(str(self._path))
            return Client(connection)
        port = self.broker.port_of("fmqp:ssl" if carrier == "tls" else "fmqp:tcp")
        connection = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)
        if carrier == "tls":
            context = ssl.create_default_context(cadata=self._authority.certificate_pem.decode())
            context.check_hostname = False
            connection = context.wrap_socket(connection)
        return Client(connection)


@pytest.fixture(scope="module")
def carriers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Carriers]:
    """A broker for all tests of this file; each has topics of its own."""
    all_of_them = Carriers(tmp_path_factory.mktemp("carriers"))
    with all_of_them.broker:
        yield all_of_them


@pytest.fixture(params=CARRIERS)
def connect(request: pytest.FixtureRequest, carriers: Carriers) -> Callable[[], Client]:
    """Makes clients, all by the same carrier; one test for each."""
    return lambda: carriers.connect(request.param)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> bytes:
    """A topic of this test's own."""
    return request.node.name.replace("/", "-").encode()


Connect = Callable[[], Client]


def test_messages_reach_those_who_subscribe_for_as_long_as_they_do(connect: Connect, topic: bytes) -> None:
    """FMQP, section Message routing; reading 51: over TCP, UNIX sockets and TLS."""
    with connect() as subscriber, connect() as publisher:
        subscriber.say(subscribe(topic + b"/*"))
        assert subscriber.heard() == []
        publisher.say(
            publication(b"/" + topic + b"/a/", b"1"), publication(topic, b"2"), publication(topic + b"/b", b"3")
        )
        assert publisher.heard() == []
        assert subscriber.heard() == [publication(topic + b"/a", b"1"), publication(topic + b"/b", b"3")]
        subscriber.say(unsubscribe(topic + b"/*"))
        assert subscriber.heard() == []
        publisher.say(publication(topic + b"/a", b"4"))
        assert publisher.heard() == []
        assert subscriber.heard() == []


def test_cached_messages_wait_for_later_subscribers(connect: Connect, topic: bytes) -> None:
    """FMQP, section Caching."""
    with connect() as publisher:
        publisher.say(publication(topic, b"old", CACHE), publication(topic, b"kept", CACHE))
        assert publisher.heard() == []
    with connect() as subscriber:
        subscriber.say(subscribe(topic), publication(topic, b"", CACHE))
        assert subscriber.heard() == [publication(topic, b"kept", CACHE)]
        subscriber.say(subscribe(topic))
        assert subscriber.heard() == []


def test_publishers_learn_who_listens_and_when_nobody_does(connect: Connect, topic: bytes) -> None:
    """FMQP, sections Feedback topics and Debugging messages."""
    with connect() as publisher:
        publisher.say(watch(topic))
        with connect() as one, connect() as debugger:
            debugger.say(subscribe(topic, DEBUG))
            one.say(subscribe(topic))
            assert publisher.hear() == feedback(topic, 1)
            one.say(unsubscribe(topic), subscribe(topic))
            assert [publisher.hear(), publisher.hear()] == [feedback(topic, 0), feedback(topic, 1)]
        assert publisher.hear() == feedback(topic, 0)
        assert publisher.heard() == []


@pytest.mark.parametrize("leave", [Client.close, Client.reset, Client.end_sending])
def test_wills_are_published_whichever_way_the_connection_ends(
    connect: Connect, topic: bytes, leave: Callable[[Client], None]
) -> None:
    """FMQP, section Last will; reading 27. Over TLS, a bare end of the TCP stream is an end as well."""
    with connect() as heir:
        heir.say(subscribe(topic))
        assert heir.heard() == []
        testator = connect()
        testator.say(publication(topic, b"gone", LAST_WILL))
        assert testator.heard() == []
        assert heir.heard() == []
        leave(testator)
        assert heir.hear() == publication(topic, b"gone", LAST_WILL)
        testator.close()
        assert heir.heard() == []


def test_messages_up_to_the_limit_pass_whole_and_larger_ones_are_skipped(connect: Connect, topic: bytes) -> None:
    """Reading 5; the limit is `body_octets`."""
    body = bytes(range(256)) * (DEFAULT_LIMITS.body_octets // 256)
    with connect() as subscriber, connect() as publisher:
        subscriber.say(subscribe(topic))
        assert subscriber.heard() == []
        publisher.say(publication(topic, body + b"x"), publication(topic, body), publication(topic, b"small"))
        assert subscriber.hear() == publication(topic, body)
        assert subscriber.hear() == publication(topic, b"small")


def test_many_messages_come_in_order(connect: Connect, topic: bytes) -> None:
    """FMQP, section Message routing: over several topics and sizes."""
    said = [publication(topic + b"/%d" % (number % 7), u64(number) + (number % 5) * b"x") for number in range(20_000)]
    with connect() as subscriber, connect() as publisher:
        subscriber.say(subscribe(topic + b"/*"))
        assert subscriber.heard() == []
        for at in range(0, len(said), 2_000):
            publisher.say(*said[at : at + 2_000])
            assert [subscriber.hear() for _ in range(2_000)] == said[at : at + 2_000]


@pytest.mark.parametrize("sender", CARRIERS)
@pytest.mark.parametrize("receiver", CARRIERS)
def test_clients_of_all_carriers_are_on_one_bus(carriers: Carriers, topic: bytes, sender: str, receiver: str) -> None:
    """Reading 51."""
    with carriers.connect(receiver) as subscriber, carriers.connect(sender) as publisher:
        subscriber.say(subscribe(topic))
        assert subscriber.heard() == []
        publisher.say(publication(topic, b"1"))
        assert subscriber.hear() == publication(topic, b"1")


@pytest.mark.parametrize("carrier", ["tcp", "unix"])
def test_a_client_that_has_said_all_gets_the_answers_and_then_the_end(
    carriers: Carriers, topic: bytes, carrier: str
) -> None:
    """As ``printf ... | nc`` does. The answers are more than any socket buffer holds."""
    answers = 24 * [publication(topic, bytes(1 << 18))]
    with carriers.connect(carrier) as client:
        client.say(subscribe(topic), *answers)
        client.end_sending()
        assert client.heard_to_the_end() == answers


def test_a_packet_that_the_end_cuts_off_is_dropped(connect: Connect, topic: bytes) -> None:
    """Reading 52."""
    whole = publication(topic, b"body")
    with connect() as subscriber:
        subscriber.say(subscribe(topic), watch(b"here/" + topic))
        for at in (1, 6, len(whole) - 1):
            with connect() as publisher:
                publisher.say(subscribe(b"here/" + topic), whole[:at])
            # the end of its subscription tells that the broker has seen it go
            assert subscriber.hear() == feedback(b"here/" + topic, 1)
            assert subscriber.hear() == feedback(b"here/" + topic, 0)
        assert subscriber.heard() == []


def test_nothing_that_was_said_before_a_tls_goodbye_is_lost(carriers: Carriers, topic: bytes) -> None:
    """FMQP, section Last will; the goodbye may come in one read with thousands of packets, and the will last of all."""
    kept = [publication(topic, u64(number), CACHE) for number in range(3_000)]
    will = publication(topic, b"gone", LAST_WILL)
    with carriers.connect("tcp") as heir, carriers.connect("tls") as client:
        heir.say(subscribe(topic))
        assert heir.heard() == []
        client.say(*kept, will)
        assert isinstance(client.socket, ssl.SSLSocket)
        client.socket.unwrap().close()
        assert [heir.hear() for _ in range(3_001)] == [*kept, will]


def test_the_number_of_clients_is_that_of_all_carriers(carriers: Carriers) -> None:
    """FMQP, section Service topics; reading 46."""
    with carriers.connect("tcp") as one, carriers.connect("unix"), carriers.connect("tls") as three:
        one.say(subscribe(b"$/info/clients"))
        while one.hear() != publication(b"$/info/clients", u64(3), CACHE):
            """Clients of earlier tests are still going."""
        three.close()
        assert one.hear() == publication(b"$/info/clients", u64(2), CACHE)
