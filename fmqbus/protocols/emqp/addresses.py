"""What does ``emqp://HOST[:PORT]`` mean to ZeroMQ, and to those who let us in?

``tcp://HOST:PORT`` means itself, as EventMQ writes addresses. Without a port an ``emqp`` address has EventMQ's default
for whoever connects: clients at one, workers at another.

``emqp://HOST?server-key=FILE&key=FILE`` is for brokers with CURVE: the first file has the broker's public key, the
other our own pair, where the broker asks for one. ``emqp://USER@HOST`` is for brokers that ask for users' passwords; a
password never stands in an address.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import attrs

from fmqbus.errors import LocalError
from fmqbus.transports.zeromq import passport
from fmqbus.transports.zeromq.passport import NO_PASSPORT, Passport

FRONTEND_PORT = 47291
BACKEND_PORT = 47290
DEFAULT_CLIENT_ADDRESS = f"emqp://127.0.0.1:{FRONTEND_PORT}"
DEFAULT_WORKER_ADDRESS = f"tcp://127.0.0.1:{BACKEND_PORT}"

_SERVER_KEY, _KEY = "server-key", "key"

#: Of the environment, for commands: files, where the address says nothing.
SERVER_KEY_FILE, KEY_FILE, PASSWORD_FILE = "FMQBUS_SERVER_KEY_FILE", "FMQBUS_KEY_FILE", "FMQBUS_PASSWORD_FILE"


@attrs.frozen
class Destination:
    """Where a broker is, and what to show there. Nothing has been read yet."""

    #: As ZeroMQ takes it.
    address: str
    user: str = ""
    #: Files, or empty.
    server_key: str = ""
    key: str = ""

    def passport(self, environment: Mapping[str, str] | None = None) -> Passport:
        """Read the files. A library has no business with the environment; a command has. Raises `LocalError` for what
        cannot be used."""
        environment = environment or {}
        if self.user:
            return passport.plain(self.user, _password(environment.get(PASSWORD_FILE, "")))
        server_key = self.server_key or environment.get(SERVER_KEY_FILE, "")
        key = self.key if self.server_key else environment.get(KEY_FILE, "")
        if server_key:
            return passport.curve(Path(server_key), Path(key) if key else None)
        return NO_PASSPORT


def destination(text: str, default_port: int) -> Destination:
    """Read an address. Raises `LocalError` for what is none."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise LocalError(f"{text!r}: {error}") from None
    if parts.scheme not in ("emqp", "tcp"):
        raise LocalError(f"{text!r}: emqp://HOST[:PORT] or tcp://HOST:PORT is expected")
    if not parts.hostname or parts.password is not None or parts.path not in ("", "/") or parts.fragment:
        raise LocalError(f"{text!r}: a host and a port are expected, and nothing else")
    if parts.scheme == "tcp" and (port is None or parts.username is not None or parts.query):
        raise LocalError(f"{text!r}: tcp:// has a host and a port, and nothing else")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return Destination(
        f"tcp://{host}:{default_port if port is None else port}", unquote(parts.username or ""), *_keys(text, parts)
    )


def _keys(text: str, parts: SplitResult) -> tuple[str, str]:
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options = dict(pairs)
    if len(options) < len(pairs) or not options.keys() <= {_SERVER_KEY, _KEY} or not all(options.values()):
        raise LocalError(f"{text!r}: after ? stand {_SERVER_KEY}=FILE and {_KEY}=FILE, and nothing else")
    if options and (_SERVER_KEY not in options or parts.username is not None):
        raise LocalError(f"{text!r}: {_KEY} needs {_SERVER_KEY}, and neither goes with a user")
    return options.get(_SERVER_KEY, ""), options.get(_KEY, "")


def _password(file: str) -> str:
    if not file:
        raise LocalError(f"a user needs a password, in a file that {PASSWORD_FILE} names")
    try:
        return Path(file).read_bytes().split(b"\n", 1)[0].removesuffix(b"\r").decode()
    except (OSError, UnicodeDecodeError) as error:
        raise LocalError(f"{PASSWORD_FILE}: {error}") from None
