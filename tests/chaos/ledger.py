"""What became of each job, by its number; and what may not.

A job is *handed in*, *acknowledged*, and *ended*, by a result or an explicit failure. Whoever hears neither, not even
an acknowledgement, hands it in again, as any client may. What is acknowledged has its effect at least once, unless its
client is told of a failure. The broker may die with a result that it has sent and its client has not received: nobody
else knows it any more. Such a job is *unheard*, and its client asks again once nothing else is left to wait for.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.chaos.jobs import fails


class Ledger:
    """The account of one campaign."""

    def __init__(self) -> None:
        self.handed_in: set[int] = set()
        self.acknowledged: set[int] = set()
        #: How each ended: empty for a result, else the class of the failure.
        self.ended: dict[int, str] = {}
        #: Handed in again for want of an acknowledgement, or of a result.
        self.again = self.unheard = 0
        #: Ends that were told a second time.
        self.repeats = 0
        self.faults: list[str] = []
        #: How often each was done; known when it is closed.
        self.effects: Counter[int] = Counter()

    def end(self, number: int, body: bytes) -> None:
        """Its client is told how it ended."""
        said = json.loads(body)
        error = said.get("error", "")
        if number not in self.handed_in:
            self.faults.append(f"{number} was never handed in, and has ended: {said}")
        if number in self.ended:
            self.repeats += 1
            return
        if not error and (said != {"value": number} or fails(number)):
            self.faults.append(f"{number} ended with {said}")
        self.ended[number] = error

    def close(self, file: Path) -> None:
        """All is over: compare with what the jobs have left."""
        self.effects.update(map(int, file.read_text().split()))
        for number in sorted(self.handed_in | self.acknowledged):
            error = self.ended.get(number)
            if error is None:
                self.faults.append(f"{number} has neither a result nor a failure")
            if not self.effects[number] and error in ("", "ValueError"):
                self.faults.append(f"{number} has ended and was not done")
            if not self.effects[number] and error is None and number in self.acknowledged:
                self.faults.append(f"{number} was acknowledged and is lost")
        for number in self.effects.keys() - self.handed_in:
            self.faults.append(f"{number} was done and never handed in")

    @property
    def failures(self) -> Mapping[str, int]:
        """How many failed, by the class of the failure."""
        return Counter(error for error in self.ended.values() if error)
