"""Who do MTL attackers share the broker with? A reader and a writer who mean well, and what the broker counts."""

from __future__ import annotations

import re
import time
from contextlib import ExitStack

from fmqbus.notices import NOTICE_SECONDS
from tests.adversarial.attack import Siege
from tests.live.mtl_client import CONFIRM, LEASE, LISTEN, SUMMON, Control, Flow, Place

#: For attacks on MTL: it comes after FMQP, which the witness speaks.
LISTENERS = ("fmqp:tcp:0", LISTEN)
#: An attack may take longer than a flow may be silent.
PATIENT = "[protocols.mtl]\nping = 600.0\n"
STALL_MS = 50.0

_TOPIC = "honest"


class Bystanders:
    """One reader and one writer, on a topic of their own, each confirmed."""

    def __init__(self, siege: Siege, opened: ExitStack) -> None:
        self.place = opened.enter_context(Place(siege.broker))
        self._siege = siege
        self._begun = time.monotonic()
        self._reader = self.flow("topic", "Reader", _TOPIC, confirm="full")
        assert self._reader.asked(SUMMON, _TOPIC.encode()) == 200
        self._writer = self.flow("topic", "Writer", _TOPIC, confirm="full")
        self._contents = 0

    def flow(self, profile: str, kind: str, *resources: str, confirm: str = "none") -> Flow:
        """A flow with a lease."""
        flow = self.place.flow()
        assert flow.asked(LEASE, self.control(profile).lease(kind, *resources, confirm=confirm)) == 200
        return flow

    def control(self, profile: str) -> Control:
        """A client that may ask for leases."""
        return self.place.control().open(profile)

    def are_served(self) -> None:
        """A content is confirmed and comes, and nobody is told anything else."""
        self._contents += 1
        body = b"%d" % self._contents
        self._writer.content(self._contents, body)
        header, _ = self._writer.hear(CONFIRM)
        assert int.from_bytes(header[1:9], "big") == self._contents
        assert self._reader.next_content()[::3] == (self._contents, body)
        self._reader.settle(CONFIRM, self._contents, False)
        assert self._reader.contents() == []
        assert self._writer.waiting == self._reader.waiting == []

    def refused(self, at_least: int) -> int:
        """How much the broker has dropped or refused, once it has counted so much."""
        return self._siege.client().number(b"$/info/messages/dropped", lambda number: number >= at_least)

    def noted(self, *reasons: str) -> None:
        """The log tells of each of these, once in a minute."""
        most = 1 + (time.monotonic() - self._begun) // NOTICE_SECONDS
        for reason in reasons:
            lines = [
                line for line in self._siege.broker.log if re.search(rf"refused: .*\({reason}, \d+ by now\)", line)
            ]
            assert 1 <= len(lines) <= most, f"{len(lines)} lines tell of {reason}"
