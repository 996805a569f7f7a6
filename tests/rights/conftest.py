"""One bus with listeners of all protocols and a policy file, which tests change while it runs."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from fmqbus.model import Action
from tests.crossing.speakers import Speaker
from tests.crossing.umq import UMQ
from tests.live.broker import PATIENCE_SECONDS, Broker
from tests.rights.actors import ACTORS, Actor
from tests.rights.effects import Witness

#: The witness comes from here: it is on this machine too, but not where the others are.
_WITNESS = "127.0.0.2"

_DENIED = """
[[rules]]
effect = "deny"
actions = ["{action}"]
who = ["*"]
from = ["address:127.0.0.1"]
names = ["{name}"]
"""
_ALLOWED = """
[[rules]]
effect = "allow"
actions = "*"
who = ["local"]
names = ["**", "$/**"]
"""


class RuledBus:
    """A broker in a child process, whose policy denies what a test says."""

    def __init__(self, folder: Path) -> None:
        self._policy = folder / "policy.toml"
        self._write()
        listens = [kind.listens or f"{kind.protocol}:tcp:0" for kind, _ in ACTORS.values()]
        config = folder / "bus.toml"
        config.write_text(f'listen = {listens}\n[access]\nauthorizers = ["policy"]\npolicy = "policy.toml"\n')
        self.broker = Broker("--config", str(config))
        self._reloads = 0

    def deny(self, action: Action, name: bytes) -> None:
        """From now on; nothing else is denied."""
        self._write(_DENIED.format(action=action.value, name=name.decode()))
        self._reload()

    def allow_all(self) -> None:
        """From now on."""
        self._write()
        self._reload()

    def _write(self, denied: str = "") -> None:
        self._policy.write_text(denied + _ALLOWED)

    def _reload(self) -> None:
        self._reloads += 1
        self.broker.signal(signal.SIGHUP)
        self.broker.wait_for("access rules are reloaded", self._reloads)


@pytest.fixture(scope="package")
def ruled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RuledBus]:
    """For all tests; each has names of its own."""
    bus = RuledBus(tmp_path_factory.mktemp("rights"))
    with bus.broker:
        yield bus


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """What is closed after the test."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def join(ruled: RuledBus, opened: ExitStack) -> Callable[[str], Actor]:
    """Connects one of a protocol."""

    def connect(protocol: str) -> Actor:
        kind, actor = ACTORS[protocol]
        speaker: Speaker = opened.enter_context(closing(kind.join(ruled.broker)))
        made: Actor = actor(speaker)  # type: ignore[operator]
        return made

    return connect


@pytest.fixture
def witness(ruled: RuledBus, opened: ExitStack) -> Witness:
    """One who may do everything."""
    port = ruled.broker.port_of("umq:")
    connection = socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS, source_address=(_WITNESS, 0))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return Witness(opened.enter_context(closing(UMQ(connection))))
