"""What may a listen string say of ZeroMQ sockets beside their ports, and which of ZeroMQ's own options follow from it?

Whatever is the same for all sockets is set in `fmqbus.transports.zeromq.sockets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path

import attrs
import zmq

from fmqbus.errors import ConfigError
from fmqbus.transports.zeromq.keys import read_key_pair
from fmqbus.transports.zeromq.zap import DOMAIN

_ASKED: Mapping[int, int | bytes] = {zmq.ZAP_DOMAIN: DOMAIN, zmq.ZAP_ENFORCE_DOMAIN: 1}

#: Longer intervals find nothing that TCP would not find.
_LONGEST_PING_SECONDS = 3600


@attrs.frozen
class Options:
    """The options of one place, checked and read."""

    interface: str
    #: Networks from which connections are accepted; all, if empty.
    allowed: tuple[str, ...]
    #: ZeroMQ's option → value. A secret key is among them.
    settings: Mapping[int, int | bytes] = attrs.field(repr=False)
    #: Everything is encrypted.
    is_curve: bool = False
    #: The folder with the keys of those who are let in; None lets any key in.
    clients: Path | None = None
    #: Only users are let in, by their passwords.
    is_login: bool = False


def read_options(
    interface: str = "127.0.0.1",
    allow: str = "",
    ping: str = "0",
    curve_key: str | None = None,
    curve_clients: str | None = None,
    login: str | None = None,
) -> Options:
    """Raises `ConfigError` for what cannot be meant, and for a key that cannot be read."""
    if "" in (curve_key, curve_clients, login):
        raise ConfigError("zmq: curveKey, curveClients and login cannot be empty")
    if curve_clients and not curve_key:
        raise ConfigError("zmq: curveClients needs curveKey")
    if login and curve_key:
        raise ConfigError("zmq: a socket has one mechanism, either curveKey or login")
    return Options(
        _address(interface),
        tuple(_network(text) for text in allow.split(",") if text),
        {
            zmq.IPV6: int(":" in interface),
            **_ping_settings(ping),
            **(_curve_settings(curve_key) if curve_key else {}),
            **(_login_settings(login) if login else {}),
        },
        is_curve=bool(curve_key),
        clients=Path(curve_clients) if curve_clients else None,
        is_login=bool(login),
    )


def _address(text: str) -> str:
    """Names are not looked up: that would keep the reactor waiting."""
    try:
        return str(ip_address(text))
    except ValueError as error:
        raise ConfigError(f"zmq: interface: {error}") from None


def _network(text: str) -> str:
    try:
        return str(ip_network(text))
    except ValueError as error:
        raise ConfigError(f"zmq: allow: {error}") from None


def _ping_settings(text: str) -> dict[int, int | bytes]:
    """ZMTP's own heartbeats: a peer that does not answer within two intervals is cut off."""
    if not text.isdecimal() or int(text) > _LONGEST_PING_SECONDS:
        raise ConfigError(f"zmq: ping cannot be {text!r}, it is in seconds, 0 to {_LONGEST_PING_SECONDS}")
    milliseconds = int(text) * 1000
    return {zmq.HEARTBEAT_IVL: milliseconds, zmq.HEARTBEAT_TIMEOUT: 2 * milliseconds}


def _curve_settings(path: str) -> dict[int, int | bytes]:
    """ZeroMQ has to ask for each handshake, and lets nobody in where there is no answer."""
    if not zmq.has("curve"):
        raise ConfigError("zmq: curveKey: this build of ZeroMQ has no CURVE")
    try:
        pair = read_key_pair(Path(path))
    except ConfigError as error:
        raise ConfigError(f"zmq: curveKey: {error}") from None
    return {zmq.CURVE_SERVER: 1, zmq.CURVE_SECRETKEY: pair.secret.encode(), **_ASKED}


def _login_settings(mechanism: str) -> dict[int, int | bytes]:
    if mechanism != "plain":
        raise ConfigError(f"zmq: login cannot be {mechanism!r}, it is plain")
    return {zmq.PLAIN_SERVER: 1, **_ASKED}
