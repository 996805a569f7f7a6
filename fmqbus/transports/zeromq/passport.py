"""What does a client show to a ZeroMQ socket, to be let in? Twisted is not needed for it.

Keys and passwords are read from files or handed over by the program; an address that names them is safe to be seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import zmq

from fmqbus.errors import LocalError
from fmqbus.transports.zeromq.keys import KeyPair, read_key_pair, read_server_key

#: ZeroMQ has one octet for the length of either.
_MOST_OCTETS = 255


@attrs.frozen
class Passport:
    """To be given to a socket before it connects."""

    #: ZeroMQ's option → value.
    settings: Mapping[int, bytes] = attrs.field(factory=dict, repr=False)

    @property
    def is_private(self) -> bool:
        """Nobody but the server can read what is said."""
        return zmq.CURVE_SERVERKEY in self.settings

    def give(self, socket: Any) -> None:
        """The socket will show it."""
        for option, value in self.settings.items():
            socket.set(option, value)


#: Of one who proves nothing, in the clear.
NO_PASSPORT = Passport()


def curve(server_key: Path, own_key: Path | None = None) -> Passport:
    """Encrypt everything, be sure that the server has this key, and prove to have our own. The files are those of
    ``fmqbus keys``, or pyzmq's. Without a key of our own there is a new one: some servers let in any.

    Raises `ConfigError` for files that cannot be used.
    """
    own = KeyPair.new() if own_key is None else read_key_pair(own_key)
    return Passport(
        {
            zmq.CURVE_SERVERKEY: read_server_key(server_key).encode(),
            zmq.CURVE_PUBLICKEY: own.public.encode(),
            zmq.CURVE_SECRETKEY: own.secret.encode(),
        }
    )


def plain(user: str, password: str) -> Passport:
    """Show a name and a password, to whoever listens too. Raises `LocalError` for what cannot be said."""
    octets = [text.encode() for text in (user, password)]
    if not all(0 < len(each) <= _MOST_OCTETS and b"\0" not in each for each in octets):
        raise LocalError(f"a name and a password have 1 to {_MOST_OCTETS} octets each, and no NUL in them")
    return Passport({zmq.PLAIN_USERNAME: octets[0], zmq.PLAIN_PASSWORD: octets[1]})
