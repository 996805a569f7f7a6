"""What does ``emqp://HOST[:PORT]`` mean to ZeroMQ?

``tcp://HOST:PORT`` means itself, as EventMQ writes addresses. Without a port an ``emqp`` address has EventMQ's default
for whoever connects: clients at one, workers at another.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from fmqbus.errors import LocalError

FRONTEND_PORT = 47291
BACKEND_PORT = 47290
DEFAULT_CLIENT_ADDRESS = f"emqp://127.0.0.1:{FRONTEND_PORT}"
DEFAULT_WORKER_ADDRESS = f"tcp://127.0.0.1:{BACKEND_PORT}"


def zeromq_address(text: str, default_port: int) -> str:
    """The address as ZeroMQ takes it. Raises `LocalError` for any other text."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise LocalError(f"{text!r}: {error}") from None
    if parts.scheme not in ("emqp", "tcp"):
        raise LocalError(f"{text!r}: emqp://HOST[:PORT] or tcp://HOST:PORT is expected")
    if not parts.hostname or parts.username is not None or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise LocalError(f"{text!r}: a host and a port are expected, and nothing else")
    if port is None and parts.scheme == "tcp":
        raise LocalError(f"{text!r}: no port")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"tcp://{host}:{default_port if port is None else port}"
