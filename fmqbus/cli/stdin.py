"""How do the lines of standard input reach a coroutine, no faster than it takes them?

Twisted's `StandardIO` would make standard output non-blocking along the way, and with it the terminal that progress is
drawn on; this reads one descriptor and leaves the others alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator
from typing import Any

from twisted.internet import fdesc
from twisted.internet.abstract import FileDescriptor
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from fmqbus.cli.exits import CommandFailed


class LineReader(FileDescriptor):
    """Reads a descriptor while somebody waits for a line."""

    def __init__(self, reactor: Any, descriptor: int, max_octets: int) -> None:
        super().__init__(reactor)
        self._descriptor = descriptor
        self._max_octets = max_octets
        self._lines: deque[bytes] = deque()
        self._begun = b""
        self._arrived: Deferred[None] | None = None
        self._is_at_end = False

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Yield each line without its line feed; a last one may lack it. Raises `CommandFailed` for one too long."""
        try:
            while self._lines or not self._is_at_end:
                if self._lines:
                    yield self._lines.popleft()
                else:
                    self._arrived = Deferred()
                    self.startReading()
                    await self._arrived
        finally:
            self.stopReading()

    def fileno(self) -> int:
        return self._descriptor

    def doRead(self) -> Any:
        return fdesc.readFromFD(self._descriptor, self._received)

    def connectionLost(self, reason: Failure) -> None:
        super().connectionLost(reason)
        self._is_at_end = True
        if self._begun:
            self._lines.append(self._begun)
        self._wake()

    def _received(self, data: bytes) -> None:
        *whole, self._begun = (self._begun + data).split(b"\n")
        self._lines.extend(whole)
        if len(self._begun) > self._max_octets:
            self._wake(CommandFailed(f"a line of more than {self._max_octets} octets"))
        elif whole:
            self._wake()

    def _wake(self, error: Exception | None = None) -> None:
        self.stopReading()
        waiting, self._arrived = self._arrived, None
        if waiting is not None and not waiting.called:
            waiting.callback(None) if error is None else waiting.errback(error)
