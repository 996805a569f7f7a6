"""Does docs/start.md tell the truth? Its commands are run as they stand."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fmqbus
from tests.live.broker import PATIENCE_SECONDS, Broker

PAGE = Path(__file__).parents[1] / "docs" / "start.md"
COMMANDS = re.findall(r"^    (fmqbus .+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
SUB, PUB, WATCH, PUB_ON_DEMAND, SUB_BY_UMQ, PUB_BY_MICROMSG2 = COMMANDS


class Reader:
    """A reader of the page, who has a terminal for each command."""

    def __init__(self, broker: Broker) -> None:
        package = Path(fmqbus.__file__).parents[1]
        self._environment = os.environ | {"FMQBUS_URL": f"fmqp://127.0.0.1:{broker.port}", "PYTHONPATH": str(package)}

    @contextmanager
    def running(self, command: str) -> Iterator[Iterator[str]]:
        """Run a command; give the lines that it prints, which end when patience does."""
        program, *arguments = shlex.split(command)
        assert program == "fmqbus"
        child = subprocess.Popen(
            [sys.executable, "-c", "from fmqbus.cli.main import main; main()", *arguments],
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        patience = threading.Timer(PATIENCE_SECONDS, child.kill)
        patience.start()
        assert child.stdout is not None
        try:
            yield (line.rstrip() for line in child.stdout)
        finally:
            patience.cancel()
            child.terminate()
            child.communicate()

    def run(self, command: str) -> list[str]:
        """Run a command to its end."""
        with self.running(command) as lines:
            return list(lines)


def test_the_commands_of_the_page_do_what_it_says() -> None:
    """What is published arrives, and the watcher hears of the subscriber."""
    with Broker() as broker:
        reader = Reader(broker)
        with reader.running(WATCH) as demand, reader.running(SUB) as received:
            assert next(demand) == "room/* 1"
            assert reader.run(PUB) == []
            assert next(received) == "room/temperature 21.5"
            assert reader.run(PUB_ON_DEMAND) == []
            assert next(received) == "room/humidity 40"
        assert broker.stop() == 0


def test_what_is_said_in_one_protocol_is_heard_in_another() -> None:
    """At the ports of this broker, not at those that the page has. The watcher hears of UMQ's subscriber too."""
    places = {"fmqp": "7700", "umq": "7702", "micromsg2": "8334"}
    with Broker(*(word for name in places for word in ("--listen", f"{name}:tcp:0"))) as broker:
        reader = Reader(broker)
        ports = {port: str(broker.port_of(f"{name}:")) for name, port in places.items()}
        sub = SUB_BY_UMQ.replace(":7702/", f":{ports['7702']}/")
        pub = PUB_BY_MICROMSG2.replace(":8334 ", f":{ports['8334']} ")
        assert (sub, pub) != (SUB_BY_UMQ, PUB_BY_MICROMSG2)
        with reader.running(WATCH) as demand, reader.running(sub) as received:
            assert next(demand) == "room/* 1"
            assert reader.run(pub) == []
            assert next(received) == "room/temperature 21.5"
        assert broker.stop() == 0
