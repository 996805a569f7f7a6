"""What was said about each message, in all lives of a broker; and what may not be.

A message is *sent*, then *acknowledged* to its producer; *taken* by a consumer, perhaps several times, then *accepted*;
and it is *settled* once the consumer knows that the broker has that on its disk, which it learns by a message of its
own: when that one is acknowledged, all is committed that it said before. So nothing that is settled may come again, and
nothing else that comes again may do so without the mark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple


class Mail(NamedTuple):
    """A message, as its producer calls it."""

    queue: bytes
    #: Counts from 0 in each queue.
    number: int


class Ledger:
    """The account of one campaign."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.acknowledged: set[Mail] = set()
        self.taken: set[Mail] = set()
        self.accepted: set[Mail] = set()
        self.settled: set[Mail] = set()
        #: Deliveries of what had come before, and those among them that had been accepted as well.
        self.repeats = self.repeats_of_accepted = 0
        #: Deliveries that were marked although nobody had seen the message before.
        self.marked_unseen = 0
        #: Acknowledged, and accepted by nobody yet: what the broker must have.
        self.open: set[Mail] = set()
        self._sent: dict[bytes, int] = defaultdict(int)
        self._last: dict[bytes, int] = {}
        self._last_new: dict[bytes, int] = {}

    # what happens

    def begin_life(self) -> None:
        """A broker has started; queues come from their beginning."""
        self._last.clear()

    def send(self, queue: bytes) -> Mail:
        """Another message is sent to this queue."""
        mail = Mail(queue, self._sent[queue])
        self._sent[queue] += 1
        return mail

    def acknowledge(self, mails: Sequence[Mail]) -> None:
        """The producer is told that these are safe."""
        self.acknowledged.update(mails)
        self.open.update(mail for mail in mails if mail not in self.accepted)

    def take(self, mail: Mail, is_marked: bool) -> None:
        """A consumer gets this, with the mark of a redelivery or without."""
        if mail.number >= self._sent[mail.queue]:
            self._fault(mail, "was never sent")
        if mail.number <= self._last.get(mail.queue, -1):
            self._fault(mail, f"came behind {self._last[mail.queue]}")
        self._last[mail.queue] = mail.number
        if mail in self.settled:
            self._fault(mail, "came again although it was settled")
        if mail in self.taken:
            self._repeated(mail, is_marked)
        else:
            self._came(mail, is_marked)

    def accept(self, mails: Sequence[Mail]) -> None:
        """The consumer says that these are done."""
        self.accepted.update(mails)
        self.open.difference_update(mails)

    def settle(self, mails: Sequence[Mail]) -> None:
        """The consumer knows that the broker will not forget that."""
        self.settled.update(mails)

    def _came(self, mail: Mail, is_marked: bool) -> None:
        if mail.number <= self._last_new.get(mail.queue, -1):
            self._fault(mail, f"came for the first time, but behind {self._last_new[mail.queue]}")
        self._last_new[mail.queue] = mail.number
        self.taken.add(mail)
        self.marked_unseen += is_marked

    def _repeated(self, mail: Mail, is_marked: bool) -> None:
        if not is_marked:
            self._fault(mail, "came again and did not say so")
        self.repeats += 1
        self.repeats_of_accepted += mail in self.accepted

    def _fault(self, mail: Mail, what: str) -> None:
        self.faults.append(f"{mail.queue.decode()} {mail.number} {what}")

    # what is known

    @property
    def sent(self) -> int:
        """How many messages were sent."""
        return sum(self._sent.values())

    def close(self) -> None:
        """All queues are empty: whatever was acknowledged must have come."""
        for mail in sorted(self.open):
            self._fault(mail, "was acknowledged and is lost")
