"""Does the example for production do what docs/operate.md says of it? (examples/production/)"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.request import urlopen

import attrs
import pytest
from cryptography.x509 import DNSName
from twisted.scripts.twistd import ServerOptions

from fmqbus.auth.user_file import User
from fmqbus.limits import DEFAULT_LIMITS
from tests.auth.users import keys, write
from tests.docs.blocks import ROOT
from tests.docs.confined import confined
from tests.live import broker
from tests.live.broker import PATIENCE_SECONDS, Broker
from tests.transports.certificates import issue

EXAMPLE = ROOT / "examples" / "production"
UNITS = sorted(EXAMPLE.glob("*.service"))

_PROGRAM = "from fmqbus.cli.main import main; main()"


def commands_in(unit: Path) -> dict[str, list[str]]:
    """What a unit runs, by the key that says so."""
    found = re.findall(r"^(Exec\w+)=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
    return {key: shlex.split(command) for key, command in found}


def setting_of(unit: Path, key: str) -> str:
    """What stands after a key."""
    [value] = re.findall(rf"^{key}=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE)
    return str(value)


@attrs.frozen
class Machine:
    """One on which the example is installed, below a folder. Ports are free ones."""

    root: Path

    def install(self) -> None:
        """The files, a certificate, and two users."""
        for folder in ("etc", "state", "run"):
            (self.root / folder).mkdir(mode=0o700)
        for file in ("bus.toml", "policy.toml"):
            text = self.placed((EXAMPLE / file).read_text(encoding="utf-8"))
            text = re.sub(r":(ssl|tcp):\d+:interface=[\d.]+", r":\1:0:interface=127.0.0.1", text)
            (self.root / "etc" / file).write_text(text, encoding="utf-8")
        # whoever runs the tests stands for root
        policy = self.root / "etc" / "policy.toml"
        policy.write_text(policy.read_text().replace('"uid:0"', f'"uid:{os.getuid()}"'))
        authority = issue("authority")
        certificate = issue("localhost", authority, [DNSName("localhost")])
        (self.root / "authority.pem").write_bytes(authority.certificate_pem)
        for file, pem in (("tls.key", certificate.key_pem), ("tls.crt", certificate.certificate_pem)):
            (self.root / "etc" / file).write_bytes(pem)
            (self.root / "etc" / file).chmod(0o600)
        write(
            self.root / "etc" / "users.json",
            pump=User(("devices",), keys("open sesame")),
            worker=User(("workers",), keys("tiger")),
        )

    def placed(self, text: str) -> str:
        """The same with the paths of this machine."""
        for path, folder in (("/etc/fmqbus", "etc"), ("/var/lib/fmqbus", "state"), ("/run/fmqbus", "run")):
            text = text.replace(path, str(self.root / folder))
        return text

    def fmqbus(self, *arguments: str, user: str = "", password: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command, as a user if one is named."""
        file = self.root / "password"
        file.write_text(password)
        login = {"FMQBUS_USER": user, "FMQBUS_PASSWORD_FILE": str(file)} if user else {}
        return subprocess.run(
            [sys.executable, "-c", _PROGRAM, *arguments],
            env={**os.environ, "PYTHONPATH": broker.path_of_fmqbus(), **login},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=2 * PATIENCE_SECONDS,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """With all that the page has one put there."""
    machine = Machine(tmp_path)
    machine.install()
    return machine


def test_what_the_units_run_is_what_the_commands_take() -> None:
    """Every option, under the names that it really has."""
    for unit in UNITS:
        program, *arguments = commands_in(unit)["ExecStart"]
        assert program == "/opt/fmqbus/bin/twistd"
        options = ServerOptions()
        options.parseOptions(arguments)
        assert options["nodaemon"]
        assert options["pidfile"] == ""
        assert options.subCommand == unit.stem
        assert str(options.subOptions.get("config", options.subOptions.get("journal"))) in {
            "/etc/fmqbus/bus.toml",
            "/var/lib/fmqbus/journal",
        }


def test_a_bus_gets_the_time_and_the_files_that_it_may_need() -> None:
    """Systemd's bounds are wider than the bus's own."""
    limits = tomllib.loads((EXAMPLE / "bus.toml").read_text(encoding="utf-8"))["limits"]
    unit = EXAMPLE / "fmqbus.service"
    waits = 4 * limits.get("drain_seconds", DEFAULT_LIMITS.drain_seconds)
    assert float(setting_of(unit, "TimeoutStopSec")) > waits + DEFAULT_LIMITS.linger_seconds
    assert int(setting_of(unit, "LimitNOFILE")) > 1.5 * limits["connections"]


def test_systemd_takes_the_units(tmp_path: Path) -> None:
    """Where there is one, it finds nothing wrong with them, and little that a broken bus could do with the machine."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        return
    for unit in UNITS:
        placed = tmp_path / unit.name
        # it wants to see the programs, and users that there are
        text = unit.read_text(encoding="utf-8").replace("/opt/fmqbus/bin/twistd", sys.executable)
        placed.write_text(text.replace("/opt/fmqbus/bin/fmqbus", sys.executable), encoding="utf-8")
        verified = subprocess.run([analyze, "verify", placed], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")
        exposed = subprocess.run(
            [analyze, "security", "--offline=true", "--threshold=20", placed],
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert exposed.returncode == 0, exposed.stdout


def test_the_bus_starts_and_each_may_do_what_the_policy_says(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """By TLS with a password, by the UNIX socket as root, and over HTTP; and nothing else. The sealer finds the
    journal. Both may do no more than their units let them."""
    twistd = broker._TWISTD
    monkeypatch.setattr(broker, "_TWISTD", confined(twistd, EXAMPLE / "fmqbus.service"))
    config = machine.placed("/etc/fmqbus/bus.toml")
    _, *check = commands_in(EXAMPLE / "fmqbus.service")["ExecStartPre"]
    checked = machine.fmqbus(*map(machine.placed, check))
    assert (checked.returncode, checked.stdout) == (0, "OK\n")
    with Broker("--config", config) as bus:
        umq = f"wss://localhost:{bus.port_of('umq:')}/umq?ca={machine.root / 'authority.pem'}"
        told = machine.fmqbus("pub", umq, "state/pump", "on", "--retain", user="pump", password="open sesame")
        assert (told.returncode, told.stdout) == (0, "")
        assert machine.fmqbus("send", umq, "jobs/print", "page 1", user="pump", password="open sesame").returncode == 0
        for topic, user, password in (
            ("state/valve", "pump", "open sesame"),
            ("state/pump", "", ""),
        ):
            assert machine.fmqbus("pub", umq, topic, "on", user=user, password=password).returncode == 1
        operators = f"fmqp+unix://{machine.placed('/run/fmqbus/fmqp.sock')}"
        assert "jobs/print" in machine.fmqbus("queue", "list", operators).stdout
        consumed = machine.fmqbus("consume", umq, "jobs/print", "--count", "1", user="worker", password="tiger")
        assert consumed.stdout == "page 1\n"
        assert machine.fmqbus("sub", operators, "state/*", "--count", "1").stdout == "state/pump on\n"
        http = f"http://127.0.0.1:{bus.port_of('http:')}"
        with urlopen(f"{http}/readyz", timeout=PATIENCE_SECONDS) as ready:
            assert ready.status == 200
        assert bus.stop() == 0
    assert not re.search(r"Traceback|\[.*#(error|critical)\]", bus.text), bus.text
    assert (machine.root / "state" / "bus.db").stat().st_mode & 0o077 == 0
    monkeypatch.setattr(broker, "_TWISTD", confined(twistd, EXAMPLE / "fmqbus-sealer.service"))
    _, *_, folder = commands_in(EXAMPLE / "fmqbus-sealer.service")["ExecStart"]
    sealer = Broker("--wait", "0.1", machine.placed(folder), command="fmqbus-sealer").launch()
    sealer.wait_for(r"sealed \S+: \d+ rows")
    sealer.signal(signal.SIGTERM)
    sealer.wait()
