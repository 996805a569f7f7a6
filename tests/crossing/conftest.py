"""One bus with listeners of all protocols; and for each test, those who speak and those who listen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import product
from typing import TypeVar

import pytest

from tests.crossing.emqp import EMQP
from tests.crossing.fmqp import FMQP
from tests.crossing.micromsg2 import MicroMsg2
from tests.crossing.mtl import MTL
from tests.crossing.speakers import Speaker
from tests.crossing.umq import UMQ
from tests.live.broker import Broker

PROTOCOLS: list[type[Speaker]] = [FMQP, MicroMsg2, UMQ, EMQP, MTL]
#: From whom to whom; beside what crosses is what stays within a protocol.
CELLS = [pytest.param(pair, id="-to-".join(kind.protocol for kind in pair)) for pair in product(PROTOCOLS, repeat=2)]

_Kind = TypeVar("_Kind", bound=Speaker)
Join = Callable[[type[_Kind]], _Kind]


@pytest.fixture(scope="package")
def broker() -> Iterator[Broker]:
    """For all tests; each has topics of its own."""
    listens = [kind.listens or f"{kind.protocol}:tcp:0" for kind in PROTOCOLS]
    with Broker(*(word for place in listens for word in ("--listen", place))) as broker:
        yield broker


@pytest.fixture
def join(broker: Broker) -> Iterator[Join]:
    """Connects a client of a protocol, which leaves after the test if it has not before."""
    with ExitStack() as opened:

        def connect(kind: type[_Kind]) -> _Kind:
            return opened.enter_context(closing(kind.join(broker)))

        yield connect


@pytest.fixture(params=CELLS)
def pair(request: pytest.FixtureRequest, join: Join) -> tuple[Speaker, Speaker]:
    """One who speaks and one who listens, in any two protocols."""
    speaks, listens = request.param
    return join(speaks), join(listens)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> bytes:
    """A topic of this test's own, of one level."""
    return request.node.name.encode()
