"""Check any broker of eMQP/1.0 with EventMQ's own programs.

Needs a Python that has EventMQ, which wants to be installed so:

    python3.11 -m venv V
    V/bin/pip install pyzmq 'six>=1.14,<2' monotonic==0.4 croniter==0.3.10 future==1.0.0 psutil
    V/bin/pip install --no-deps eventmq==0.3.13
    V/bin/python -m tests.interop.probe --frontend tcp://127.0.0.1:47291 --backend tcp://127.0.0.1:47290

It starts a jobmanager, and if asked a scheduler and the command line, hands in jobs by the client, and prints a line
for each check. Exits with 0 if all that count were passed. EventMQ's own broker tells clients no results, so a result
only counts with --expect-result; --self-test probes that broker.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.interop.programs import JOBS_MODULE, Programs, free_endpoints, marks, wait_for

#: EventMQ's peers give up after three times five seconds of silence.
_IDLE_SECONDS = 17.0
_SLOTS = 2

STATUS = (
    "inflight_messages_by_queue",
    "latency_messages_by_queue",
    "max_latency_messages_by_queue",
    "waiting_messages_by_queue",
    "processed_messages_by_queue",
    "processed_messages_by_worker",
    "connected_workers",
    "connected_queues",
    "connected_schedulers",
)


class Probe:
    """The checks, in their order. The endpoints are those of the command line."""

    def __init__(self, programs: Programs, places: argparse.Namespace) -> None:
        self.failed = 0
        self._programs = programs
        self._places = places
        self._marks = programs.folder / "marks"
        # EventMQ reads it when it decorates
        os.environ["EMQ_BROKER_ADDR"] = places.frontend
        from eventmq.client import messages
        from eventmq.sender import Sender

        self._messages = messages
        self._new_sender: Callable[[], Any] = Sender
        self._client = Sender()
        self._client.connect(places.frontend)
        self._jobmanager = programs.jobmanager(places.backend, _SLOTS)

    def run(self) -> None:
        """All that was asked for."""
        self.first_jobs()
        self.fire_and_forget()
        self.more_jobs_than_slots()
        self.unknown_queue()
        self.heartbeats()
        if self._places.scheduler:
            self.scheduler()
        if self._places.admin:
            self.command_line()
        if self._places.pub_in and self._places.pub_out:
            self.publications()
        status = self._jobmanager.terminate()
        self.check(status == 0, "jobmanager leaves", f"exit status {status} after SIGTERM; it says KBYE")

    def check(self, is_so: bool, name: str, detail: str = "", does_count: bool = True) -> None:
        """Say how it was."""
        verdict = "PASS" if is_so else "FAIL" if does_count else "INFO"
        self.failed += verdict == "FAIL"
        print(f"{verdict:4} {name:22} {detail}", flush=True)

    # the checks

    def first_jobs(self) -> None:
        """One before the first READY, since the jobmanager starts its processes at the first HEARTBEAT, and one after.
        Each is told a result."""
        for name in ("cold", "warm"):
            id = self._defer("mark", name, reply_requested=True)
            self.check_ran(f"{name} job", name)
            heard = self._heard(3.0)
            told = [parts for parts in heard if parts[2] == "REPLY" and parts[4] == json.dumps({"value": name})]
            accepted = [parts[2] for parts in heard if parts[2] in ("ACK", "REPLY") and parts[4:] == [id]]
            print(f"INFO {name + ' submission':22} {accepted or 'no answer'}")
            self.check(all(parts[:2] == ["", "eMQP/1.0"] for parts in heard), f"{name} envelope")
            is_ours = any(len(parts) < 6 or parts[5] == id for parts in told)
            self.check(is_ours, f"{name} result", str(told or "none came"), self._places.expect_result)

    def fire_and_forget(self) -> None:
        """The decorator has a socket for the call, which it closes at once."""
        __import__(JOBS_MODULE).delayed.delay(str(self._marks), "two")
        self.check_ran("fire and forget", "two")

    def more_jobs_than_slots(self) -> None:
        """Each runs once."""
        tokens = [f"n{number}" for number in range(4 * _SLOTS)]
        for token in tokens:
            self._defer("mark", token)
        self.check_ran("more jobs than slots", *tokens)
        ran = marks(self._marks)
        self.check(len(ran) == len(set(ran)), "each of them once")

    def unknown_queue(self) -> None:
        """EventMQ's broker takes it for ``default``."""
        self._defer("mark", "lost-queue", queue="no-such-queue")
        self.check_ran("unknown queue", "lost-queue")

    def heartbeats(self) -> None:
        """Both ways, or the jobmanager would INFORM again."""
        time.sleep(_IDLE_SECONDS)
        self._defer("mark", "late")
        self.check_ran("heartbeats", "late")
        informs = self._jobmanager.log.count("'INFORM'")
        self.check(informs == 1, "one INFORM", f"{informs} in {_IDLE_SECONDS:g} s")

    def scheduler(self) -> None:
        """A job by interval, until it is taken back."""
        scheduler, ticks = self._programs.scheduler(self._places.frontend), self._programs.folder / "ticks"
        took = wait_for(lambda: "Received ACK" in scheduler.log, 20.0)
        self.check(took is not None, "scheduler INFORM/ACK")
        call = {"func": f"{JOBS_MODULE}.mark", "args": (str(ticks), "tick")}
        self._messages.schedule(self._client, interval_secs=1, **call)
        took = wait_for(lambda: len(marks(ticks)) >= 3, 20.0)
        self.check(took is not None, "SCHEDULE", f"{len(marks(ticks))} runs")
        self._messages.schedule(self._client, unschedule=True, **call)
        time.sleep(2.5)
        before = len(marks(ticks))
        time.sleep(3.0)
        self.check(len(marks(ticks)) == before, "UNSCHEDULE", f"{before} runs, then {len(marks(ticks))}")

    def command_line(self) -> None:
        """It prints whatever JSON it is told; all the names are there."""
        printed = self._programs.command_line(self._places.admin, "status", "show_workers", "show_schedulers")
        missing = [name for name in STATUS if name not in printed]
        self.check(not missing, "emq-cli", f"missing: {missing}" if missing else "")

    def publications(self) -> None:
        """To those who have subscribed to how the topic begins."""
        import zmq

        subscriber: Any = zmq.Context.instance().socket(zmq.SUB)
        subscriber.linger = 0
        subscriber.subscribe(b"probe.")
        subscriber.connect(self._places.pub_out)
        publisher = self._new_sender()
        publisher.connect(self._places.pub_in)
        time.sleep(0.5)
        self._messages.send_publish_request(publisher, "other", ["no"])
        self._messages.send_publish_request(publisher, "probe.topic", ["update", "1"])
        heard = subscriber.recv_multipart() if subscriber.poll(3000) else None
        self.check(heard == [b"probe.topic", b'["update", "1"]'], "PUBLISH", repr(heard))

    # what they are made of

    def check_ran(self, what: str, *tokens: str) -> None:
        """These jobs leave their marks."""
        took = wait_for(lambda: set(tokens) <= set(marks(self._marks)), 20.0)
        self.check(took is not None, what, "" if took is None else f"after {took:.2f} s")

    def _defer(self, function: str, token: str, **options: object) -> str:
        args = (str(self._marks), token)
        id: str = self._messages.defer_job(self._client, f"{JOBS_MODULE}.{function}", args=args, **options)
        return id

    def _heard(self, seconds: float) -> list[list[str]]:
        heard, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            if self._client.zsocket.poll(50):
                heard.append([part.decode() for part in self._client.zsocket.recv_multipart()])
        return heard


def main() -> int:
    """Read the command line."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--frontend", "--backend", "--admin", "--pub-in", "--pub-out"):
        arguments.add_argument(name, metavar="ENDPOINT")
    for name in ("--scheduler", "--expect-result", "--self-test"):
        arguments.add_argument(name, action="store_true")
    places = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder, Programs(Path(folder)) as programs:
        sys.path.insert(0, folder)
        if places.self_test:
            _start_eventmqs_own(programs, places)
        elif not (places.frontend and places.backend):
            arguments.error("--frontend and --backend, or --self-test, are needed")
        probe = Probe(programs, places)
        probe.run()
    print(f"{probe.failed} failed")
    return 1 if probe.failed else 0


def _start_eventmqs_own(programs: Programs, places: argparse.Namespace) -> None:
    own = free_endpoints()
    programs.broker(own)
    places.frontend, places.backend, places.admin, places.pub_in, places.pub_out = own.values()
    places.scheduler = True
    time.sleep(1.5)


if __name__ == "__main__":
    sys.exit(main())
