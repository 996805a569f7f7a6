"""The broker as a process: how it begins, takes signals, and ends."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

import pytest

from fmqbus.protocols.fmqp.codec import LAST_WILL, SUBSCRIPTION, UNSUBSCRIBE, encode
from tests.live.broker import Broker


def receive(client: socket.socket, octets: bytes) -> None:
    """Read from the client until just these octets have come."""
    got = b""
    while len(got) < len(octets):
        got += client.recv(len(octets) - len(got)) or pytest.fail(f"the broker closed the link after {got!r}")
    assert got == octets


def settle(client: socket.socket) -> None:
    """Return when the broker has taken all that this client has sent."""
    echo = encode(0, b"settled", b"!")
    client.sendall(encode(SUBSCRIPTION, b"settled") + echo + encode(SUBSCRIPTION | UNSUBSCRIBE, b"settled"))
    receive(client, echo)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration file for one listener, with nothing else in it yet."""
    path = tmp_path / "bus.toml"
    path.write_text('listen = ["fmqp:tcp:0"]\n')
    return path


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_broker_with_success(number: signal.Signals) -> None:
    """A clean stop is exit code 0, not an end by the signal; clients see the end of the stream."""
    with Broker() as broker, broker.connect() as client:
        settle(client)
        broker.signal(number)
        assert client.recv(1) == b""
        assert broker.wait() == 0


def test_a_soft_stop_publishes_wills_before_it_closes() -> None:
    """FMQP, section Service topics, steps 4 to 6."""
    with Broker() as broker, broker.connect() as heir, broker.connect() as testator:
        heir.sendall(encode(SUBSCRIPTION, b"will"))
        settle(heir)
        testator.sendall(encode(LAST_WILL, b"will", b"goodbye"))
        settle(testator)
        broker.signal(signal.SIGTERM)
        receive(heir, encode(LAST_WILL, b"will", b"goodbye"))
        assert heir.recv(1) == b""
        assert broker.wait() == 0


def test_a_second_signal_ends_the_broker_at_once(config: Path) -> None:
    """Even while a subscriber that does not read holds up a drain that would wait for an hour."""
    config.write_text(config.read_text() + "[limits]\ndrain_seconds = 3600\n")
    with Broker("--config", str(config)) as broker, broker.connect() as deaf, broker.connect() as publisher:
        deaf.sendall(encode(SUBSCRIPTION, b"flood"))
        settle(deaf)
        for _ in range(16):
            publisher.sendall(encode(0, b"flood", bytes(1 << 20)))
        settle(publisher)
        broker.signal(signal.SIGTERM)
        broker.wait_for("SIGTERM: draining")
        broker.signal(signal.SIGTERM)
        assert broker.wait() == 0
        assert "ending at once" in broker.text


@pytest.mark.parametrize("topic", [b"$/signals/stop", b"$/signals/terminate"])
def test_a_local_client_can_end_the_broker(topic: bytes) -> None:
    """FMQP, section Service topics; both ways of ending are a success."""
    with Broker() as broker, broker.connect() as client:
        client.sendall(encode(0, topic, b"!"))
        assert broker.wait() == 0


def test_a_client_that_asks_twice_for_a_soft_stop_gets_a_soft_stop() -> None:
    """Only a second signal hurries: the will is still published."""
    with Broker() as broker, broker.connect() as heir, broker.connect() as testator:
        heir.sendall(encode(SUBSCRIPTION, b"will"))
        settle(heir)
        testator.sendall(encode(LAST_WILL, b"will", b"goodbye") + 2 * encode(0, b"$/signals/stop", b"!"))
        receive(heir, encode(LAST_WILL, b"will", b"goodbye"))
        assert broker.wait() == 0


DENY_ROOMS = """\
[[access.rules]]
effect = "deny"
actions = ["publish"]
who = ["*"]
names = ["room/**"]
"""


def test_a_hangup_takes_over_new_rules_and_keeps_connections(config: Path) -> None:
    """What was allowed is refused from then on, on the same connection."""
    with Broker("--config", str(config)) as broker, broker.connect() as client:
        client.sendall(encode(SUBSCRIPTION, b"*/*") + encode(0, b"room/1", b"before"))
        receive(client, encode(0, b"room/1", b"before"))
        config.write_text(config.read_text() + DENY_ROOMS)
        broker.signal(signal.SIGHUP)
        broker.wait_for("access rules are reloaded")
        client.sendall(encode(0, b"room/1", b"after") + encode(0, b"hall/1", b"after"))
        receive(client, encode(0, b"hall/1", b"after"))
        assert broker.stop() == 0


def test_a_hangup_with_a_bad_file_keeps_the_old_rules(config: Path) -> None:
    """A file that cannot be used opens nothing and ends nothing; the log names the line."""
    config.write_text(config.read_text() + DENY_ROOMS)
    with Broker("--config", str(config)) as broker, broker.connect() as client:
        client.sendall(encode(SUBSCRIPTION, b"*/*"))
        settle(client)
        config.write_text(config.read_text().replace('["*"]', '["everybody"]'))
        broker.signal(signal.SIGHUP)
        broker.wait_for(r"old configuration stays: .*bus\.toml, line 5: access\.rules\[0\]\.who\[0\]")
        client.sendall(encode(0, b"room/1", b"after") + encode(0, b"hall/1", b"after"))
        receive(client, encode(0, b"hall/1", b"after"))
        assert broker.stop() == 0


def test_a_hangup_says_which_changes_wait_for_the_next_start(config: Path) -> None:
    """Limits are those the broker began with."""
    with Broker("--config", str(config)) as broker:
        config.write_text(config.read_text() + "[limits]\nconnections = 3\n")
        broker.signal(signal.SIGHUP)
        assert broker.wait_for("changes of (.*) wait for the next start")[1] == "limits"


def test_a_configuration_that_cannot_be_used_is_one_line_and_exit_code_1(config: Path) -> None:
    """Nothing starts, and no traceback hides the reason."""
    config.write_text("[limits]\nconections = 3")
    broker = Broker("--config", str(config)).launch()
    assert broker.wait() == 1
    assert broker.wait_for(r"^fmqbus: .*bus\.toml, line 2: limits\.conections: ")
    assert "Traceback" not in broker.text


def test_a_port_that_is_taken_is_one_line_and_exit_code_1() -> None:
    """The listener in question is named."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        broker = Broker("--listen", f"fmqp:tcp:{port}").launch()
        assert broker.wait() == 1
    assert broker.wait_for(f"^fmqbus: fmqp:tcp:{port}: .*in use")
    assert "Traceback" not in broker.text


def test_json_logs_are_one_object_a_line() -> None:
    """All that the broker writes can be read by a machine."""
    with Broker("--listen", "fmqp:tcp:0", "--log-format", "json") as broker:
        assert broker.stop() == 0
    events = [json.loads(line) for line in broker.log]
    assert all({"time", "level", "logger", "text"} <= event.keys() for event in events)
    assert any("listens at" in event["text"] for event in events)


def test_json_logs_go_where_twistd_was_told(tmp_path: Path) -> None:
    """``--logfile`` holds for both formats."""
    path = tmp_path / "bus.log"
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = f"fmqp:tcp:{other.getsockname()[1]}"
        broker = Broker("--listen", taken, "--log-format", "json", twistd=("--logfile", str(path)))
        assert broker.launch().wait() == 1
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert [event["level"] for event in events if "does not listen" in event["text"]] == ["error"]


def test_a_listener_for_others_that_lets_none_of_them_in_is_warned_of() -> None:
    """Loopback needs no rule, so no warning either."""
    with Broker("--listen", "fmqp:tcp:0", "--listen", "fmqp:tcp:0:interface=0.0.0.0") as broker:
        assert "interface" in broker.wait_for(r"(fmqp\S*) can be reached from other machines")[1]
        assert broker.stop() == 0
    assert broker.text.count("can be reached from other machines") == 1


def test_one_protocol_can_be_run_alone() -> None:
    """``twistd fmqp`` takes endpoints without the protocol's name."""
    with Broker("--listen", "tcp:0", command="fmqp") as broker, broker.connect() as client:
        settle(client)
        assert broker.stop() == 0


def test_a_protocol_alone_refuses_a_file_that_asks_for_another(config: Path) -> None:
    """Rather than to leave it out in silence."""
    config.write_text('listen = ["umq:"]')
    broker = Broker("--config", str(config), command="fmqp").launch()
    assert broker.wait() == 1
    assert broker.wait_for("^fmqbus: 'umq:' is not for fmqp")
