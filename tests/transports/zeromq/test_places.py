"""Which sockets does a listen string open, and what does it refuse?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import zmq
from twisted.internet.protocol import Factory
from zmq.auth import create_certificates
from zope.interface.verify import verifyObject

from fmqbus.errors import ConfigError
from fmqbus.interfaces import ICarrier, ITransport
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.model import SocketKind, SocketPlan
from fmqbus.transports.carriers import carrier_for, tcp
from fmqbus.transports.listen_string import parse_listen_string
from fmqbus.transports.listener import Listener
from fmqbus.transports.zeromq.options import read_options
from fmqbus.transports.zeromq.places import Place, places_of
from fmqbus.transports.zeromq.plug import zmq as zmq_transport
from tests.transports.memory import QuietProtocol
from tests.transports.zeromq.live import Recorders

PLANS = (
    SocketPlan("frontend", SocketKind.ROUTER, 47291),
    SocketPlan("backend", SocketKind.ROUTER, 47290),
    SocketPlan("pubout", SocketKind.XPUB, 47299),
)
FRONTEND, BACKEND, PUBOUT = (Place((plan.name,), plan.kind, plan.default_port) for plan in PLANS)


def test_without_any_name_all_are_opened_at_their_own_ports() -> None:
    """An interface alone says nothing about which."""
    assert places_of(PLANS, None, {}) == (FRONTEND, BACKEND, PUBOUT)


def test_with_a_name_only_what_is_named_is_opened() -> None:
    """In the order of the plan, so that the first is always the first."""
    assert places_of(PLANS, None, {"pubout": 47299, "backend": 47290}) == (BACKEND, PUBOUT)


def test_a_port_alone_is_that_of_the_first() -> None:
    """For protocols that have one socket, or few besides."""
    assert places_of(PLANS, 47291, {}) == (FRONTEND,)
    assert places_of(PLANS, 47291, {"pubout": 47299}) == (FRONTEND, PUBOUT)


def test_names_with_one_port_share_one_socket() -> None:
    """Peers are told apart by what they say; any free port is not the same twice."""
    shared = Place(("frontend", "backend"), SocketKind.ROUTER, 5)
    assert places_of(PLANS, None, {"frontend": 5, "backend": 5}) == (shared,)
    assert len(places_of(PLANS, 0, {"backend": 0})) == 2


@pytest.mark.parametrize(
    ("first", "ports", "complaint"),
    [
        (None, {"fronted": 1}, "no socket 'fronted'; there are frontend, backend, pubout"),
        (1, {"frontend": 2}, "given twice"),
        (None, {"frontend": 1, "pubout": 1}, "different kinds"),
    ],
)
def test_what_cannot_be_meant_is_refused(first: int | None, ports: dict[str, int], complaint: str) -> None:
    """With the names that there are."""
    with pytest.raises(ConfigError, match=complaint):
        places_of(PLANS, first, ports)


@pytest.mark.parametrize(
    "text",
    [
        "quiet:zmq:1:2",
        "quiet:zmq:x",
        "quiet:zmq:65536",
        "quiet:zmq:frontend=-1",
        "quiet:zmq:interface=localhost",
        "quiet:zmq:interface=",
        "quiet:zmq:allow=10.0.0.0/33",
        "quiet:zmq:ping=x",
        "quiet:zmq:ping=3601",
        "quiet:zmq:curveKey=/nowhere/server.key_secret",
        "quiet:zmq:curveKey=",
        "quiet:zmq:curveClients=/nowhere",
        "quiet:zmq:login=scram",
        "quiet:zmq:login=",
        "quiet:zmq:login=plain:curveKey=/nowhere/server.key_secret",
    ],
)
def test_what_the_transport_does_not_take_is_refused(text: str) -> None:
    """The listen string is in the complaint."""
    with pytest.raises(ConfigError, match="zmq"):
        carrier_for(None, parse_listen_string(text), [zmq_transport])


def test_pyzmq_s_keys_serve_if_nobody_else_can_read_them(tmp_path: Path) -> None:
    """A public key is none for a server: it would listen in the clear."""
    public, secret = (Path(path) for path in create_certificates(tmp_path, "server"))
    for path in (public, secret):
        path.chmod(0o644)
    with pytest.raises(ConfigError, match="its mode is 0644"):
        read_options(curve_key=str(secret))
    for path in (public, secret):
        path.chmod(0o600)
    with pytest.raises(ConfigError, match="no secret key"):
        read_options(curve_key=str(public))
    settings = read_options(curve_key=str(secret)).settings
    assert settings[zmq.CURVE_SERVER] == settings[zmq.ZAP_ENFORCE_DOMAIN] == 1
    assert str(settings[zmq.CURVE_SECRETKEY]) not in repr(read_options(curve_key=str(secret)))


def test_it_provides_the_interfaces() -> None:
    """As any transport and any carrier."""
    assert verifyObject(ITransport, zmq_transport)
    assert verifyObject(ICarrier, carrier_for(None, parse_listen_string("quiet:zmq:0"), [zmq_transport]))
    assert len(zmq_transport.summary.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "factory"), [("quiet:zmq:0", Factory()), ("quiet:tcp:0", Recorders()), ("quiet:zmq:x=0", Recorders())]
)
def test_a_protocol_is_carried_by_what_it_is_made_for(text: str, factory: object) -> None:
    """That is found out before anything listens, so that a check of the configuration finds it too."""
    carrier = carrier_for(None, parse_listen_string(text), [zmq_transport, tcp])
    with pytest.raises(ConfigError, match=f"listen string '{text}'"):
        Listener(None, QuietProtocol(factory), carrier, None, DEFAULT_LIMITS, {}, text, lambda _: ())  # type: ignore[arg-type]


def test_to_read_listen_strings_chooses_no_reactor() -> None:
    """txZMQ would, when it is imported."""
    program = (
        "import sys\n"
        "from fmqbus.transports.zeromq.plug import zmq\n"
        "zmq.endpoint(None, ['0'], {})\n"
        "assert 'twisted.internet.reactor' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
