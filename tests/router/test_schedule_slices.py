"""Are others served while very many schedules are due at once?"""

from __future__ import annotations

from fmqbus.limits import Limits
from fmqbus.router.service import Router
from fmqbus.schedules.timing import Cron, Every, Timing
from fmqbus.testing.bus import MemoryClient, make_router
from tests.router.test_queue_slices import Busy, turns

MANY = 100_000


class Brisk(Busy):
    """Time passes at each look, but less."""

    step = 0.00005

    def seconds(self) -> float:
        self.rightNow += self.step
        return self.rightNow


def bus(count: int, timing: Timing) -> tuple[Router, Brisk, MemoryClient, list[float]]:
    """A bus on which so many are scheduled, and a wall clock that can be set."""
    clock, offset = Brisk(), [1_800_000_000.0]
    router = make_router(clock, wall=lambda: clock.rightNow + offset[0])
    client = MemoryClient(router)
    for number in range(count):
        client.schedule(f"{number}", timing, b"x", b"q", at_once=False)
    return router, clock, client, offset


def test_a_hundred_thousand_that_are_due_at_once_keep_nobody_waiting() -> None:
    """A bystander has his message in every turn; each schedule has run once when it is over."""
    router, clock, client, offset = bus(MANY, Every(86_400))
    assert Limits().schedules == MANY
    offset[0] += 86_400
    clock.rightNow += 60
    assert turns(clock, client) > 500
    (status,) = router.queues()
    assert status.ready == MANY
    assert not router.scheduling.failed


def test_very_many_are_reckoned_anew_in_turns() -> None:
    """The clock was set back."""
    router, clock, client, offset = bus(2_000, Cron("0 0 1 1 *"))
    offset[0] -= 366 * 86_400
    clock.rightNow += 60
    assert turns(clock, client) > 10
    assert {status.schedule.due for status in router.scheduling.page()} == {1_798_761_600.0}
