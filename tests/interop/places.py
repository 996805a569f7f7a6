"""Where a broker of ours is for EventMQ's programs, and their client at work there."""

from __future__ import annotations

import json
import subprocess
import threading
from typing import Any

from tests.interop.programs import JOBS_MODULE, PATIENCE_SECONDS, Programs
from tests.live.broker import Broker
from tests.live.emqp_peers import ports_of


def endpoints_of(broker: Broker) -> dict[str, str]:
    """As ZeroMQ writes them, by the names of the sockets."""
    return {name: f"tcp://127.0.0.1:{port}" for name, port in ports_of(broker).items()}


def same_places(broker: Broker) -> str:
    """A listen string for exactly those."""
    return "emqp:zmq:" + ":".join(f"{name}={port}" for name, port in ports_of(broker).items())


class RealClient:
    """EventMQ's client, in a process of its own."""

    def __init__(self, programs: Programs, frontend: str) -> None:
        self.heard: list[list[str]] = []
        self._sent: list[str] = []
        self._grown = threading.Condition()
        self._program = programs.start("-m", "tests.interop.real_client", frontend, stdin=subprocess.PIPE)
        threading.Thread(target=self._read, daemon=True).start()

    def defer(self, function: str, *args: object, module: str = JOBS_MODULE, **options: object) -> str:
        """Hand in a job; returns its id."""
        before = len(self._sent)
        self._call("defer_job", func=f"{module}.{function}", args=args, **options)
        with self._grown:
            assert self._grown.wait_for(lambda: len(self._sent) > before, PATIENCE_SECONDS), "nothing is sent"
            return self._sent[before]

    def result(self, id: str) -> Any:
        """What it is told of a job in the end."""

        def told() -> list[str]:
            return [parts[4] for parts in self.heard if parts[2] == "REPLY" and parts[5:] == [id]]

        with self._grown:
            assert self._grown.wait_for(told, PATIENCE_SECONDS), f"no result among {self.heard}"
            return json.loads(told()[0])

    def _call(self, name: str, **arguments: object) -> None:
        pipe = self._program.process.stdin
        assert pipe is not None
        pipe.write(json.dumps([name, arguments]) + "\n")
        pipe.flush()

    def _read(self) -> None:
        assert self._program.process.stdout is not None
        for line in self._program.process.stdout:
            said = json.loads(line)
            with self._grown:
                if "sent" in said:
                    self._sent.append(said["sent"])
                else:
                    self.heard.append(said["heard"])
                self._grown.notify_all()
