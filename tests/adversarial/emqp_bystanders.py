"""Who do eMQP attackers share the broker with? A client and a worker who mean well, and what the broker counts."""

from __future__ import annotations

import json
import re
import time
from contextlib import ExitStack
from typing import Any

from fmqbus.notices import NOTICE_SECONDS
from fmqbus.transports.zeromq.passport import NO_PASSPORT, Passport
from tests.adversarial.attack import Siege
from tests.live.emqp_peers import LISTEN, Place, args_of, body_of

#: For attacks on eMQP: it comes after FMQP, which the witness speaks.
LISTENERS = ("fmqp:tcp:0", LISTEN)
#: What the issue asks for.
STALL_MS = 50.0

_QUEUE = "honest"


class Bystanders:
    """One client and its worker, on a queue of their own."""

    def __init__(self, siege: Siege, opened: ExitStack, passport: Passport = NO_PASSPORT) -> None:
        """`passport` is what they are let in with."""
        self.place = opened.enter_context(Place(siege.broker, passport))
        self._siege = siege
        self._begun = time.monotonic()
        self._client = self.place.client(b"honest-client")
        self._worker = self.place.worker(b"honest-worker").inform([(10, _QUEUE)])
        self._jobs = 0

    def are_served(self) -> None:
        """A job goes to the worker and its result comes back, and nobody is told anything else."""
        self._jobs += 1
        # it may have said nothing for very long
        self._worker.inform([(10, _QUEUE)]).ready()
        id = self._client.submit(_QUEUE, body_of("work", self._jobs), "reply-requested")
        job = self._worker.job()
        assert args_of(job) == [self._jobs]
        self._worker.reply(job, self._jobs)
        assert self._client.result(id) == {"value": self._jobs}
        assert self._worker.heard() == []
        assert self._client.heard() == []

    def status(self) -> Any:
        """What the broker tells an operator."""
        admin = self.place.peer("admin")
        admin.say("STATUS")
        return json.loads(admin.hear()[2])

    def refused(self, at_least: int) -> int:
        """How many messages the broker has dropped or refused, once it has counted so many."""
        return self._siege.client().number(b"$/info/messages/dropped", lambda number: number >= at_least)

    def noted(self, *reasons: str) -> None:
        """The log tells of each of these, once in a minute."""
        most = 1 + (time.monotonic() - self._begun) // NOTICE_SECONDS
        for reason in reasons:
            lines = [
                line for line in self._siege.broker.log if re.search(rf"refused: .*\({reason}, \d+ by now\)", line)
            ]
            assert 1 <= len(lines) <= most, f"{len(lines)} lines tell of {reason}"
