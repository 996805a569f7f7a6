"""A client of a real broker: a blocking socket that says and hears FMQP packets, with a time limit for each step."""

from __future__ import annotations

import socket
import struct
from types import TracebackType

from tests.protocols.fmqp.packets import DEBUG, publication, subscribe, unsubscribe

#: So deep that no pattern in a test is equivalent to it.
_ECHO = b"the/broker/has/taken/in/all/that/was/said"


class Client:
    """One connection; a context manager that closes it."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._stream = connection.makefile("rb")

    def say(self, *packets: bytes) -> None:
        """Send packets, or whatever octets."""
        self.socket.sendall(b"".join(packets))

    def hear(self) -> bytes:
        """The next packet, with its very octets; empty if the broker has closed the connection."""
        head = self._stream.read(6)
        if not head:
            return b""
        rest = self._stream.read(head[1] + int.from_bytes(head[2:], "big"))
        return head + rest

    def heard(self) -> list[bytes]:
        """All that has come up to now. The broker has then acted on what this client said: an echo comes behind it."""
        echo = publication(_ECHO, b"?")
        self.say(subscribe(_ECHO, DEBUG), echo, unsubscribe(_ECHO))
        packets = []
        while (packet := self.hear()) != echo:
            assert packet, f"the broker closed the connection after {packets!r}"
            packets.append(packet)
        return packets

    def heard_to_the_end(self) -> list[bytes]:
        """All that still comes until the broker closes the connection."""
        return list(iter(self.hear, b""))

    def end_sending(self) -> None:
        """Say that nothing more will be sent."""
        self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Go in good order."""
        self._stream.close()
        self.socket.close()

    def reset(self) -> None:
        """Go without a word: the broker sees its connection reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
