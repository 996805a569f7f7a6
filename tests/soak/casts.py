"""Who can be in the troupe. A further protocol is a further line."""

from __future__ import annotations

from collections.abc import Mapping

from tests.soak.emqp import EMQP
from tests.soak.emqp_worker import EMQPWorker
from tests.soak.fmqp import FMQP
from tests.soak.micromsg2 import MicroMsg2
from tests.soak.mtl import MTL
from tests.soak.umq import UMQ
from tests.soak.words import Party

CASTS: Mapping[str, type[Party]] = {
    "fmqp": FMQP,
    "micromsg2": MicroMsg2,
    "umq": UMQ,
    "emqp": EMQP,
    "mtl": MTL,
    "emqp-worker": EMQPWorker,
}
