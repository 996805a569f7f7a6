"""How does a program run for one call? With a bound on its time and on what it writes, and killed when nobody waits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessDone, ProcessExitedAlready
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

from fmqbus.errors import CallFailed

_STDOUT, _STDERR = 1, 2
#: Of what it complains, the end.
_COMPLAINT_OCTETS = 1_000


class _Run(ProcessProtocol):
    """One run: `ended` fires with the output."""

    def __init__(self, said: bytes, most_octets: int) -> None:
        #: Fails with `CallFailed`: the exit code, and what the program has complained of.
        self.ended: Deferred[bytes] = Deferred(lambda _: self._kill())
        self._said = said
        self._most_octets = most_octets
        self._output = bytearray()
        self._complaint = b""
        self._failure: CallFailed | None = None

    def stop(self, why: CallFailed) -> None:
        """Kill it; this is what it failed with."""
        self._failure = self._failure or why
        self._kill()

    def connectionMade(self) -> None:
        self.transport.write(self._said)  # type: ignore[union-attr]
        self.transport.closeStdin()  # type: ignore[union-attr]

    def childDataReceived(self, childFD: int, data: bytes) -> None:
        if childFD == _STDERR:
            self._complaint = (self._complaint + data)[-_COMPLAINT_OCTETS:]
        elif len(self._output) + len(data) <= self._most_octets:
            self._output += data
        else:
            self.stop(CallFailed(f"an answer of more than {self._most_octets} octets"))

    def processEnded(self, reason: Failure) -> None:
        if self.ended.called:
            return
        if self._failure is not None:
            self.ended.errback(self._failure)
        elif reason.check(ProcessDone):
            self.ended.callback(bytes(self._output))
        else:
            code = reason.value.exitCode or 0  # type: ignore[union-attr]
            complaint = self._complaint.decode("utf-8", "replace").strip()
            self.ended.errback(CallFailed(complaint or "the program has failed", code))

    def _kill(self) -> None:
        with suppress(ProcessExitedAlready):
            self.transport.signalProcess("KILL")  # type: ignore[union-attr]


async def output_of(reactor: Any, program: Sequence[str], said: bytes, seconds: float, most_octets: int) -> bytes:
    """Run a program with this on its standard input, and return what it writes to its standard output.

    Raises `CallFailed` with its exit code and the end of what is on its standard error; or, with code 0, if a signal
    has ended it, if it takes longer, or writes more. Cancelling this kills it.
    """
    run = _Run(said, most_octets)
    reactor.spawnProcess(run, program[0], program, env=os.environ)
    late = reactor.callLater(seconds, run.stop, CallFailed(f"the program took longer than {seconds:g} s"))
    try:
        return await run.ended
    finally:
        if late.active():
            late.cancel()
