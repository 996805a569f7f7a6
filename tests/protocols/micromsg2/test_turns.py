"""What a read brought is acted on in steps, so that nobody has to wait for somebody else's large read."""

from __future__ import annotations

import pytest
from twisted.internet.testing import StringTransport

from fmqbus.protocols.micromsg2.extensions.built_in import BUILT_IN
from fmqbus.protocols.micromsg2.negotiation import Offer
from fmqbus.protocols.micromsg2.protocol import MicroMsg2Protocol
from fmqbus.testing.bus import MemoryClient, make_router
from fmqbus.testing.links import MemoryListener
from tests.protocols.fmqp.test_turns import SlowClock
from tests.protocols.micromsg2.written import CONTINUED, command, extension, handshake, message

MANY = 1_000


@pytest.mark.parametrize("extensions", [b"pubsub", b"pubsub;dotnet"])
@pytest.mark.parametrize(
    ("said", "queue"),
    [
        (b"".join(message(number, b"q", b"x") for number in range(1, MANY)), b"q"),
        (b"".join(command(b"subscribe;topic=%d" % number) for number in range(MANY)), None),
        (b"".join(message(number, b"topic/a/%d" % number, b"x") for number in range(1, MANY)), None),
        (b"".join(message(number, b"topic/t", b"x", b"retain:1") for number in range(1, MANY)), None),
        (MANY * extension(9, b""), None),
        (MANY * message(1, b"q", b"", flags=CONTINUED), None),
    ],
)
def test_a_large_read_lets_others_in_between(extensions: bytes, said: bytes, queue: bytes | None) -> None:
    """Whatever it asks for; and all of it is acted on in the end, in order."""
    clock = SlowClock()
    router = make_router(clock)
    for _ in range(2):
        MemoryClient(router).subscribe(b"a/*")
    client = MicroMsg2Protocol(router, MemoryListener(clock), Offer(identity=b"", extensions=BUILT_IN), b"default")
    client.makeConnection(StringTransport())
    client.dataReceived(2 * handshake(extensions))
    client.dataReceived(said)
    assert client.is_kept_waiting
    other = MemoryClient(router)
    other.publish(b"a/other", b"at once")
    for _ in range(5 * MANY):
        if not client.is_kept_waiting:
            break
        clock.advance(1.0)
    assert not client.is_kept_waiting
    if queue is not None:
        assert router.peek(queue, MANY)[-1].message.payload == b"x"
        assert len(router.peek(queue, MANY)) == MANY - 1
    subscriptions = router.subscriptions
    client.dataReceived(command(b"subscribe;topic=last"))
    assert router.subscriptions == subscriptions + 1
