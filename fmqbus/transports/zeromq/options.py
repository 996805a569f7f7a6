"""What may a listen string say of ZeroMQ sockets beside their ports, and which of ZeroMQ's own options follow from it?

Whatever is the same for all sockets is set in `fmqbus.transports.zeromq.sockets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address, ip_network

import attrs
import zmq
from zmq.auth import load_certificate

from fmqbus.errors import ConfigError

#: Longer intervals find nothing that TCP would not find.
_LONGEST_PING_SECONDS = 3600


@attrs.frozen
class Options:
    """The options of one place, checked and read."""

    interface: str
    #: Networks from which connections are accepted; all, if empty.
    allowed: tuple[str, ...]
    #: ZeroMQ's option → value.
    settings: Mapping[int, int | bytes]


def read_options(interface: str, allow: str, ping: str, curve_key: str) -> Options:
    """Raises `ConfigError` for what cannot be meant, and for a key that cannot be read."""
    return Options(
        _address(interface),
        tuple(_network(text) for text in allow.split(",") if text),
        {
            zmq.IPV6: int(":" in interface),
            **_ping_settings(ping),
            **(_curve_settings(curve_key) if curve_key else {}),
        },
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
    """The file as `zmq.auth.create_certificates` writes it: ``NAME.key_secret``."""
    if not zmq.has("curve"):
        raise ConfigError("zmq: curveKey: this build of ZeroMQ has no CURVE")
    try:
        _, secret = load_certificate(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"zmq: curveKey: {error}") from error
    if secret is None:
        raise ConfigError(f"zmq: curveKey: {path} has no secret key")
    return {zmq.CURVE_SERVER: 1, zmq.CURVE_SECRETKEY: secret}
