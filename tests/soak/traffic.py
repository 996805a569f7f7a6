"""What does a member of the troupe do all the time? Whatever its protocol has words for, chosen at random."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.task import LoopingCall
from twisted.python.failure import Failure

from tests.soak.account import Account
from tests.soak.hearing import Hearing
from tests.soak.mail import (
    ALL,
    CHURNED,
    DEAD,
    KEPT,
    LARGE,
    QUEUES,
    SAID,
    SECRET,
    UNDOABLE,
    Mail,
    Remark,
    Sender,
    mail_payload,
    read_mail,
    remark_payload,
)
from tests.soak.words import (
    Calls,
    Consumes,
    Enqueues,
    Feed,
    Party,
    Publishes,
    Retains,
    Serves,
    Subscribes,
    Taken,
    Watches,
)

_TURN_SECONDS, _COUNTS_SECONDS = 0.05, 1.0
#: Of what was said and the bus has not taken over, so much at most.
_MOST_OPEN = 200
_LARGE_OCTETS = 64 * 1024
#: One message in so many is not done at first, and one cannot be done, where there are words for that.
_RELEASED_EVERY, _REJECTED_EVERY = 40, 160
_PATTERNS = (f"{SAID}/*", f"{KEPT}/*", f"{LARGE}/*", f"{SECRET}/*")

#: How likely each act is; those that a protocol has no word for are left out.
_WEIGHTS = {"say": 40, "say_to_all": 4, "say_much": 3, "keep": 8, "whisper": 2, "churn": 4, "enqueue": 50, "call": 12}


class Traffic:
    """One member's."""

    def __init__(
        self, party: Party, sender: Sender, account: Account, quiet: Path, random: Random, reactor: Any
    ) -> None:
        """Once there is a file `quiet`, nothing more is said."""
        self._party = party
        self._sender = sender
        self._account = account
        self._random = random
        self._numbers: dict[str, count[int]] = defaultdict(lambda: count(1))
        self._open = 0
        self._churned: Feed | None = None
        self._quiet = quiet
        self._is_quiet = False
        self._is_whispering = False
        self._counts: Counter[str] = Counter()
        self._hearing = Hearing(
            isinstance(party, Subscribes) and party.is_gapless,
            reactor.seconds,
            partial(account.write, "fault"),
            partial(account.write, "missed"),
        )
        kinds: dict[str, type] = {"enqueue": Enqueues, "call": Calls, "keep": Retains, "churn": Subscribes}
        self._acts = [name for name in _WEIGHTS if isinstance(party, kinds.get(name, Publishes))]
        self._loops = [LoopingCall(self._turn), LoopingCall(self._tell_counts)]
        for loop in self._loops:
            loop.clock = reactor

    def begin(self) -> None:
        """Ask for all there is to hear, then begin to speak."""
        party = self._party
        if isinstance(party, Subscribes):
            for pattern in _PATTERNS:
                party.subscribe(pattern, self._hearing.heard)
        if isinstance(party, Watches):
            party.watch(f"{SAID}/*", lambda _: self._count("feedback"))
        if isinstance(party, Consumes):
            for queue in (*QUEUES, DEAD):
                party.consume(queue, self._take)
        if isinstance(party, Serves):
            party.serve().addErrback(lambda _: self._count("serving refused"))
        party.start(self._came, partial(self._account.write, "lost"))
        for loop, seconds in zip(self._loops, (_TURN_SECONDS, _COUNTS_SECONDS), strict=True):
            loop.start(seconds, now=False).addErrback(lambda failure: self._account.write("fault", failure))

    def end(self) -> Deferred[None]:
        """Go."""
        self._tell_counts()
        for loop in self._loops:
            loop.stop()
        return self._party.stop()

    def _came(self) -> None:
        self._hearing.came()
        self._account.write("came")

    def _count(self, what: str, number: int = 1) -> None:
        self._counts[what] += number

    def _tell_counts(self) -> None:
        self._account.write("counts", json.dumps(self._counts + self._hearing.counts))

    # what is said

    def _turn(self) -> None:
        self._hearing.awake()
        if not self._is_quiet and self._quiet.exists():
            self._is_quiet = True
            self._account.write("quiet")
        if self._is_quiet or self._is_whispering or not self._acts or not self._party.is_connected:
            return
        if self._open >= _MOST_OPEN:
            return
        (act,) = self._random.choices(self._acts, [_WEIGHTS[name] for name in self._acts])
        getattr(self, f"_{act}")()

    def _give(
        self,
        said: Callable[[], Deferred[Any]],
        done: Callable[[Any], object],
        what: str,
        failed: Callable[[], object] = lambda: None,
    ) -> None:
        """`done` gets what comes back, once the bus has taken over what was said; or else `failed` is called."""
        self._open += 1
        self._count(what)

        def closed(result: Any) -> None:
            self._open -= 1
            self._is_whispering = False
            if isinstance(result, Failure):
                self._count(f"{what}, failed: {getattr(result.value, 'reason', '') or result.type.__name__}")
                failed()
            else:
                done(result)

        maybeDeferred(said).addBoth(closed)

    def _publish(self, below: str, octets: int, act: str = "published", topic: str = "") -> None:
        assert isinstance(self._party, Publishes)
        topic = topic or f"{below}/{self._sender.place}"
        number = next(self._numbers[topic])
        payload = remark_payload(Remark(self._sender, number), octets)
        failed = partial(self._account.write, "failed", topic, number)
        self._give(partial(self._party.publish, topic, payload), lambda _: None, act, failed)

    def _say(self) -> None:
        self._publish(SAID, self._random.choice((16, 100, 600, 4_000)))

    def _say_much(self) -> None:
        self._publish(LARGE, _LARGE_OCTETS)

    def _say_to_all(self) -> None:
        self._publish(SAID, 50, topic=ALL)

    def _whisper(self) -> None:
        """Where a refusal is the end of the connection, it is our own fault; so nothing else is on its way then."""
        if self._open:
            return
        self._is_whispering = True
        self._account.write("whispered")
        self._publish(SECRET, 50, "published against the rules")

    def _keep(self) -> None:
        assert isinstance(self._party, Retains)
        topic = f"{KEPT}/{self._sender.place}"
        number = next(self._numbers[topic])
        payload = remark_payload(Remark(self._sender, number), 50)
        kept = lambda _: self._account.write("kept", topic, number)  # noqa: E731
        self._give(partial(self._party.retain, topic, payload), kept, "retained")

    def _churn(self) -> None:
        """Subscribe to something else than before."""
        assert isinstance(self._party, Subscribes)
        if self._churned is not None:
            self._churned.stop()
        self._churned = self._party.subscribe(f"{CHURNED}/{self._random.randrange(100)}", self._hearing.heard)
        self._count("subscriptions changed")

    def _enqueue(self) -> None:
        assert isinstance(self._party, Enqueues)
        queue = self._random.choice(QUEUES)
        # one row of numbers for all queues: where workers take a message, they are not told from which
        number = next(self._numbers["queues"])
        mail = Mail(str(self._sender), number)
        self._account.write("sent", queue, number)
        acknowledged = lambda _: self._account.write("acked", queue, number)  # noqa: E731
        self._give(partial(self._party.enqueue, queue, mail_payload(mail)), acknowledged, "enqueued")

    def _call(self) -> None:
        assert isinstance(self._party, Calls)
        argument = f"{self._sender} {next(self._numbers['calls'])}"

        def answered(answer: str) -> None:
            self._count("answered")
            if answer != argument:
                self._account.write("fault", f"asked {argument} and was answered {answer}")

        self._give(partial(self._party.call, argument), answered, "called")

    # what is taken

    def _take(self, taken: Taken) -> None:
        mail = read_mail(taken.payload)
        if mail is None:
            self._account.write("tick buried", taken.queue, taken.died_of)
        elif taken.died_of:
            self._account.write("buried", *mail, taken.died_of)
        else:
            self._account.write("took", taken.queue, *mail, int(taken.is_redelivered))
            if taken.release is not None and not taken.is_redelivered and mail.number % _RELEASED_EVERY == 7:
                self._account.write("released", *mail)
                taken.release()
                return
            if taken.reject is not None and mail.number % _REJECTED_EVERY == 9:
                self._account.write("rejected", *mail)
                taken.reject(UNDOABLE)
                return
        taken.accept()
