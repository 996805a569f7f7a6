"""Could a bus listen where it is to?"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fmqbus.doctor.findings import Severity
from fmqbus.doctor.port_owner import owner_of
from tests.doctor.patients import findings, problems, written


def taken() -> socket.socket:
    """A socket that listens at some port."""
    return socket.create_server(("127.0.0.1", 0))


def listen(*places: str) -> str:
    """The text of a configuration."""
    return f"listen = {list(places)!r}".replace("'", '"')


def test_a_free_port_is_well_and_still_free_afterwards(tmp_path: Path) -> None:
    """Also of ZeroMQ's sockets, each."""
    with taken() as one, taken() as other:
        ports = [each.getsockname()[1] for each in (one, other)]
    text = listen(f"fmqp:tcp:{ports[0]}", f"emqp:zmq:frontend={ports[1]}", "micromsg2:tcp6:0")
    found = [(one.subject, one.severity) for name, one in findings(written(tmp_path, text)) if name == "ports"]
    assert [severity for _, severity in found] == [Severity.OK] * 3
    assert found[1][0].endswith(f"port {ports[1]}")
    socket.create_server(("127.0.0.1", ports[0])).close()


@pytest.mark.parametrize(
    "place", ["fmqp:tcp:{}", "fmqp:haproxy:tcp:{}:trust=127.0.0.1", "umq:units:tcp:{}", "emqp:zmq:backend={}"]
)
def test_who_has_a_port_is_told(tmp_path: Path, place: str) -> None:
    """Here it is this very process."""
    with taken() as other:
        (finding,) = problems(tmp_path, listen(place.format(other.getsockname()[1])), "ports")
    assert finding.severity is Severity.ERROR
    assert f"is in use by process {os.getpid()}: " in finding.text
    assert f"kill {os.getpid()}" in finding.cure


def test_a_bus_that_runs_is_no_stranger(tmp_path: Path) -> None:
    """To be looked at beside it is what most installations will be."""
    program = "import socket, sys; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1]); input()"
    child = subprocess.Popen(
        [sys.executable, "-uc", program, "twistd", "fmqbus"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    port = int(child.stdout.readline())
    (finding,) = problems(tmp_path, listen(f"fmqp:tcp:{port}"), "ports")
    child.communicate("\n")
    assert finding.severity is Severity.WARNING
    assert f"a bus that runs, process {child.pid}" in finding.text


def test_a_port_whose_owner_cannot_be_seen_is_in_use_all_the_same(tmp_path: Path) -> None:
    """A table that cannot be read names nobody."""
    with taken() as other:
        port = other.getsockname()[1]
        assert owner_of(port, tmp_path) is None
        (tmp_path / "net").mkdir()
        (tmp_path / "net" / "tcp").write_text("sl\n nonsense\n 1: 2\n")
        assert owner_of(port, tmp_path) is None
        owner = owner_of(port)
        assert owner is not None
        assert owner[0] == os.getpid()


def test_one_port_for_two_listeners_is_told(tmp_path: Path) -> None:
    """Each by itself would be free."""
    with taken() as other:
        port = other.getsockname()[1]
    (finding,) = problems(tmp_path, listen(f"fmqp:tcp:{port}", f"micromsg2:tcp:{port}"), "ports")
    assert finding.text == f"the port is also that of fmqp:tcp:{port}"


def test_an_address_of_another_machine_is_told(tmp_path: Path) -> None:
    """As it is written."""
    (finding,) = problems(
        tmp_path, listen("fmqp:tcp:0:interface=192.0.2.77", "fmqp:tcp:7:interface=192.0.2.77"), "ports"
    )
    assert finding.text == "this machine has no address 192.0.2.77"


def test_unix_sockets_need_a_folder_and_a_place_in_it(tmp_path: Path) -> None:
    """One that was left behind is replaced, one that is in use is told."""
    path = tmp_path / "s"
    text = listen(f"fmqp:unix:{path}")
    assert problems(tmp_path, text, "ports") == []
    (finding,) = problems(tmp_path, listen(f"fmqp:unix:{tmp_path}/no/s"), "ports")
    assert finding.cure == f"mkdir -p {tmp_path}/no"
    (finding,) = problems(tmp_path, listen(f"fmqp:unix:{tmp_path}/{'x' * 108}"), "ports")
    assert "octets" in finding.text
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        (finding,) = problems(tmp_path, text, "ports")
        assert finding.severity is Severity.WARNING
    assert problems(tmp_path, text, "ports") == [], "nobody listens any more"
    path.unlink()
    path.write_text("mine")
    (finding,) = problems(tmp_path, text, "ports")
    assert finding.severity is Severity.ERROR
    assert path.read_text() == "mine"


REMOTE = '\n[[access.rules]]\neffect = "allow"\nactions = ["publish"]\nwho = ["remote"]\nnames = ["**"]\n'


def test_a_listener_for_others_that_lets_none_of_them_in_is_told(tmp_path: Path) -> None:
    """As the log of the bus would."""
    place = listen("fmqp:tcp:0:interface=0.0.0.0", "umq:tcp:0", "fmqp:tcp6:0:interface=")
    found = problems(tmp_path, place, "access")
    assert [finding.subject for finding in found] == ["fmqp:tcp:0:interface=0.0.0.0", "fmqp:tcp6:0:interface="]
    assert problems(tmp_path, place + REMOTE, "access") == []
