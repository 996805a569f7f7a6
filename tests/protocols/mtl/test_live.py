"""MTL over real sockets: raw ZeroMQ clients against a broker in a process of its own."""

from __future__ import annotations

import signal
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import zmq
from scramp import ScramClient

from tests.auth.users import write
from tests.live.broker import Broker
from tests.live.mtl_client import (
    CONFIRM,
    DISMISS,
    LEASE,
    LISTEN,
    OPEN,
    PING,
    PONG,
    REJECT,
    SUMMON,
    Control,
    Flow,
    Place,
    ports_of,
)

Start = Callable[..., tuple[Broker, Place]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a broker of the test's own, with lines for ``[protocols.mtl]`` and further tables."""
    with ExitStack() as started:

        def start(settings: str = "", tables: str = "", listen: str = LISTEN) -> tuple[Broker, Place]:
            config = tmp_path / "bus.toml"
            config.write_text(f'listen = ["{listen}"]\n{tables}\n[protocols.mtl]\n{settings}\n')
            broker = started.enter_context(Broker("--config", str(config)))
            return broker, started.enter_context(Place(broker))

        yield start


def reading(place: Place, profile: str, *resources: str, confirm: str = "none") -> Flow:
    """A flow that has summoned these."""
    flow = place.flow()
    assert flow.asked(LEASE, place.control().open(profile).lease("Reader", *resources, confirm=confirm)) == 200
    for resource in resources:
        assert flow.asked(SUMMON, resource.encode()) == 200
    return flow


def writing(place: Place, profile: str, *resources: str, confirm: str = "none") -> Flow:
    """A flow that may write to these."""
    flow = place.flow()
    assert flow.asked(LEASE, place.control().open(profile).lease("Writer", *resources, confirm=confirm)) == 200
    return flow


@pytest.mark.parametrize("listen", ["mtl:zmq:0", "mtl:zmq:0:data=0"])
@pytest.mark.parametrize("kind", [zmq.REQ, zmq.DEALER])
def test_from_open_to_contents(start: Start, listen: str, kind: int) -> None:
    """On one socket or two, by REQ or DEALER on the control flow; a server MUST use ROUTER.
    (MTL, Control Flow; Data Flow; Request and Reply Routing; readings 24, 25 and 55)"""
    _, place = start(listen=listen)
    control, flow = place.control(kind), place.flow()
    code, ready = control.ask("connection.OPEN", **OPEN)
    assert (code, ready) == (201, {"status": "Ready", "profiles": ["queue", "test", "topic"]})
    assert control.ask("Connection.Profile", profile="TEST") == (200, {"status": "OK"})
    code, lease = control.ask("Connection.Reader", resources=["resource"], confirm="none")
    assert (code, lease["status"]) == (202, "Data Lease")
    assert lease["port"] == place.ports.get("data", place.ports["control"])
    assert flow.asked(LEASE, lease["lease"].encode()) == 200
    assert flow.asked(LEASE, control.lease("Writer")) == 200
    assert flow.asked(SUMMON, b"resource") == 200
    flow.content(1, b"\x00\xffbody")
    assert flow.next_content() == (1, b"resource", bytes(4), b"\x00\xffbody")
    flow.say(bytes((PING,)))
    assert flow.hear(PONG) == (b"\x09", b"")
    assert flow.asked(DISMISS, b"resource") == 200
    flow.content(2, b"x")
    assert flow.contents() == []


def test_its_own_command_listens_where_the_page_says() -> None:
    """One socket for both flows. (reading 26)"""
    with Broker("--listen", "zmq:0", command="mtl") as broker:
        assert list(ports_of(broker)) == ["control"]
        with Place(broker) as place:
            assert place.control().open("test").lease("Reader")


def test_a_req_that_said_what_is_no_request_waits(start: Start) -> None:
    """The log says so; a new socket is served. (MTL, Control Flow Error Handling; reading 2)"""
    broker, place = start()
    control = place.control()
    control.say(b"Connection.Open", b"{")
    broker.wait_for(r"no JSON.*from a REQ, which now waits for good")
    assert not control.socket.poll(100)
    assert place.control().ask("Connection.Open", **OPEN)[0] == 201
    assert place.control().ask("Connection.Nothing")[0] == 501


def test_a_thousand_contents_are_confirmed_and_come_in_order(start: Start) -> None:
    """In both directions. (MTL, Content Confirmation; readings 44, 45 and 48)"""
    _, place = start()
    reader = reading(place, "queue", "q", confirm="full")
    writer = writing(place, "queue", "q", confirm="full")
    for number in range(1, 1001):
        writer.content(number, b"%d" % number)
    confirmed = 0
    while confirmed < 1000:
        header, _ = writer.hear(CONFIRM)
        assert header[9] == 1
        confirmed = int.from_bytes(header[1:9], "big")
    for number in range(1, 1001):
        sequence, _, _, body = reader.next_content()
        assert (sequence, body) == (number, b"%d" % number)
        if number % 100 == 0:
            reader.settle(CONFIRM, number, True)
    assert reading(place, "queue", "q").contents() == []


def test_what_a_reader_leaves_behind_is_another_readers(start: Start) -> None:
    """When it has been silent for long, as nobody tells that it has gone. (MTL, Heartbeating; readings 31 and 53)"""
    _, place = start("ping = 0.2\nsilent-pings = 5")
    reader = reading(place, "queue", "q", confirm="full")
    writing(place, "queue", "q").content(1, b"x")
    assert reader.next_content()[3] == b"x"
    reader.socket.close()
    other = reading(place, "queue", "q", confirm="full")
    assert other.next_content()[3] == b"x"


def test_durable_queues_outlive_the_broker(start: Start, tmp_path: Path) -> None:
    """What was confirmed to a writer is there again, with its table. (MTL, Content Confirmation; readings 32 and 48)"""
    tables = f'message_store = "sqlite"\n[stores.sqlite]\npath = "{tmp_path}/bus.db"'
    broker, place = start(tables=tables)
    table = b"\0\0\0\x07\x01ab\x2a\x01bV"
    writer = writing(place, "queue", "q", confirm="full")
    writer.content(1, b"kept", table=table)
    assert writer.hear(CONFIRM)[0] == b"\x06" + bytes(7) + b"\x01\x01"
    assert broker.stop() == 0
    _, place = start(tables=tables)
    assert reading(place, "queue", "q").next_content() == (1, b"q", table, b"kept")


def scram(control: Control, name: str, password: str) -> list[int]:
    """The codes of an exchange with an independent client."""
    client = ScramClient(["SCRAM-SHA-256"], name, password)

    def say(message: str) -> tuple[int, str]:
        code, body = control.ask(
            "Connection.Authorize", mechanism="SCRAM-SHA-256", response=b64encode(message.encode()).decode()
        )
        return code, b64decode(body.get("challenge", "")).decode()

    first, challenge = say(client.get_client_first())
    client.set_server_first(challenge)
    second, challenge = say(client.get_client_final())
    if second != 402:
        return [first, second]
    client.set_server_final(challenge)
    return [first, second, say("")[0]]


def test_users_log_in(start: Start, tmp_path: Path) -> None:
    """By SCRAM and by PLAIN, whose hash takes a thread. (MTL, Client Authentication; readings 11, 13 and 14)"""
    users = write(tmp_path / "users.json")
    _, place = start(tables=f'[users]\nfile = "{users}"')
    control = place.control()
    code, body = control.ask("Connection.Open", **OPEN)
    assert (code, body["mechanisms"]) == (401, ["SCRAM-SHA-256", "EXTERNAL", "PLAIN"])
    assert scram(control, "anna", "wrong") == [402, 401]
    assert scram(control, "anna", "open sesame") == [402, 402, 201]
    other = place.control()
    other.ask("Connection.Open", **OPEN)
    for password, expected in ((b"wrong", 401), (b"tiger", 201)):
        response = b64encode(b"\0bo\0" + password).decode()
        assert other.ask("Connection.Authorize", mechanism="PLAIN", response=response)[0] == expected


def test_who_returns_under_its_identity_goes_on(start: Start) -> None:
    """The connection is another, the flow is the same: also where the former one still seems to stand. (reading 55)"""
    _, place = start()
    reader = place.flow(b"one")
    assert reader.asked(LEASE, place.control().open("topic").lease("Reader", "a")) == 200
    assert reader.asked(SUMMON, b"a") == 200
    again = place.flow(b"one")
    again.say(bytes((PING,)))
    again.hear(PONG)
    writer = writing(place, "topic", "a", confirm="full")
    writer.content(1, b"x")
    writer.hear(CONFIRM)
    assert again.next_content()[3] == b"x"


def test_a_right_that_is_taken_back_is_gone_at_once(start: Start, tmp_path: Path) -> None:
    """Of live flows, too: nothing more comes, and nothing more is taken. (MTL, Data Flow Error Handling; reading 47)"""
    rule = '[[access.rules]]\neffect = "{}"\nactions = "*"\nwho = ["*"]\nnames = ["a"]\n'
    broker, place = start(tables='[access]\nauthorizers = ["rules"]\n' + rule.format("allow"))
    reader, writer = reading(place, "topic", "a"), writing(place, "topic", "a", confirm="full")
    writer.content(1, b"1")
    assert reader.next_content()[3] == b"1"
    writer.hear(CONFIRM)
    config = tmp_path / "bus.toml"
    config.write_text(config.read_text().replace('"allow"', '"deny"'))
    broker.signal(signal.SIGHUP)
    broker.wait_for("rules are reloaded")
    writer.content(2, b"2")
    assert writer.hear(REJECT)[0] == b"\x07" + bytes(7) + b"\x02\x00\x00"
    assert reader.contents() == []
    assert reader.asked(SUMMON, b"a") == 400


def test_a_slow_reader_holds_back_nobody(start: Start) -> None:
    """What it does not read is bounded, and others get everything. (reading 51)"""
    _, place = start(tables="[limits]\noutbox_octets = 1000000")
    slow, quick = reading(place, "topic", "a"), reading(place, "topic", "a")
    writer = writing(place, "topic", "a", confirm="full")
    slow.socket.set_hwm(1)
    body = bytes(10_000)
    for number in range(1, 1001):
        writer.content(number, body)
    for number in range(1, 1001):
        assert quick.next_content()[0] == number
