"""Half an hour in the life of a bus: one broker after the other, a troupe, and what the plan has for them."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random

import attrs

from tests.adversarial.measure import Figures as Latency
from tests.adversarial.measure import Watch
from tests.live.broker import Broker
from tests.live.emqp_peers import body_of
from tests.live.umq_client import Client as UMQClient
from tests.soak.casts import CASTS
from tests.soak.config import write_config
from tests.soak.figures import Figures
from tests.soak.health import Health
from tests.soak.kept import kept_values
from tests.soak.ledger import Ledger
from tests.soak.mail import JOBS, KEPT, MODULE
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


@attrs.define
class Reign:
    """One broker's life, looked back at."""

    seconds: float
    latency: Latency
    health: Health
    #: What it said of itself last.
    told: Figures
    #: Until it listened, and until it had ended.
    start_seconds: float
    end_seconds: float


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
    _brokers: ExitStack = attrs.field(init=False)
    _born: float = 0.0
    _start_seconds: float = 0.0
    _listens: list[str] = attrs.field(factory=list)

    def run(self) -> None:
        """Let it all happen, then look at what is left."""
        random = Random(self.seed)
        self.troupe = Troupe(self.folder, self.ledger, random)
        self._listens = list(dict.fromkeys(party.listens for party in CASTS.values()))
        places = {f"{cast}-{number}": cast for cast in CASTS for number in range(_MEMBERS)}
        with ExitStack() as opened:
            opened.callback(self.troupe.kill_all)
            self._brokers = opened.enter_context(ExitStack())
            self._start_broker()
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
            case What.RELOAD:
                self._broker.signal(signal.SIGHUP)
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
        before, end = self._health.before, time.monotonic() + _SETTLE_SECONDS
        while excess := Figures(self._broker).remains.beyond(before):
            if time.monotonic() > end:
                self.ledger.faults.append(f"all have gone, and there is more than at first: {excess}")
                break
            time.sleep(_TICK_SECONDS)

    # the broker

    def _start_broker(self) -> None:
        config = write_config(self.folder, self._listens)
        begun = time.monotonic()
        # whatever happens, neither it nor its witness stays
        self._broker = self._brokers.enter_context(Broker("--config", str(config)))
        self._born = time.monotonic()
        self._start_seconds = self._born - begun
        self._watch = self._brokers.enter_context(Watch(self._broker, is_preferred=False))
        self._health = Health(self._broker)

    def _end_broker(self, number: signal.Signals) -> None:
        is_kill = number is signal.SIGKILL
        told = Figures(self._broker)
        latency = self._watch.end()
        begun = time.monotonic()
        self._broker.signal(number)
        code = self._broker.wait()
        self._brokers.close()
        over = time.monotonic()
        self.ledger.ends.append((begun, over, is_kill))
        self.reigns.append(Reign(begun - self._born, latency, self._health, told, self._start_seconds, over - begun))
        self.tell(f"        the broker ended after {begun - self._born:.0f} s within {over - begun:.1f} s, code {code}")
        if latency.failure:
            self.ledger.faults.append(f"the witness was failed: {latency.failure}")
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
