"""Publishers that go on whatever becomes of the bus: orders, and readings in runs and shuffled."""

from __future__ import annotations

import socket
import threading
from random import Random

from fmqbus.protocols.fmqp.codec import encode
from tests.pipeline.kills.copying import ORDERS

#: How long it waits after each portion, which has some 50 messages, and for a bus that is gone.
_PAUSE_SECONDS = 0.2
_AGAIN_SECONDS = 0.05
_TOPICS = 20


class Load:
    """A thread that publishes until it is told to end. A context manager."""

    def __init__(self, port: int, seed: int) -> None:
        self.sent = 0
        self._port = port
        self._dice = Random(seed)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._publish, daemon=True)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _publish(self) -> None:
        while not self._is_over.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self._port)) as connection:
                    while not self._is_over.wait(_PAUSE_SECONDS):
                        connection.sendall(self._portion())
            except OSError:
                # it has been killed
                self._is_over.wait(_AGAIN_SECONDS)

    def _portion(self) -> bytes:
        dice = self._dice
        topics = [ORDERS.encode()] * dice.randint(0, 5)
        topics += [b"readings/%d" % dice.randrange(_TOPICS)] * dice.randint(1, 50)
        topics += [b"readings/%d" % dice.randrange(_TOPICS) for _ in range(dice.randint(1, 50))]
        packets = []
        for topic in topics:
            self.sent += 1
            packets.append(encode(0, topic, (b"%d:" % self.sent).ljust(dice.choice((12, 12, 12, 200)), b".")))
        return b"".join(packets)
