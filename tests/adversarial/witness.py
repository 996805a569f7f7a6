"""A pair of well-behaved clients that ask and answer while others attack: how long does a round trip take?

A process of its own, so that an attacker's work is not measured with it. Questions are due at fixed times; one that is
late because the answer before it was late counts from when it was due, so a stall is felt by all that it held up.
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
_ASK, _REPLY = encode(0, _QUESTION, b"?"), encode(0, _ANSWER, b"!")


class Clock:
    """Stands still while the witness or the broker could run and the machine does not let them: what other programs
    take is not the broker's doing. Where the kernel does not count that, a clock like any other."""

    def __init__(self, broker: int) -> None:
        self._accounts = [path for pid in (os.getpid(), broker) if (path := Path(f"/proc/{pid}/schedstat")).exists()]

    def now(self) -> float:
        """Seconds since some moment."""
        kept_waiting = sum(int(account.read_text().split()[1]) for account in self._accounts)
        return time.perf_counter() - kept_waiting / 1e9


def _expect(connection: socket.socket, packet: bytes) -> None:
    got = connection.recv(len(packet), socket.MSG_WAITALL)
    if got != packet:
        raise ConnectionError(f"instead of what was due came {got!r}")


def _pair(port: int) -> tuple[socket.socket, socket.socket]:
    """Two connected clients, either of which is known to be subscribed."""
    asking, answering = (socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) for _ in range(2))
    for connection, topic, packet in ((asking, _ANSWER, _REPLY), (answering, _QUESTION, _ASK)):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(encode(SUBSCRIPTION, topic) + packet)
        _expect(connection, packet)
    return asking, answering


def watch(port: int, clock: Clock) -> tuple[list[float], str]:
    """Ask until the input ends; returns all times and, if the broker failed us, how."""
    times: list[float] = []
    try:
        asking, answering = _pair(port)
        print("ready", flush=True)
        due = answered = clock.now()
        while True:
            due += EVERY_SECONDS
            told, _, _ = select.select([sys.stdin], [], [], max(0.0, due - clock.now()))
            if told:
                if not sys.stdin.readline():
                    return times, ""
                times.clear()
                print("anew", flush=True)
                due = answered = clock.now()
                continue
            begun = due if answered > due else clock.now()
            asking.sendall(_ASK)
            _expect(answering, _ASK)
            answering.sendall(_REPLY)
            _expect(asking, _REPLY)
            answered = clock.now()
            times.append((answered - begun) * 1000)
    except OSError as error:
        return times, f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    measured, failure = watch(int(sys.argv[1]), Clock(int(sys.argv[2])))
    print(json.dumps({"times": measured, "failure": failure}), flush=True)
