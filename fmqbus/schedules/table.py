"""What is due now, and what next?

A bus may have been away, or asleep, when something was due. What then happens is each schedule's own policy; whatever
it is, a schedule is never due more often at once than `MOST_AT_ONCE`. The wall clock may be set back: what would then
be due much too late is reckoned anew.
"""

from __future__ import annotations

import enum
import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import msgspec
from msgspec.structs import replace

from fmqbus.errors import Overloaded, PeerError
from fmqbus.schedules.timing import Timing

#: What is due is still on time so much later; timers and busy machines are no misses.
LATE_SECONDS = 60.0
#: Of one schedule that makes up for what was missed.
MOST_AT_ONCE = 100
#: Clocks are trimmed by less than this.
_SET_BACK_SECONDS = 2.0


class Missed(enum.Enum):
    """What happens where runs were missed; the words of configuration files."""

    #: Nothing: it goes on at its next time.
    SKIP = "skip"
    #: It runs once for all of them.
    ONCE = "once"
    #: It runs as often as it should have.
    ALL = "all"


class Schedule(msgspec.Struct, frozen=True, gc=False):
    """Something that is done at certain times. Complete: with nothing but this it can go on after a restart. There may
    be very many, so they are as light as messages are; see `fmqbus.model.Message`."""

    #: There is one of a key.
    key: str
    timing: Timing
    #: What is done; the caller's own.
    what: Any
    #: When it runs next.
    due: float
    missed: Missed = Missed.ONCE
    #: How often it runs before it ends; None for ever.
    runs_left: int | None = None
    #: It is not due as long as this holds.
    is_paused: bool = False


def begin(
    key: str,
    timing: Timing,
    what: Any,
    now: float,
    *,
    missed: Missed = Missed.ONCE,
    at_once: bool = True,
    runs: int | None = None,
) -> Schedule:
    """A new schedule, whose first run is now or at its first time. Raises `PeerError` with reason ``when`` if it has
    none."""
    due = now if at_once else timing.after(now, now)
    if due is None:
        raise PeerError("it would never run", "when")
    return Schedule(key, timing, what, due, missed, runs)


@attrs.frozen(slots=True)
class Due:
    """What is to be done now."""

    #: As it is from now on; if it has ended, it is in the table no more.
    schedule: Schedule
    #: How often; 0 if all that was missed is skipped.
    runs: int
    #: When the first of what is due was.
    since: float
    has_ended: bool


class Schedules:
    """Schedules by key. Whoever keeps them on disk does so for each that is put, due or removed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._schedules: dict[str, Schedule] = {}
        #: When to look at a schedule; those that have been replaced, moved or removed stay until they come up.
        self._heap: list[tuple[float, str]] = []
        #: Those that are to be reckoned anew, for the clock has been set back, or may have been while there was no bus.
        self._doubtful: deque[str] = deque()
        self._last_now = 0.0

    def __len__(self) -> int:
        return len(self._schedules)

    def __iter__(self) -> Iterator[Schedule]:
        """In the order in which they were first put."""
        return iter(self._schedules.values())

    def find(self, key: str) -> Schedule | None:
        """The schedule of a key."""
        return self._schedules.get(key)

    def put(self, schedule: Schedule) -> None:
        """Begin a schedule, in place of the one of the same key. Raises `Overloaded` if there are too many."""
        if schedule.key not in self._schedules and len(self) >= self._most:
            raise Overloaded(f"more than {self._most} schedules", "schedules")
        self._set(schedule)

    def bring_back(self, schedule: Schedule) -> None:
        """Go on with a schedule that was kept, also if there are too many by now."""
        self._set(schedule)
        self._doubtful.append(schedule.key)

    def remove(self, key: str) -> Schedule | None:
        """End a schedule. None if there is none."""
        return self._schedules.pop(key, None)

    @property
    def is_in_doubt(self) -> bool:
        """`take_due` is still to reckon some schedules anew."""
        return bool(self._doubtful)

    def tell_time(self, now: float) -> None:
        """To be called when a schedule is begun: `take_due` must know if the clock is set back after that."""
        if now < self._last_now - _SET_BACK_SECONDS:
            self._doubtful = deque(self._schedules)
        self._last_now = now

    def next_due(self) -> float | None:
        """When the next schedule is due; None if none is."""
        while self._heap and not self._is_current(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take_due(self, now: float, most: int = MOST_AT_ONCE) -> Sequence[Due]:
        """What is due now, of so many schedules at most, those first that have been due for longest. Where the clock
        may have been set back, `most` schedules, or all, are reckoned anew before."""
        self.tell_time(now)
        for _ in range(min(most, len(self._doubtful))):
            self._reckon_anew(self._doubtful.popleft(), now)
        keys: dict[str, None] = {}
        while len(keys) < most and (due := self.next_due()) is not None and due <= now:
            keys[heapq.heappop(self._heap)[1]] = None
        return [self._run(self._schedules[key], now) for key in keys]

    def _run(self, schedule: Schedule, now: float) -> Due:
        runs, following = _runs(schedule, now)
        left = None if schedule.runs_left is None else schedule.runs_left - runs
        has_ended = following is None or left == 0
        moved = replace(schedule, due=schedule.due if following is None else following, runs_left=left)
        if has_ended:
            del self._schedules[schedule.key]
        else:
            self._set(moved)
        return Due(moved, runs, schedule.due, has_ended)

    def _set(self, schedule: Schedule) -> None:
        self._schedules[schedule.key] = schedule
        if schedule.is_paused:
            return
        heapq.heappush(self._heap, (schedule.due, schedule.key))
        if len(self._heap) > 2 * len(self._schedules) + MOST_AT_ONCE:
            self._heap = [(one.due, one.key) for one in self if not one.is_paused]
            heapq.heapify(self._heap)

    def _is_current(self, look: tuple[float, str]) -> bool:
        due, key = look
        schedule = self._schedules.get(key)
        return schedule is not None and schedule.due == due and not schedule.is_paused

    def _reckon_anew(self, key: str, now: float) -> None:
        schedule = self._schedules.get(key)
        if schedule is None or schedule.due <= now:
            return
        following = schedule.timing.after(now, now)
        if following is not None and following < schedule.due:
            self._set(replace(schedule, due=following))


def _runs(schedule: Schedule, now: float) -> tuple[int, float | None]:
    """How often a schedule that is due runs now, and when it is due next."""
    due, timing = schedule.due, schedule.timing
    most = MOST_AT_ONCE if schedule.runs_left is None else min(MOST_AT_ONCE, schedule.runs_left)
    match schedule.missed:
        case Missed.ALL:
            runs, following = 1, timing.after(due, due)
            while runs < most and following is not None and following <= now:
                runs += 1
                following = timing.after(due, following)
            return runs, following
        case Missed.ONCE:
            runs = 1
        case Missed.SKIP:
            late = now - LATE_SECONDS
            latest = due if due >= late else timing.after(due, late)
            runs = int(latest is not None and latest <= now)
    return runs, timing.after(due, now)
