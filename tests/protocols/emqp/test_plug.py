"""Where does eMQP listen, and what can be set?"""

from __future__ import annotations

from typing import Any

import pytest
from zope.interface.verify import verifyObject

from fmqbus.app.config import parse_config
from fmqbus.errors import ConfigError
from fmqbus.interfaces import IBusProtocol, IServiceTopic
from fmqbus.model import SocketKind
from fmqbus.protocols.emqp.plug import EMQP, DisconnectSignal
from fmqbus.protocols.emqp.protocol import SOCKETS
from fmqbus.protocols.emqp.settings import EMQPSettings, Submitted, Unknown, read_settings
from fmqbus.transports.zeromq.places import places_of
from fmqbus.transports.zeromq.plug import zmq


def places(*arguments: str, **options: str) -> list[tuple[str, int]]:
    """What a listen string opens: first names and ports."""
    carrier: Any = zmq.endpoint(None, arguments, options)
    return [(place.names[0], place.port) for place in places_of(SOCKETS, carrier._first_port, carrier._ports)]


def test_it_provides_the_interfaces() -> None:
    """As any protocol."""
    assert verifyObject(IBusProtocol, EMQP)
    assert verifyObject(IServiceTopic, DisconnectSignal())


def test_whoever_speaks_meets_a_router() -> None:
    """At EventMQ's ports; subscribers alone do not speak. (eMQP, ROUTER Addressing; reading 24)"""
    assert {plan.name: plan.default_port for plan in SOCKETS if plan.kind is SocketKind.ROUTER} == {
        "frontend": 47291,
        "backend": 47290,
        "admin": 47293,
        "pubin": 47298,
    }
    assert [(plan.name, plan.default_port) for plan in SOCKETS if plan.kind is not SocketKind.ROUTER] == [
        ("pubout", 47299)
    ]


def test_sockets_are_opened_as_the_listen_string_names_them() -> None:
    """All, some, or the clients' alone; equal ports are one socket. (eMQP, ROUTER Addressing; reading 24)"""
    assert [name for name, _ in places(interface="127.0.0.1")] == ["frontend", "backend", "admin", "pubin", "pubout"]
    assert places("5975") == [("frontend", 5975)]
    assert places(frontend="5000", pubout="5001") == [("frontend", 5000), ("pubout", 5001)]
    assert places(frontend="5000", backend="5000", admin="5001") == [("frontend", 5000), ("admin", 5001)]
    with pytest.raises(ConfigError):
        places(frontend="5000", pubout="5000")


def test_settings_are_read_from_the_configuration_file() -> None:
    """With the defaults of EventMQ where there are such. (reading 14)"""
    config = parse_config('[protocols.emqp]\nheartbeat = 1\nsubmitted = "ack"\nunknown-queue = "keep"\n', "bus.toml")
    settings = read_settings(config.protocols["emqp"])
    assert (settings.heartbeat, settings.submitted, settings.unknown_queue) == (1, Submitted.ACK, Unknown.KEEP)
    assert (settings.silence, settings.timeout) == (15.0, 300.0)
    assert read_settings({}) == EMQPSettings()


@pytest.mark.parametrize(
    "options",
    [
        {"heartbeats": 1},
        {"heartbeat": 0},
        {"silence": "long"},
        {"grace": -1},
        {"nudge": 1e12},
        {"guarantee": 0},
        {"submitted": "perhaps"},
        {"unknown-queue": "lose"},
        {"keep_results": 1},
    ],
)
def test_what_cannot_be_meant_is_refused(options: dict[str, object]) -> None:
    """Before anything listens."""
    with pytest.raises(ConfigError):
        EMQP.service_topics(options)
