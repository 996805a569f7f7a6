"""What all members together were told, and what may not be.

- A message of a queue that was acknowledged to its sender is taken at least once, or becomes a dead letter for a reason
  that there was.
- It comes again only if whoever had it last gave it back, or was killed, or went, or the broker ended meanwhile, or,
  where one has to beat, if he was stalled; and then it says so, where the protocol has a mark.
- What comes to one member without that mark comes in its sender's order.
- What the bus keeps of a topic at the end is what its sender was told is kept, or later. Brokers that were killed may
  have forgotten the last moments, so only what was told after that counts.
- Connections end only with their members and with brokers, or after their members have said what no rule allows, or,
  where one has to beat, were stalled.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple

import attrs

from tests.soak.account import Line, Reading
from tests.soak.mail import UNDOABLE, Mail, Sender

#: What a broker sent before its end may be read so much later, by one who is slow or was stalled.
_LATE_SECONDS = 40.0
#: The end of a connection is noticed so much later by its member.
_NOTICED_SECONDS = 5.0
#: What dead letters died of: somebody has said so, or a worker was lost with what may not be done twice.
#: MTL has no place for what.
_REJECTED, _REJECTED_SILENTLY, _WORKER_LOST = f"rejected: {UNDOABLE}", "rejected", "rejected: worker-lost"


@attrs.define
class Life:
    """One member, from its start to its end."""

    cast: str
    sender: Sender
    reading: Reading
    born: float
    #: Whether a stall is the end of what he has.
    has_to_beat: bool = False
    #: From when on he may have given back what he had.
    ended: float | None = None
    stalls: list[tuple[float, float]] = attrs.field(factory=list)
    #: When his connection was lost, and how often he has said what he must not.
    lost: list[float] = attrs.field(factory=list)
    whispers: int = 0
    is_quiet: bool = False
    counts: Counter[str] = attrs.field(factory=Counter)

    def may_have_let_go(self, since: float, until: float) -> bool:
        """Whether what he had taken at one time may have been somebody else's at another, by what happened to him."""
        if self.ended is not None and self.ended <= until:
            return True
        stalls = self.stalls if self.has_to_beat else []
        lost = [(at - _NOTICED_SECONDS, at) for at in self.lost]
        return any(begin <= until and end >= since - _LATE_SECONDS for begin, end in (*stalls, *lost))

    def has_beaten_late(self, at: float) -> bool:
        """Whether a connection that was lost then may have been taken for dead because of a stall."""
        return self.has_to_beat and any(begin <= at <= end + _LATE_SECONDS for begin, end in self.stalls)


class _Hand(NamedTuple):
    """A message in the hands of a member."""

    at: float
    life: Life
    was_given_back: bool


class Ledger:
    """The account of one campaign."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.lives: list[Life] = []
        #: Read, and not yet taken in.
        self._news: list[tuple[Line, Life]] = []
        #: Brokers' ends: when it began, when it was over, and whether it was a kill.
        self.ends: list[tuple[float, float, bool]] = []
        self.sent: set[Mail] = set()
        self.acknowledged: set[Mail] = set()
        self.buried: dict[Mail, str] = {}
        self.repeats = self.marked_unseen = self.given_back = self.ticks = 0
        #: What was scheduled and died, by reason.
        self.lost_ticks: Counter[str] = Counter()
        #: Topic, sender and number of what a sender was told of that it did not get through.
        self._failed: set[tuple[str, Sender, int]] = set()
        #: Who has not heard what: of a topic and a sender, the first number and the last.
        self._missed: list[tuple[Life, str, Sender, int, int]] = []
        self._rejected: set[Mail] = set()
        self._hands: dict[Mail, _Hand] = {}
        self._last_new: dict[tuple[Sender, str], int] = {}
        #: Topic → when its sender was last told that something is kept, and what.
        self.kept: dict[str, tuple[float, Sender, int]] = {}
        self._by_what: Mapping[str, Callable[[Life, float, list[str]], None]] = {
            "sent": self._sent,
            "acked": self._acknowledged,
            "took": self._took,
            "released": self._released,
            "rejected": self._rejects,
            "buried": self._buried,
            "kept": self._kept,
            "tick": self._tick,
            "tick buried": self._tick_buried,
            "counts": self._count,
            "lost": self._lost,
            "whispered": self._whispered,
            "quiet": self._quiet,
            "failed": self._fails,
            "missed": self._misses,
            "fault": self._fault_of,
        }

    def read(self, until: float | None = None) -> None:
        """Take in what is new, of all together in the order of time; nothing behind `until`, which is now if not given:
        while the files are read, one after the other, members go on writing."""
        until = time.monotonic() if until is None else until
        self._news += [(line, life) for life in self.lives for line in life.reading.lines()]
        self._news.sort(key=lambda one: one[0].at)
        past = bisect_right(self._news, until, key=lambda one: one[0].at)
        for line, life in self._news[:past]:
            if line.what in self._by_what:
                self._by_what[line.what](life, line.at, line.about)
        del self._news[:past]

    def begin(self, cast: str, sender: Sender, account: Path, now: float, has_to_beat: bool = False) -> Life:
        """Another member is there."""
        life = Life(cast, sender, Reading(account), now, has_to_beat)
        self.lives.append(life)
        return life

    @property
    def open(self) -> set[Mail]:
        """Acknowledged, and neither taken nor dead."""
        return self.acknowledged - self._hands.keys() - self.buried.keys()

    @property
    def taken(self) -> int:
        """How many messages have been taken."""
        return len(self._hands)

    def total(self) -> Counter[str]:
        """All members' own counts."""
        return sum((life.counts for life in self.lives), Counter())

    def close(self, kept: Mapping[str, Sequence[tuple[Sender, int]]]) -> None:
        """All is over, and this is what each topic's kept value is, as each protocol tells it."""
        self.read(inf)
        for mail in sorted(self.open):
            self.faults.append(f"{mail} was acknowledged and is lost")
        for life in self.lives:
            ends = [end for end in self.ends if life.born <= end[1] and (life.ended is None or end[0] <= life.ended)]
            lost = [at for at in life.lost if not life.has_beaten_late(at)]
            if len(lost) > len(ends) + life.whispers:
                self.faults.append(f"{life.sender} lost its connection {len(lost)} times, at {lost}")
        for life, topic, sender, first, last in self._missed:
            if any((topic, sender, number) not in self._failed for number in range(first, last + 1)):
                self._fault(life, f"has not heard {topic} {sender} {first} to {last}")
        killed_at = max((over for _, over, is_kill in self.ends if is_kill), default=0.0)
        for topic, values in kept.items():
            if len(set(values)) > 1:
                self.faults.append(f"{topic} has values that differ: {values}")
            at, sender, number = self.kept.get(topic, (0.0, Sender("", 0), 0))
            if at > killed_at and any((value[0].life, value[1]) < (sender.life, number) for value in values):
                self.faults.append(f"{topic} was told to keep {sender} {number}, and has {values}")
        for topic in self.kept.keys() - kept.keys():
            self.faults.append(f"{topic} has no value any more")

    # what members write

    def _sent(self, life: Life, at: float, about: list[str]) -> None:
        self.sent.add(Mail(str(life.sender), int(about[1])))

    def _acknowledged(self, life: Life, at: float, about: list[str]) -> None:
        self.acknowledged.add(Mail(str(life.sender), int(about[1])))

    def _took(self, life: Life, at: float, about: list[str]) -> None:
        queue, sender, number, mark = about
        mail = Mail(sender, int(number))
        before = self._hands.get(mail)
        self._hands[mail] = _Hand(at, life, False)
        if before is not None:
            self.repeats += 1
            if mark == "0" and not self._reads_late(life, at):
                self._fault(life, f"{mail} came again and did not say so")
            if not self._may_repeat(before, at) and not self._reads_late(life, at):
                self._fault(life, f"{mail} came again {at - before.at:.1f} s after {before.life.sender} had it")
        elif mark == "1":
            self.marked_unseen += 1
        if mark == "0":
            row = (life.sender, f"{queue} {sender}")
            if mail.number <= self._last_new.get(row, 0):
                self._fault(life, f"{queue} {mail} came behind {self._last_new[row]}")
            self._last_new[row] = mail.number

    def _may_repeat(self, before: _Hand, at: float) -> bool:
        brokers = any(begin <= at and over >= before.at - _LATE_SECONDS for begin, over, _ in self.ends)
        return before.was_given_back or brokers or before.life.may_have_let_go(before.at, at)

    def _reads_late(self, life: Life, at: float) -> bool:
        """Whether he may only now read what had come to him before others had it."""
        moments = [*(over for _, over, _ in self.ends), *(end for _, end in life.stalls), *life.lost]
        return any(moment - _NOTICED_SECONDS <= at <= moment + 2 * _NOTICED_SECONDS for moment in moments)

    def _released(self, life: Life, at: float, about: list[str]) -> None:
        mail = Mail(about[0], int(about[1]))
        self.given_back += 1
        self._hands[mail] = _Hand(at, life, True)

    def _rejects(self, life: Life, at: float, about: list[str]) -> None:
        self._rejected.add(Mail(about[0], int(about[1])))

    def _buried(self, life: Life, at: float, about: list[str]) -> None:
        mail = Mail(about[0], int(about[1]))
        reason = about[2]
        self.buried[mail] = reason
        is_guaranteed = Sender.parse(mail.sender).place.startswith("emqp")
        is_rejected = mail in self._rejected
        may_die = {_REJECTED: is_rejected, _REJECTED_SILENTLY: is_rejected, _WORKER_LOST: not is_guaranteed}
        if not may_die.get(reason, False):
            self._fault(life, f"{mail} died of {reason}")

    def _kept(self, life: Life, at: float, about: list[str]) -> None:
        self.kept[about[0]] = (at, life.sender, int(about[1]))

    def _tick(self, life: Life, at: float, about: list[str]) -> None:
        self.ticks += 1

    def _tick_buried(self, life: Life, at: float, about: list[str]) -> None:
        self.lost_ticks[about[1]] += 1

    def _count(self, life: Life, at: float, about: list[str]) -> None:
        life.counts = Counter(json.loads(about[0]))

    def _lost(self, life: Life, at: float, about: list[str]) -> None:
        if life.ended is None or at < life.ended:
            life.lost.append(at)

    def _whispered(self, life: Life, at: float, about: list[str]) -> None:
        life.whispers += 1

    def _quiet(self, life: Life, at: float, about: list[str]) -> None:
        life.is_quiet = True

    def _fails(self, life: Life, at: float, about: list[str]) -> None:
        topic, number = about
        self._failed.add((topic, life.sender, int(number)))

    def _misses(self, life: Life, at: float, about: list[str]) -> None:
        topic, sender, first, last = about
        self._missed.append((life, topic, Sender.parse(sender), int(first), int(last)))

    def _fault_of(self, life: Life, at: float, about: list[str]) -> None:
        self._fault(life, about[0])

    def _fault(self, life: Life, what: str) -> None:
        self.faults.append(f"{life.sender}: {what}")

    # what is known

    @property
    def deaths(self) -> Mapping[str, int]:
        """How many became dead letters, by reason."""
        return Counter(self.buried.values())

    @property
    def lives_by_cast(self) -> Mapping[str, int]:
        """How many members there were."""
        found: dict[str, int] = defaultdict(int)
        for life in self.lives:
            found[life.cast] += 1
        return found
