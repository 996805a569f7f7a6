"""Which brokers are measured, and how is one started and stopped?"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

import attrs
import zmq

import fmqbus

START_SECONDS = 30
STOP_SECONDS = 10
#: That a broker has at most, one after the other.
PORTS = 3

#: The load generator runs on the first core; a broker that uses only one gets the other.
LOAD_CORE, BROKER_CORE = 0, 1


@attrs.frozen
class Broker:
    """A program that listens on loopback."""

    name: str
    #: The load generator's word for what it speaks, and the program that does.
    protocol: str
    source: str
    #: Given the port, and a folder for its files that is removed afterwards.
    command: Callable[[int, Path], list[str]]
    version: Callable[[], str]
    one_core: bool = True
    #: For the load generator, besides those of the workload.
    options: str = ""
    #: It accepts before it is ready: what its log then says.
    says_ready: str = ""
    #: What else is to be run when it has ended; given the port.
    afterwards: Callable[[int], list[str]] | None = None
    #: Programs that it needs beside it, workers mostly; given the port and the folder.
    beside: Callable[[int, Path], list[list[str]]] | None = None
    #: The Python that a load generator in Python runs in.
    python: Callable[[], str] = lambda: sys.executable
    #: What is not here, and how to name it; empty if nothing is missing.
    missing: Callable[[], str] = str


def _fmqbus(protocol: str, configuration: str = "") -> Callable[[int, Path], list[str]]:
    """The complete broker with its defaults: access control, statistics, limits and outbox policies are on."""

    return _fmqbus_at(f"{protocol}:tcp:{{port}}:interface=127.0.0.1", configuration)


def _fmqbus_at(listen: str, configuration: str = "") -> Callable[[int, Path], list[str]]:
    """The same with any listen string, in which the port is ``{port}``."""

    def command(port: int, folder: Path) -> list[str]:
        twistd = str(Path(sys.executable).with_name("twistd"))
        settings = folder / "fmqbus.toml"
        settings.write_text(configuration.format(folder=folder))
        options = ["--config", str(settings), "--listen", listen.format(port=port)]
        return [sys.executable, twistd, "--nodaemon", "--pidfile=", "fmqbus", *options]

    return command


def _forwarder(port: int, folder: Path) -> list[str]:
    """A ROUTER socket of pyzmq, and a loop."""
    return [sys.executable, str(Path(__file__).with_name("forwarder.py")), str(port)]


def _nobody(port: int, folder: Path) -> list[str]:
    """What listens, and does nothing."""
    program = "import signal, socket, sys; all = socket.create_server(('127.0.0.1', int(sys.argv[1]))); signal.pause()"
    return [sys.executable, "-c", program, str(port)]


def _zeromq_version() -> str:
    return f"libzmq {zmq.zmq_version()}, pyzmq {zmq.pyzmq_version()}"


#: Nothing but the policy is asked. The last of its rules lets the load generator do what it does, all others are about
#: somebody else, or about other names.
_POLICY = '[access]\nauthorizers = ["policy"]\npolicy = "policy.toml"\n'
_OTHER_RULES = 999
_WHO = ("*", "local", "address:127.0.0.0/8", "identity:device-{}", "group:line-{}", "san:dns:host-{}.example")


def rules() -> str:
    """A policy of 1,000 rules."""
    other = (
        f'[[rules]]\neffect = "{("allow", "deny")[number % 2]}"\nactions = "*"\n'
        f'who = ["{_WHO[number % len(_WHO)].format(number)}"]\n'
        f'names = ["site/{number % 10}/line/{number}/**", "home/{{identity}}/{number}/*"]\n'
        for number in range(_OTHER_RULES)
    )
    last = '[[rules]]\neffect = "allow"\nactions = "*"\nwho = ["local"]\nnames = ["**", "$/**"]\n'
    last = '[[rules]]\neffect = "allow"\nactions = "*"\nwho = ["local"]\nnames = ["**", "$/**"]\n'
    return "\n".join([*other, last])


def _with_rules(port: int, folder: Path) -> list[str]:
    (folder / "policy.toml").write_text(rules())
    return _fmqbus("fmqp", _POLICY)(port, folder)


def _nats(port: int, folder: Path) -> list[str]:
    return [_program("nats-server"), "--addr", "127.0.0.1", "--port", str(port)]


def _mosquitto(port: int, folder: Path) -> list[str]:
    """As it comes, but dropping nothing: the load generator itself bounds what is under way."""
    settings = folder / "mosquitto.conf"
    settings.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\nmax_queued_messages 0\nlog_type error\n"
    )
    return [_program("mosquitto"), "-c", str(settings)]


def _rabbitmq(port: int, folder: Path) -> list[str]:
    """As it comes, without plugins, and with all its files in the folder."""
    (folder / "plugins").write_text("[].")
    settings = {
        "HOME": folder,
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": port + 1,
        "RABBITMQ_DIST_PORT": port + 2,
        "RABBITMQ_NODENAME": "bench@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": port,
        "RABBITMQ_MNESIA_BASE": folder / "db",
        "RABBITMQ_LOG_BASE": folder / "logs",
        "RABBITMQ_ENABLED_PLUGINS_FILE": folder / "plugins",
    }
    server = "/usr/lib/rabbitmq/bin/rabbitmq-server"  # what Debian has on the path wants to be another user
    if not Path(server).exists():
        sys.exit("rabbitmq-server is not installed")
    return ["env", *(f"{name}={value}" for name, value in settings.items()), server]


def _crossbar(port: int, folder: Path) -> list[str]:
    """One realm in which everybody may do everything, over WebSocket with JSON."""
    everything = {"call": True, "register": True, "publish": True, "subscribe": True}
    permissions = [{"uri": "", "match": "prefix", "allow": everything, "cache": True}]
    transport = {
        "type": "websocket",
        "endpoint": {"type": "tcp", "interface": "127.0.0.1", "port": port},
        "serializers": ["json"],
    }
    roles = [{"name": "anonymous", "permissions": permissions}]
    worker = {"type": "router", "realms": [{"name": "realm1", "roles": roles}], "transports": [transport]}
    settings = folder / "crossbar"
    settings.mkdir()
    (settings / "config.json").write_text(json.dumps({"version": 2, "workers": [worker]}))
    return [_program("crossbar"), "start", "--cbdir", str(settings)]


def _crossbar_version() -> str:
    said = subprocess.run([_program("crossbar"), "version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"Crossbar\.io\s*:\s*(?:Crossbar\.io )?(\S+)", said)
    return f"Crossbar.io {found[1] if found else 'of an unknown version'}"


def fmqbus_version() -> str:
    """With the commit that is measured."""
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False)
    return f"fmqbus {fmqbus.__version__} ({commit.stdout.strip() or 'no commit'})"


def _program(name: str) -> str:
    return find_program(name) or sys.exit(f"{name} is not installed")


def find_program(name: str) -> str | None:
    """Find it also where Debian keeps servers, which is not on every user's path."""
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], "/usr/sbin"]))


def _says(*command: str) -> str:
    """The first line that a program prints."""
    printed = subprocess.run([_program(command[0]), *command[1:]], capture_output=True, text=True, check=False).stdout
    return printed.partition("\n")[0]


def _rabbitmq_version() -> str:
    package = subprocess.run(["dpkg-query", "-W", "rabbitmq-server"], capture_output=True, text=True, check=False)
    return "RabbitMQ " + (package.stdout.split() or ["?", "of an unknown version"])[1]


_DURABLE = """
message_store = "sqlite"
[stores.sqlite]
path = "{folder}/bus.db"
"""

_JOURNAL = """
[journal]
path = "{folder}/journal"
keep = "full"
"""

FMQBUS = Broker("fmqbus", "fmqp", "loadgen.c", _fmqbus("fmqp"), fmqbus_version)
NATS = Broker("NATS", "nats", "loadgen.c", _nats, lambda: _says("nats-server", "--version"), one_core=False)
MOSQUITTO = Broker("Mosquitto", "mqtt", "loadgen.c", _mosquitto, lambda: _says("mosquitto", "-h"))

QUEUES = Broker("fmqbus", "micromsg2", "loadgen_queues.c", _fmqbus("micromsg2"), fmqbus_version)
DURABLE_QUEUES = attrs.evolve(QUEUES, command=_fmqbus("micromsg2", _DURABLE))
RABBITMQ = Broker(
    "RabbitMQ",
    "amqp",
    "loadgen_queues.c",
    _rabbitmq,
    _rabbitmq_version,
    one_core=False,
    says_ready="Starting broker... completed",
    afterwards=lambda port: ["epmd", "-port", str(port + 1), "-kill"],
)
UMQ = Broker("fmqbus", "umq", "loadgen_websocket.c", _fmqbus("umq"), fmqbus_version, options="--path /umq")
CROSSBAR = Broker(
    "Crossbar.io",
    "wamp",
    "loadgen_websocket.c",
    _crossbar,
    _crossbar_version,
    one_core=False,
    options="--path /",
    says_ready="NODE_BOOT_COMPLETE",
)
#: Neither is one thread, as ZeroMQ has its own.
MTL = Broker("fmqbus", "mtl", "load_mtl.py", _fmqbus_at("mtl:zmq:{port}:interface=127.0.0.1"), fmqbus_version, False)
FORWARDER = Broker("forwarder", "bare", "load_mtl.py", _forwarder, _zeromq_version, False)
#: With a journal of everything, and of everything but the payloads; and without one, as a peer.
JOURNALED = attrs.evolve(FMQBUS, command=_fmqbus("fmqp", _JOURNAL))
HEADS_JOURNALED = attrs.evolve(FMQBUS, command=_fmqbus("fmqp", _JOURNAL.replace("full", "heads")))
UNJOURNALED = attrs.evolve(FMQBUS, name="no journal")
#: Nobody who listens, and a program that writes as the journal does.
DISK = Broker("the disk", "disk", "load_disk.py", _nobody, lambda: "the disk as it is", one_core=False)
#: Without acknowledgements, as FMQP is; and that, as a peer.
UNACKNOWLEDGED = attrs.evolve(QUEUES, options="--plain")
FMQP = attrs.evolve(FMQBUS, name="FMQP")


#: With a policy; and that without one, as a peer.
RULED = attrs.evolve(FMQBUS, command=_with_rules)
UNRULED = attrs.evolve(FMQBUS, name="without")


@contextmanager
def running(broker: Broker) -> Iterator[tuple[int, list[int]]]:
    """Start the broker on a free port, and what it needs beside it; give the port and the process ids, the broker's
    first; stop them in the end.

    Exits with the broker's last words if it does not start.
    """
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        log, port = folder / "log", _free_port()
        output = stack.enter_context(log.open("wb"))
        process = stack.enter_context(_process(broker.command(port, folder), output))
        prefer(process.pid, BROKER_CORE if broker.one_core else None)
        if not _accepts(port, process) or not _says_in(log, broker.says_ready, process):
            sys.exit(f"{broker.name} did not start:\n{log.read_text(errors='replace')[-2000:]}")
        beside = broker.beside(port, folder) if broker.beside is not None else []
        workers = [stack.enter_context(_process(command, output)) for command in beside]
        yield port, [process.pid, *(worker.pid for worker in workers)]
    if broker.afterwards is not None:
        subprocess.run(broker.afterwards(port), capture_output=True, check=False)


@contextmanager
def _process(command: list[str], output: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program, and end it with all that it has started."""
    process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def prefer(pid: int, core: int | None) -> None:
    """Keep other programs from disturbing a process: by a core of its own, and by rank where we may give it."""
    if core is not None and os.cpu_count() != 1:
        os.sched_setaffinity(pid, {core})
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, pid, -20)


def _says_in(log: Path, words: str, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the log has these words; False if the broker ended or took too long."""
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        if words in log.read_text(errors="replace"):
            return True
        time.sleep(0.05)
    return False


def _free_port() -> int:
    """The first of some neighbours that are free: several brokers have more than one."""
    while True:
        with ExitStack() as stack:
            probe = stack.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
            with suppress(OSError, OverflowError):
                for neighbour in range(port + 1, port + PORTS):
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", neighbour))
                return port


def _accepts(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the broker accepts a connection; False if it ended or took too long."""
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return True
        time.sleep(0.05)
    return False
