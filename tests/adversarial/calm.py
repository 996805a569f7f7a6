"""What does the witness feel of nothing at all? Every other row is to be read beside this one."""

from __future__ import annotations

from tests.adversarial.attack import Siege, attack, scale


@attack(
    "nobody attacks",
    full=scale(memory_mib=4, seconds=5),
    smoke=scale(memory_mib=4, seconds=1),
)
def calm(siege: Siege, seconds: int) -> str:
    """The witness alone, watched through the broker's own count of time."""
    observer = siege.client()
    begin = observer.number(b"$/info/uptime", lambda number: True)
    observer.number(b"$/info/uptime", lambda number: number >= begin + seconds)
    return "nothing to do"
