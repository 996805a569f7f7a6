"""What is an attack, and what must hold while it goes on?

An attack is a function that does its worst to the broker of a `Siege`, asserts that the broker did what it should, and
returns in words what that was. For every attack alike, `Attack.run` asserts what none may change: the witness keeps its
latency, memory keeps its bound, the log has no traceback, and the broker still ends softly with success.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path

import attrs

from tests.adversarial.client import Client, Crowd
from tests.adversarial.measure import Figures, Watch
from tests.live.broker import Broker
from tests.live.micromsg2_client import Client as MicroMsg2Client
from tests.live.umq_client import Client as UMQClient

#: The listeners that a broker under attack has besides that of FMQP, unless the attack says otherwise.
MICROMSG2 = "micromsg2:"
UMQ = "umq:"

#: What others may feel of an attack: below it nobody takes a broker for slow.
STALL_MS = 100.0

#: What no attack may bring into the log.
_SIGNS_OF_FAULTS = ("Traceback", "Unhandled", "ERROR", "CRITICAL")


@attrs.frozen
class Scale:
    """How hard an attack hits, and what it may cost."""

    #: By how much the broker's memory may grow at its peak.
    memory_mib: float
    #: The longest that the witness may wait for an answer.
    stall_ms: float
    #: The attack's own numbers, which its function takes by name.
    numbers: dict[str, int]


def scale(memory_mib: float, stall_ms: float = STALL_MS, **numbers: int) -> Scale:
    """Write a `Scale` down."""
    return Scale(memory_mib, stall_ms, numbers)


@attrs.frozen
class Siege:
    """What an attack has to do with."""

    broker: Broker
    watch: Watch
    #: For files; it vanishes with the siege.
    folder: Path
    _opened: ExitStack

    def client(self) -> Client:
        """Connect a client of FMQP, which is closed with the siege."""
        return self._opened.enter_context(Client(self.broker.connect()))

    def micromsg2(self, required: str = "pubsub") -> MicroMsg2Client:
        """Connect a client of MicroMsg2, which is closed with the siege."""
        return self._opened.enter_context(MicroMsg2Client(self.broker.connect(MICROMSG2), required))

    def umq(self) -> UMQClient:
        """Connect a client of UMQ, over WebSocket, which is closed with the siege."""
        return self._opened.enter_context(closing(UMQClient(self.broker.connect(UMQ))))

    def crowd(self, count: int, listener: str = "") -> Crowd:
        """Connect many at once to the first listener whose description begins so; they are closed with the siege."""
        return self._opened.enter_context(Crowd(self.broker.port_of(listener), count))


@attrs.frozen
class Outcome:
    """What came of an attack."""

    attack: Attack
    title: str
    figures: Figures
    #: What the broker did about it, in words.
    account: str
    #: What did not hold; empty if all did.
    faults: list[str]


@attrs.frozen
class Attack:
    """One attack at two scales."""

    happen: Callable[..., str]
    full: Scale
    smoke: Scale
    _title: str
    _listen: tuple[str, ...]
    _config: str
    _prepare: Callable[[Path], None]
    _ends_broker: bool
    #: Why this attack is not borne yet; empty if it must be. Known defects do not fail a run.
    open_defect: str

    @property
    def name(self) -> str:
        """The word to choose it by."""
        return self.happen.__name__

    def run(self, at: Scale) -> Outcome:
        """Attack a broker of its own, and see what came of it."""
        faults: list[str] = []
        account = ""
        with ExitStack() as opened:
            folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
            self._prepare(folder)
            broker = opened.enter_context(Broker("--config", str(self._write_config(folder))))
            watch = opened.enter_context(Watch(broker))
            with ExitStack() as clients:
                try:
                    account = self.happen(Siege(broker, watch, folder, clients), **at.numbers)
                except Exception as error:  # the other attacks go on
                    faults.append(f"{type(error).__name__}: {error}")
                figures = watch.end()
            if not self._ends_broker and (code := broker.stop()):
                faults.append(f"the broker ended with code {code}")
            faults += [f"log: {line}" for line in broker.log if any(sign in line for sign in _SIGNS_OF_FAULTS)]
        faults += figures.faults(at.memory_mib, at.stall_ms)
        return Outcome(self, self._title.format(**at.numbers), figures, account, faults)

    def _write_config(self, folder: Path) -> Path:
        listen = ", ".join(f'"{place}"' for place in self._listen)
        path = folder / "bus.toml"
        path.write_text(f"listen = [{listen}]\n{self._config}".replace("FOLDER", str(folder)))
        return path


def _nothing(folder: Path) -> None:
    """Most attacks need no files."""


def attack(
    title: str,
    *,
    full: Scale,
    smoke: Scale,
    listen: tuple[str, ...] = ("fmqp:tcp:0", f"{MICROMSG2}tcp:0", f"{UMQ}tcp:0"),
    config: str = "",
    prepare: Callable[[Path], None] = _nothing,
    ends_broker: bool = False,
    open_defect: str = "",
) -> Callable[[Callable[..., str]], Attack]:
    """Make an attack of a function that takes a `Siege` and the numbers of a scale.

    `title` may name the numbers. `config` follows ``listen`` in the broker's configuration file; in both FOLDER stands
    for `Siege.folder`, which `prepare` may fill before the broker starts. With `ends_broker`, the attack sees to the
    broker's end itself.
    """
    return lambda happen: Attack(happen, full, smoke, title, listen, config, prepare, ends_broker, open_defect)
