"""A real broker that lets in by keys or by passwords, and real clients, workers and commands that have some or none."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_twisted
from sample_application import jobs as sample_jobs
from twisted.internet import reactor
from twisted.internet.threads import deferToThread

from fmqbus.client.emqp import EMQPClient
from fmqbus.client.emqp_blocking import BlockingEMQPClient, JobFailed
from fmqbus.errors import CallFailed
from fmqbus.transports.zeromq.key_writing import write_new_pair
from fmqbus.transports.zeromq.keys import KeyPair
from fmqbus.transports.zeromq.passport import plain
from tests.auth.users import write as write_users
from tests.cli import commands
from tests.live.broker import PATIENCE_SECONDS, Broker

HERE = "sample_application.jobs"
PORTS = "emqp:zmq:frontend=0:backend=0:interface=127.0.0.1"
CONFIG = """\
listen = ["{listen}"]

[users]
file = "{users}"

[access]
authorizers = ["rules"]

[[access.rules]]
effect = "allow"
actions = ["enqueue", "consume"]
who = {who}
names = ["**"]
"""


class Keyed:
    """A broker, and the keys of those who may come."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clients = folder / "clients"
        self.clients.mkdir()
        for name in ("broker", "client", "worker", "stranger"):
            write_new_pair(folder, name, KeyPair.new())
        for name in ("client", "worker"):
            self.let_in(name)

    def let_in(self, name: str) -> None:
        """Put a key into the folder of those who may come."""
        (self.clients / f"{name}.key").write_bytes((self.folder / f"{name}.key").read_bytes())

    @property
    def listen(self) -> str:
        """The listen string."""
        return f"{PORTS}:curveKey={self.folder / 'broker.key_secret'}:curveClients={self.clients}"

    def url(self, port: int, name: str) -> str:
        """Where somebody connects to."""
        return f"emqp://127.0.0.1:{port}?server-key={self.folder / 'broker.key'}&key={self.folder / name}.key_secret"


@contextmanager
def started(folder: Path, listen: str, who: str) -> Iterator[tuple[Broker, int, int]]:
    """A broker with the usual users, and its two ports."""
    users = write_users(folder / "users.json")
    config = folder / "bus.toml"
    config.write_text(CONFIG.format(listen=listen, users=users, who=who))
    with Broker("--config", str(config)) as broker:
        said = broker.wait_for(r"eMQP has frontend=(\d+), backend=(\d+)")
        yield broker, int(said[1]), int(said[2])


@contextmanager
def worker(url: str) -> Iterator[Broker]:
    """Under twistd."""
    child = Broker("--broker", url, "--app", HERE, "--processes", "1", command="fmqbus-worker").launch()
    try:
        child.wait_for("works for")
        yield child
    finally:
        child.stop()


@pytest_twisted.ensureDeferred
async def test_jobs_are_done_among_those_who_have_keys_and_rules_know_them(tmp_path: Path) -> None:
    """By the client for Twisted, the one that blocks, a command, and the worker. A stranger waits in vain until his key
    is there, and a client whose key has gone is heard no more."""
    keyed = Keyed(tmp_path)
    names = ["client", "worker", "stranger"]
    keys = [f"key:{(tmp_path / name).with_suffix('.key').read_text().split(chr(34))[3]}" for name in names]
    with (
        started(tmp_path, keyed.listen, str(keys).replace("'", '"')) as (broker, frontend, backend),
        worker(keyed.url(backend, "worker")),
    ):
        client = EMQPClient(keyed.url(frontend, "client"), reactor, answer_seconds=PATIENCE_SECONDS)
        client.startService()
        assert await client.call(sample_jobs.add, (1, 2), deadline=PATIENCE_SECONDS) == 3
        url = keyed.url(frontend, "client")
        done = await deferToThread(lambda: commands.run("enqueue", f"{HERE}:add", "3", "4", "--wait", "--broker", url))
        assert (done.code, done.lines) == (0, ["7"])
        stranger = keyed.url(frontend, "stranger")
        assert not await deferToThread(lambda: is_served(stranger, 0.5))
        broker.wait_for(r"does not let in 127\.0\.0\.1: the key \S+ is not known \(key, 1 by now\)")
        keyed.let_in("stranger")
        (keyed.clients / "client.key").unlink()
        broker.signal(signal.SIGHUP)
        broker.wait_for("access rules are reloaded")
        assert await deferToThread(lambda: is_served(stranger, PATIENCE_SECONDS))
        assert not await deferToThread(lambda: is_served(url, 0.5))
        await client.stopService()


def is_served(url: str, seconds: float) -> bool:
    """Whether a job is accepted."""
    with BlockingEMQPClient(url, answer_seconds=seconds) as client:
        try:
            client.submit(sample_jobs.add, (1, 2))
        except CallFailed:
            return False
        return True


def test_users_are_let_in_by_their_passwords_and_rules_know_them(tmp_path: Path) -> None:
    """As whom they have logged in; what another one may not do he may not."""
    with started(tmp_path, f"{PORTS}:login=plain", '["identity:anna"]') as (broker, frontend, _):
        url = f"emqp://127.0.0.1:{frontend}"
        with BlockingEMQPClient(url, passport=plain("anna", "open sesame")) as anna:
            anna.submit(sample_jobs.add, (1, 2))
        with (
            BlockingEMQPClient(url, passport=plain("bo", "tiger"), answer_seconds=PATIENCE_SECONDS) as bo,
            pytest.raises(JobFailed) as refused,
        ):
            bo.submit(sample_jobs.add, (1, 2))
        assert refused.value.kind == "Refused"
        assert not is_served(url, 0.5)
        broker.wait_for("handshake")


def test_a_broker_whose_folder_is_broken_does_not_start(tmp_path: Path) -> None:
    """And says why."""
    keyed = Keyed(tmp_path)
    (keyed.clients / "broken.key").write_text("curve\n")
    broker = Broker("--listen", keyed.listen).launch()
    assert broker.wait() == 1
    assert "broken.key: has no public key" in broker.text
