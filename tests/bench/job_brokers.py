"""Which brokers of jobs are measured, with which workers?

EventMQ needs pins of its own, and rq and Celery are nothing that we need: each is in a Python of its own, which the
command line names.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import attrs

from tests.bench import brokers
from tests.bench.brokers import Broker

ROOT = Path(__file__).parents[2]
#: What is in which Python; set by the command line.
PYTHONS: dict[str, str] = {}

PROCESSES = 4
_NOOP = "tests.bench.jobs.plain:noop"


def _python(module: str) -> Callable[[], str]:
    return lambda: PYTHONS[module]


def _missing(*modules: str, program: str = "") -> Callable[[], str]:
    """Say which module, or program, is not to be had."""

    def find() -> str:
        for module in modules:
            if module not in PYTHONS:
                return f"no Python with {module} was named by --{module}"
            if subprocess.run([PYTHONS[module], "-c", f"import {module}"], capture_output=True, check=False).returncode:
                return f"{PYTHONS[module]} has no {module}"
        return "" if not program or brokers.find_program(program) else f"{program} is not installed"

    return find


def _version(module: str, distribution: str, title: str) -> Callable[[], str]:
    def ask() -> str:
        code = f"from importlib.metadata import version; print(version({distribution!r}))"
        said = subprocess.run([PYTHONS.get(module, sys.executable), "-c", code], capture_output=True, text=True)
        return f"{title} {said.stdout.strip() or 'of an unknown version'}"

    return ask


def _with(settings: dict[str, object], *command: str) -> list[str]:
    """A command in an environment, with the jobs where it finds them."""
    return [
        "env",
        "-C",
        str(ROOT),
        f"PYTHONPATH={ROOT}",
        *(f"{key}={value}" for key, value in settings.items()),
        *command,
    ]


def _fmqbus(port: int, folder: Path) -> list[str]:
    twistd = str(Path(sys.executable).with_name("twistd"))
    sockets = f"frontend={port}:backend={port + 1}:admin={port + 2}"
    listen = f"emqp:zmq:interface=127.0.0.1:{sockets}"
    return [sys.executable, twistd, "--nodaemon", "--pidfile=", "fmqbus", "--listen", listen]


def _eventmq(program: str, port: int) -> list[str]:
    """As it comes; its log of writes, which it opens in any case, goes nowhere."""
    places = {"FRONTEND_ADDR": port, "BACKEND_ADDR": port + 1, "ADMINISTRATIVE_ADDR": port + 2, "WORKER_ADDR": port + 1}
    settings = {f"EVENTMQ_{name}": f"tcp://127.0.0.1:{place}" for name, place in places.items()}
    python = PYTHONS["eventmq"]
    return _with({**settings, "EVENTMQ_WAL": "/dev/null"}, python, str(Path(python).with_name(program)))


def _jobmanager(port: int, folder: Path) -> list[list[str]]:
    """One, unmodified, with the four processes that it has unless told otherwise."""
    return [_eventmq("emq-jobmanager", port)]


def _our_worker(port: int, folder: Path) -> list[list[str]]:
    code = "from fmqbus.cli.main import main; main()"
    broker = f"tcp://127.0.0.1:{port + 1}"
    options = ["--broker", broker, "--processes", str(PROCESSES), "--allow", _NOOP]
    return [_with({}, sys.executable, "-c", code, "work", *options)]


def _redis(port: int, folder: Path) -> list[str]:
    """In memory, as our queues are."""
    return ["redis-server", "--port", str(port), "--dir", str(folder), "--save", "", "--appendonly", "no"]


def _rq_workers(port: int, folder: Path) -> list[list[str]]:
    """Of those that it has, the kind that does not begin a process for each job."""
    rq = str(Path(PYTHONS["rq"]).with_name("rq"))
    url = f"redis://127.0.0.1:{port}/0"
    pool = ["worker-pool", "default", "-n", str(PROCESSES), "-w", "rq.worker.SimpleWorker", "-u", url, "-q"]
    return [_with({}, PYTHONS["rq"], rq, *pool)]


def _celery_workers(port: int, folder: Path) -> list[list[str]]:
    options = ["-A", "tests.bench.jobs.celery_app", "worker", "-c", str(PROCESSES), "-l", "WARNING"]
    settings = {"BENCH_REDIS": f"redis://127.0.0.1:{port}/0"}
    return [_with(settings, PYTHONS["celery"], "-m", "celery", *options)]


#: None of them is one thread: ZeroMQ has its own, and workers are processes.
EMQP = Broker("fmqbus", "emqp", "loadgen_jobs.c", _fmqbus, brokers.fmqbus_version, one_core=False)
EVENTMQ = Broker(
    "EventMQ",
    "eventmq",
    "loadgen_jobs.c",
    lambda port, folder: _eventmq("emq-router", port),
    _version("eventmq", "eventmq", "EventMQ"),
    one_core=False,
    missing=_missing("eventmq"),
)
#: With EventMQ's jobmanager, whoever is the broker.
EMQP_FOR_EVENTMQ = attrs.evolve(EMQP, beside=_jobmanager, missing=_missing("eventmq"))
EVENTMQ_WHOLE = attrs.evolve(EVENTMQ, beside=_jobmanager)

EMQP_WHOLE = attrs.evolve(EMQP, source="load_jobs.py", beside=_our_worker)
RQ = Broker(
    "rq",
    "rq",
    "load_jobs.py",
    _redis,
    _version("rq", "rq", "rq"),
    one_core=False,
    beside=_rq_workers,
    python=_python("rq"),
    missing=_missing("rq", program="redis-server"),
)
CELERY = attrs.evolve(
    RQ,
    name="Celery",
    protocol="celery",
    version=_version("celery", "celery", "Celery"),
    beside=_celery_workers,
    python=_python("celery"),
    missing=_missing("celery", program="redis-server"),
)
