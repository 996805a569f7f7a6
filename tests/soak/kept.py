"""What does each protocol tell a newcomer to be kept?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing

from tests.crossing.fmqp import FMQP
from tests.crossing.micromsg2 import MicroMsg2
from tests.crossing.mtl import MTL
from tests.crossing.speakers import Speaker
from tests.crossing.umq import UMQ
from tests.live.broker import Broker
from tests.soak.mail import Sender, read_remark

#: eMQP's subscribers are one client of the bus, which is told only when the first of them wishes.
_SPEAKERS: Sequence[type[Speaker]] = (FMQP, MicroMsg2, UMQ, MTL)


def kept_values(broker: Broker, below: str) -> Mapping[str, Sequence[tuple[Sender, int]]]:
    """Topic → what is kept there, as each protocol says it."""
    found: dict[str, list[tuple[Sender, int]]] = defaultdict(list)
    for kind in _SPEAKERS:
        with closing(kind.join(broker)) as speaker:
            speaker.subscribe(f"{below}/*".encode())
            for heard in speaker.heard():
                found[heard.topic.decode()].append(tuple(read_remark(heard.payload)))  # type: ignore[arg-type]
    return found
