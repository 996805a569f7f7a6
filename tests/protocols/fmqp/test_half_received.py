"""Who is cut off when half-received packets together pass their limit?"""

from __future__ import annotations

from fmqbus.protocols.fmqp.codec import encode
from tests.protocols.fmqp.memory_bus import MemoryBus

KIB = 1024
#: What comes of a packet that never ends.
PIECE = encode(0, b"big", bytes(100 * KIB))[: 40 * KIB]


def test_what_a_cut_off_client_held_is_free_in_the_same_turn() -> None:
    """Others must not be cut off for octets that nobody holds any more."""
    bus = MemoryBus("[limits]\nassembly_octets = 102400\n")
    first, second = bus.connect(PIECE), bus.connect(PIECE)
    first.say(bytes(40 * KIB))
    assert first.held == 0
    second.say(bytes(20 * KIB))
    bus.wait()
    assert not first.is_connected
    assert second.is_connected
