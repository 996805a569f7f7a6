"""By what is each error answered?"""

from __future__ import annotations

import pytest

from fmqbus import errors
from fmqbus.errors import BusError, InvalidName, PeerError
from fmqbus.protocols.mtl.statuses import Declined, Status, status_of

#: All that the bus has.
ERRORS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, BusError)]


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_of_the_bus_is_answered_or_dropped(kind: type[BusError]) -> None:
    """Dropped is what is ill-formed, and nothing else, for a client that is told nothing waits for good. A name that
    the bus does not like was well-formed.
    (MTL, Control Flow Error Handling; readings 2 and 9)"""
    is_dropped = issubclass(kind, PeerError) and not issubclass(kind, InvalidName)
    assert status_of(kind("why")) is (None if is_dropped else Status.BAD_REQUEST)


@pytest.mark.parametrize("status", Status)
def test_what_is_declined_says_by_what(status: Status) -> None:
    """And a text of the specification's goes with it. (reading 9)"""
    assert status_of(Declined(status, "why", "reason")) is status
    assert status.text
    assert 200 <= status.value <= 599
