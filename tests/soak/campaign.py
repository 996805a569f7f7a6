"""Half an hour in the life of a bus: one broker after the other, a troupe, and what the plan has for them."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random

import attrs

from tests.adversarial.measure import Figures, Watch
from tests.live.broker import Broker
from tests.live.emqp_peers import body_of
from tests.live.umq_client import Client as UMQClient
from tests.soak.casts import CASTS
from tests.soak.health import Health, dropped_by, figures_of
from tests.soak.kept import kept_values
from tests.soak.ledger import Ledger
from tests.soak.mail import DEAD, JOBS, KEPT, MODULE
from tests.soak.plan import Deed, What, plan
from tests.soak.troupe import Troupe

#: So many of each cast.
_MEMBERS = 2
_TICK_SECONDS = 0.1
#: How long the last messages may take: workers that were killed have to be missed first.
_DRAIN_SECONDS = 90.0
_SETTLE_SECONDS = 15.0
#: What is scheduled is done so often.
SCHEDULE_SECONDS = 2.0
_SCHEDULE = "soak/tick"

#: What is no client's fault in a log.
_SIGNS_OF_FAULTS = ("Traceback", "Unhandled", "ERROR", "CRITICAL")

_CONFIG = """\
listen = [{listen}]
message_store = "sqlite"
retained_store = "sqlite"
schedule_store = "sqlite"
[stores.sqlite]
path = "{folder}/bus.db"
[queues]
delivery_limit = 0
[limits]
outbox_octets = 4194304
[protocols.emqp]
heartbeat = 1.0
silence = 6.0
grace = 2.0
guarantee = 1000
unknown-queue = "keep"
[access]
authorizers = ["rules"]
[[access.rules]]
effect = "deny"
actions = ["publish", "retain", "will"]
who = ["*"]
names = ["secret/**"]
[[access.rules]]
effect = "allow"
actions = "*"
who = ["local"]
names = ["soak/**", "secret/**", "job/soak/**", "{dead}", "witness/**", "echo/**", "fmqbus-sync/**", "the/broker/**"]
[[access.rules]]
effect = "allow"
actions = ["subscribe"]
who = ["local"]
names = ["$/info/**"]
"""


@attrs.define
class Reign:
    """One broker's life, looked back at."""

    seconds: float
    figures: Figures
    health: Health
    dropped: int | None


@attrs.define
class Campaign:
    """One soak, and what came of it."""

    folder: Path
    seconds: float
    seed: int
    tell: Callable[[str], object] = print
    ledger: Ledger = attrs.field(factory=Ledger)
    reigns: list[Reign] = attrs.field(factory=list)
    troupe: Troupe = attrs.field(init=False)
    _broker: Broker = attrs.field(init=False)
    _watch: Watch = attrs.field(init=False)
    _health: Health = attrs.field(init=False)
    _born: float = 0.0
    _listens: list[str] = attrs.field(factory=list)

    def run(self) -> None:
        """Let it all happen, then look at what is left."""
        random = Random(self.seed)
        self.troupe = Troupe(self.folder, self.ledger, random)
        self._listens = list(dict.fromkeys(party.listens for party in CASTS.values()))
        places = {f"{cast}-{number}": cast for cast in CASTS for number in range(_MEMBERS)}
        with ExitStack() as opened:
            opened.callback(self.troupe.kill_all)
            self._start_broker()
            opened.callback(lambda: self._broker.__exit__(None, None, None))
            opened.callback(lambda: self._watch.end())
            self._listens = list(dict.fromkeys(party.listens_again(self._broker) for party in CASTS.values()))
            self._schedule()
            for place, cast in places.items():
                self.troupe.enter(cast, place, CASTS[cast].address(self._broker))
            self._live(plan(random, self.seconds, list(places)))
            self._finish()

    def _live(self, deeds: Sequence[Deed]) -> None:
        begun = time.monotonic()
        for deed in deeds:
            while time.monotonic() < begun + deed.at:
                self._look()
            self._do(deed)
        while time.monotonic() < begun + self.seconds:
            self._look()

    def _look(self) -> None:
        time.sleep(_TICK_SECONDS)
        self._health.look()
        self.troupe.reap()
        for place in self.troupe.dead():
            self.ledger.faults.append(f"{self.troupe.members[place].life.sender} has ended by itself")
            self._enter(self.troupe.kill(place), place)

    def _do(self, deed: Deed) -> None:
        self.tell(f"{deed.at:7.1f} {deed.what.value} {deed.place}")
        match deed.what:
            case What.KILL:
                self._enter(self.troupe.kill(deed.place), deed.place)
            case What.GO:
                self._enter(self.troupe.send_away(deed.place), deed.place)
            case What.STALL:
                self.troupe.stall(deed.place)
            case What.WAKE:
                self.troupe.wake(deed.place)
            case What.RESTART:
                self._end_broker(signal.SIGTERM)
                self._start_broker()
            case What.CRASH:
                self._end_broker(signal.SIGKILL)
                self._start_broker()
        self.ledger.read()

    def _enter(self, cast: str, place: str) -> None:
        self.troupe.enter(cast, place, CASTS[cast].address(self._broker))

    def _finish(self) -> None:
        """Let all queues run empty, then all members go, then the broker."""
        self.troupe.be_quiet()
        self._unschedule()
        end = time.monotonic() + _DRAIN_SECONDS
        while not self._is_over() and time.monotonic() < end:
            self._look()
        if not self.troupe.is_quiet:
            self.ledger.faults.append("not all members have become quiet")
        kept = kept_values(self._broker, KEPT)
        self.troupe.leave()
        self._look_for_remains()
        self._end_broker(signal.SIGTERM)
        self.ledger.close(kept)

    def _is_over(self) -> bool:
        """Nothing more is said, and what was acknowledged has come."""
        self.ledger.read()
        return self.troupe.is_quiet and not self.ledger.open

    def _look_for_remains(self) -> None:
        """All have gone: the broker has what it had when it began, and its witness."""
        health = self._health
        end = time.monotonic() + _SETTLE_SECONDS
        while (now := figures_of(self._broker)) > (health.subscriptions, health.descriptors):
            if time.monotonic() > end:
                before = (health.subscriptions, health.descriptors)
                self.ledger.faults.append(f"subscriptions and open files were {before} and are {now}")
                break
            time.sleep(_TICK_SECONDS)

    # the broker

    def _start_broker(self) -> None:
        config = self.folder / "bus.toml"
        listen = ", ".join(f'"{place}"' for place in self._listens)
        config.write_text(_CONFIG.format(listen=listen, folder=self.folder, dead=DEAD))
        self._broker = Broker("--config", str(config)).start()
        self._born = time.monotonic()
        self._watch = Watch(self._broker, is_preferred=False)
        self._watch.__enter__()
        self._health = Health(self._broker)

    def _end_broker(self, number: signal.Signals) -> None:
        is_kill = number is signal.SIGKILL
        dropped = None if is_kill else dropped_by(self._broker)
        figures = self._watch.end()
        begun = time.monotonic()
        self._broker.signal(number)
        code = self._broker.wait()
        over = time.monotonic()
        self.ledger.ends.append((begun, over, is_kill))
        self.reigns.append(Reign(begun - self._born, figures, self._health, dropped))
        self.tell(f"        the broker ended after {begun - self._born:.0f} s within {over - begun:.1f} s, code {code}")
        if figures.failure:
            self.ledger.faults.append(f"the witness was failed: {figures.failure}")
        if not is_kill and code:
            self.ledger.faults.append(f"the broker ended with code {code}")
        self.ledger.faults += [f"log: {line}" for line in self._broker.log if any(s in line for s in _SIGNS_OF_FAULTS)]

    # what is scheduled, by a client that goes; it stays

    def _schedule(self) -> None:
        with closing(UMQClient(self._broker.connect("umq:"))) as client:
            job = body_of("tick", path=MODULE).decode()
            client.call("schedule", _SCHEDULE, JOBS, job, {"every": SCHEDULE_SECONDS})

    def _unschedule(self) -> None:
        with closing(UMQClient(self._broker.connect("umq:"))) as client:
            assert client.call("unschedule", _SCHEDULE), "what was scheduled is not there any more"
