"""A pair of well-behaved clients that ask and answer while others attack: how long does a round trip take?

A process of its own, so that an attacker's work is not measured with it. Questions go out at fixed times, whether or
not those before have been answered, so that a stall is felt by all that it holds up and not by one alone.
``python -m tests.adversarial.witness PORT PID`` says ``ready``, starts anew at each line, and at the end of its input
prints what it measured, in milliseconds. PID is the broker's, see `Clock`.
"""

from __future__ import annotations

import json
import os
import select
import socket
import sys
import time
from pathlib import Path

from fmqbus.protocols.fmqp.codec import SUBSCRIPTION, encode
from tests.live.broker import PATIENCE_SECONDS

EVERY_SECONDS = 0.005

# so deep that no attack's wildcards reach them
_QUESTION = b"witness/of/what/all/the/others/may/feel/question"
_ANSWER = b"witness/of/what/all/the/others/may/feel/answer"
_NUMBER_OCTETS = 8

Moment = tuple[float, list[float]]


class Clock:
    """Measures without what is not the broker's doing: the time for which the witness or the broker could have run and
    the machine, busy with other programs, did not let them. Where the kernel does not count that, all time."""

    def __init__(self, broker: int) -> None:
        self._accounts = [path for pid in (os.getpid(), broker) if (path := Path(f"/proc/{pid}/schedstat")).exists()]

    def now(self) -> Moment:
        """The time, and how long each has been kept waiting so far."""
        return time.perf_counter(), [int(account.read_text().split()[1]) / 1e9 for account in self._accounts]

    def since(self, begin: Moment) -> float:
        """Milliseconds since then. Both may have waited at once, so only the longer wait is left out."""
        now, kept_waiting = self.now()
        waits = (later - earlier for earlier, later in zip(begin[1], kept_waiting, strict=True))
        return (now - begin[0] - max(waits, default=0.0)) * 1000


class _Subscriber:
    """One of the pair: hears a topic, on which come numbers."""

    def __init__(self, port: int, topic: bytes) -> None:
        self._head = encode(0, topic, bytes(_NUMBER_OCTETS))[:-_NUMBER_OCTETS]
        self._received = bytearray()
        self.connection = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # its own first message shows that it is subscribed
        self.connection.sendall(encode(SUBSCRIPTION, topic) + encode(0, topic, bytes(_NUMBER_OCTETS)))
        while not self.heard():
            pass

    def heard(self) -> list[bytes]:
        """Read once; returns the numbers of the packets that are now whole."""
        data = self.connection.recv(1 << 16)
        if not data:
            raise ConnectionError("the broker has closed the connection")
        self._received += data
        size = len(self._head) + _NUMBER_OCTETS
        whole = len(self._received) // size * size
        packets, self._received = bytes(self._received[:whole]), self._received[whole:]
        if any(not packets.startswith(self._head, at) for at in range(0, whole, size)):
            raise ConnectionError(f"the broker sent what is not for us: {packets!r}")
        return [packets[at + len(self._head) : at + size] for at in range(0, whole, size)]


def watch(port: int, clock: Clock) -> tuple[list[float], str]:
    """Ask until the input ends; returns all times and, if the broker failed us, how."""
    times: list[float] = []
    pending: dict[bytes, Moment] = {}
    asked = 0
    is_over = False
    try:
        answering, asking = _Subscriber(port, _QUESTION), _Subscriber(port, _ANSWER)
        print("ready", flush=True)
        due = time.perf_counter()
        while pending or not is_over:
            inputs = [asking.connection, answering.connection] + ([] if is_over else [sys.stdin])
            wait = PATIENCE_SECONDS if is_over else max(0.0, due - time.perf_counter())
            ready, _, _ = select.select(inputs, [], [], wait)
            if answering.connection in ready:
                for number in answering.heard():
                    answering.connection.sendall(encode(0, _ANSWER, number))
            if asking.connection in ready:
                times.extend(clock.since(pending.pop(number)) for number in asking.heard() if number in pending)
            if sys.stdin in ready:
                is_over = not sys.stdin.readline()
                if not is_over:
                    times.clear()
                    pending.clear()
                    print("anew", flush=True)
            if is_over and not ready:
                raise TimeoutError(f"no answer to {len(pending)} questions")
            if not is_over and time.perf_counter() >= due:
                asked += 1
                number = asked.to_bytes(_NUMBER_OCTETS, "big")
                pending[number] = clock.now()
                asking.connection.sendall(encode(0, _QUESTION, number))
                due = max(due + EVERY_SECONDS, time.perf_counter())
    except OSError as error:
        return times, f"{type(error).__name__}: {error}"
    return times, ""


if __name__ == "__main__":
    measured, failure = watch(int(sys.argv[1]), Clock(int(sys.argv[2])))
    print(json.dumps({"times": measured, "failure": failure}), flush=True)
