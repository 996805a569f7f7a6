"""Who sends and who consumes while a broker is killed: two MicroMsg2 clients, with acknowledgements both ways.

Neither sends anything twice: what comes twice, the broker has repeated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from random import Random

from fmqbus.protocols.micromsg2.events import Acknowledged
from fmqbus.protocols.micromsg2.frames import FRAME_PAYLOAD_OCTETS, Received
from fmqbus.protocols.micromsg2.properties import REDELIVERED, to_bus
from tests.crash.ledger import Ledger, Mail
from tests.live.broker import Broker
from tests.live.micromsg2_client import Client

QUEUES: Sequence[bytes] = (b"queue/orders", b"queue/letters", b"queue/jobs")
#: Durable, and nobody consumes it: what is acknowledged here is on the disk.
_FENCE = b"queue/fence"
#: So many messages at most wait for the consumer: a longer queue would only make each start slower.
_MOST_OPEN = 2_000
#: One in so many takes more than one frame.
_LARGE_EVERY = 499


def payload_of(mail: Mail) -> bytes:
    """Says who it is, and has a size of its own."""
    octets = FRAME_PAYLOAD_OCTETS if mail.number % _LARGE_EVERY == 1 else mail.number * 7919 % 600
    return b"%d %b" % (mail.number, b"." * octets)


class _Party:
    """What both are."""

    def __init__(self, broker: Broker, ledger: Ledger, random: Random) -> None:
        self._ledger = ledger
        self._random = random
        window = random.choice((1, 2, 10, 50, 300))
        self._client = Client(broker.connect(), f"batch-ack:max-count={window};pubsub")

    def fileno(self) -> int:
        """For `select`."""
        return self._client.socket.fileno()

    def close(self) -> None:
        """Go."""
        self._client.close()


class Producer(_Party):
    """Sends to all queues, as fast as it may."""

    def go_on(self) -> None:
        """Send until the window is full."""
        while not self._client.conversation.is_waiting and len(self._ledger.open) < _MOST_OPEN:
            for _ in range(self._random.randint(1, 20)):
                self.send(self._random.choice(QUEUES))

    def send(self, queue: bytes) -> Mail:
        """Send the next message of this queue."""
        mail = self._ledger.send(queue)
        self._client.send(queue, payload_of(mail), tag=mail)
        return mail

    def hear(self) -> bool:
        """Read once; False if the broker has gone."""
        told = self._client.read()
        for event in told or ():
            if isinstance(event, Acknowledged):
                self._ledger.acknowledge(event.tags)
        return told is not None


class Consumer(_Party):
    """Consumes all queues; accepts sooner or later, and some messages together."""

    def __init__(self, broker: Broker, ledger: Ledger, random: Random) -> None:
        super().__init__(broker, ledger, random)
        #: Taken and not accepted; accepted, and no fence sent behind it.
        self._held: deque[tuple[int, Mail]] = deque()
        self._unfenced: list[Mail] = []
        for queue in QUEUES:
            self._client.subscribe(queue)

    def hear(self) -> bool:
        """Read once; False if the broker has gone."""
        told = self._client.read()
        for event in told or ():
            if isinstance(event, Received):
                self._take(event)
            elif isinstance(event, Acknowledged):
                for mails in event.tags:
                    self._ledger.settle(mails)
        self._fence()
        return told is not None

    def go_on(self) -> None:
        """Accept some of what is held."""
        if self._held and self._random.random() < 0.5:
            self.accept(self._random.randint(1, len(self._held)))

    def accept_all(self) -> None:
        """Hold nothing."""
        if self._held:
            self.accept(len(self._held))

    def accept(self, count: int) -> None:
        """Accept so many, the oldest first."""
        done = [self._held.popleft() for _ in range(count)]
        mails = [mail for _, mail in done]
        self._ledger.accept(mails)
        self._unfenced += mails
        self._client.accept(done[-1][0])
        self._fence()

    def _fence(self) -> None:
        """Have the broker say when what was accepted is on its disk."""
        if self._unfenced and not self._client.conversation.is_waiting:
            mails, self._unfenced = self._unfenced, []
            self._client.send(_FENCE, b"", tag=mails)

    def _take(self, message: Received) -> None:
        mail = Mail(message.destination, int(message.payload.partition(b" ")[0]))
        assert message.payload == payload_of(mail), f"{mail} came changed"
        self._ledger.take(mail, REDELIVERED in to_bus(message.properties))
        self._held.append((message.number, mail))
