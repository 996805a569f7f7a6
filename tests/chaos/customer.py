"""Who hands in the jobs: one socket, which outlives all brokers, and a bounded number of jobs that have not ended."""

from __future__ import annotations

import time
from collections.abc import Iterator

import zmq

from fmqbus.protocols.emqp.codec import VERSION
from tests.chaos.ledger import Ledger
from tests.live.emqp_peers import body_of

HEADERS = b"reply-requested,guarantee,retry-count:2"
_MOST_OPEN = 200
#: A broker that lives has acknowledged by then.
_PATIENCE_SECONDS = 5.0
_POLL_MILLISECONDS = 50


class Customer:
    """Hands in jobs from 0 on, and hears how they end."""

    def __init__(self, socket: zmq.Socket[bytes], queue: bytes, jobs: int, ledger: Ledger) -> None:
        self._socket = socket
        self._queue = queue
        self._ledger = ledger
        self._coming = iter(range(jobs))
        #: Handed in and not ended → when it was handed in last.
        self._open: dict[int, float] = {}
        self.heard_at = time.monotonic()

    def go_on(self) -> bool:
        """Hand in what there is room for, and hear what there is to hear. False when all have ended."""
        for number in self._next():
            self._hand_in(number)
        while self._socket.poll(_POLL_MILLISECONDS):
            while self._socket.poll(0):
                self._hear(self._socket.recv_multipart())
            if self._has_room:
                break
        self._press()
        return bool(self._open)

    def ask_again(self) -> None:
        """Nothing more will come of those that are open: the broker that knew their ends is no more."""
        self._ledger.unheard += len(self._open)
        for number in list(self._open):
            self._hand_in(number)

    @property
    def open(self) -> int:
        """How many have been handed in and not ended."""
        return len(self._open)

    @property
    def _has_room(self) -> bool:
        return len(self._open) < _MOST_OPEN

    def _next(self) -> Iterator[int]:
        while self._has_room and (number := next(self._coming, None)) is not None:
            yield number

    def _hand_in(self, number: int) -> None:
        self._ledger.handed_in.add(number)
        self._open[number] = time.monotonic()
        body = body_of("work", number, path="tests.chaos.jobs")
        self._socket.send_multipart([b"", VERSION, b"REQUEST", b"%d" % number, self._queue, HEADERS, body])

    def _press(self) -> None:
        now = time.monotonic()
        for number, since in list(self._open.items()):
            if number not in self._ledger.acknowledged and now - since > _PATIENCE_SECONDS:
                self._ledger.again += 1
                self._hand_in(number)

    def _hear(self, parts: list[bytes]) -> None:
        _, _, word, _, body, *about = parts
        self.heard_at = time.monotonic()
        if word == b"ACK":
            self._ledger.acknowledged.add(int(body))
        elif word == b"REPLY":
            number = int(about[0])
            self._ledger.end(number, body)
            self._open.pop(number, None)
