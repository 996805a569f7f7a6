"""UMQ clients that log in to a real bus, and commands that do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.task import deferLater

from fmqbus.app.config import Access
from fmqbus.app.config_logins import UsersTable
from fmqbus.auth.user_file import User
from fmqbus.client import credentials
from fmqbus.client.umq import UMQClient
from fmqbus.errors import CallFailed, Refused
from tests.auth.test_policy import rule
from tests.auth.users import write
from tests.client.live_bus import bus_at, running, tls_listen
from tests.live.broker import Broker

TCP = "umq:tcp:0:interface=127.0.0.1"
RULES = Access(
    authorizers=("rules",),
    rules=(rule("allow", "anna", who="identity:anna"), rule("allow", "ops/*", who="group:ops")),
)


@pytest_twisted.ensureDeferred
async def test_by_a_password(tmp_path: Path) -> None:
    """Behind TLS; the bus hashes it in a thread, and then lets the client do what the user may."""
    users = UsersTable(str(write(tmp_path / "users.json")))
    async with bus_at(tls_listen("umq", tmp_path), access=RULES, users=users) as (port,):
        url = f"wss://127.0.0.1:{port}?ca={tmp_path / 'ca.pem'}"
        async with running(UMQClient(url, reactor, credentials=credentials.plain("anna", "open sesame"))) as anna:
            await anna.publish("anna", b"x")
            await anna.publish("ops/all", b"x")
            with pytest.raises(CallFailed):
                await anna.publish("bo", b"x")
        async with running(UMQClient(url, reactor)) as nobody:
            with pytest.raises(CallFailed):
                await nobody.publish("anna", b"x")


@pytest_twisted.ensureDeferred
async def test_by_a_wrong_one(tmp_path: Path) -> None:
    """There is no connection then, and the bus's words say why."""
    users = UsersTable(str(write(tmp_path / "users.json")))
    async with bus_at(TCP, users=users) as (port,):
        client = UMQClient(f"ws://127.0.0.1:{port}", reactor, credentials=credentials.plain("anna", "wrong"))
        client.startService()
        with pytest.raises(Refused, match="the login has failed"):
            await client.when_connected(attempts=1)
        await client.stopService()


@pytest_twisted.ensureDeferred
async def test_by_what_the_carrier_vouches_for(tmp_path: Path) -> None:
    """The UNIX user that runs this test."""
    users = UsersTable(str(write(tmp_path / "users.json", anna=User(external=(f"uid:{os.geteuid()}",)))))
    async with bus_at(f"umq:unix:{tmp_path / 'socket'}", access=RULES, users=users):
        url = f"ws+unix://{tmp_path / 'socket'}"
        async with running(UMQClient(url, reactor, credentials=credentials.external())) as anna:
            await anna.publish("anna", b"x")


def test_commands_log_in_and_a_reload_takes_the_users_over(tmp_path: Path) -> None:
    """With a real `twistd`: by the environment; a broken file changes nothing, a new one holds at once."""
    users = write(tmp_path / "users.json")
    secret, config = tmp_path / "secret", tmp_path / "bus.toml"
    secret.write_text("open sesame\n")
    config.write_text(
        f'listen = ["{TCP}"]\n[users]\nfile = "{users}"\n[access]\nauthorizers = ["rules"]\n'
        '[[access.rules]]\neffect = "allow"\nactions = "*"\nwho = ["group:staff"]\nnames = ["**"]\n'
    )

    def publish(broker: Broker, **environment: str) -> int:
        words = ["pub", f"ws://127.0.0.1:{broker.port}/umq", "a", "x"]
        code = "from fmqbus.cli.main import main; main()"
        run = subprocess.run(
            [sys.executable, "-c", code, *words], env={**broker.environment, **environment}, timeout=60
        )
        return run.returncode

    anna = {"FMQBUS_USER": "anna", "FMQBUS_PASSWORD_FILE": str(secret)}
    with Broker("--config", str(config)) as broker:
        assert publish(broker, **anna) == 0
        assert publish(broker) == 1
        whole = users.read_bytes()
        users.write_bytes(whole[:-10])
        broker.signal(signal.SIGHUP)
        broker.wait_for("the users stay as they were: users.file: .*users.json: is no file of users")
        assert publish(broker, **anna) == 0
        write(users, bo=User(("staff",), external=("uid:1",)))
        broker.signal(signal.SIGHUP)
        broker.wait_for("the access rules are reloaded", 2)
        assert publish(broker, **anna) == 3
        assert broker.stop() == 0


@pytest_twisted.ensureDeferred
async def test_who_was_removed_is_disconnected(tmp_path: Path) -> None:
    """And is refused when it comes back."""
    users = write(tmp_path / "users.json")
    config = tmp_path / "bus.toml"
    config.write_text(f'listen = ["{TCP}"]\n[users]\nfile = "{users}"\n')
    with Broker("--config", str(config)) as broker:
        said = credentials.plain("anna", "open sesame")
        client = UMQClient(
            f"ws://127.0.0.1:{broker.port}", reactor, credentials=said, retry_policy=lambda attempt: 0.05
        )
        async with running(client):
            write(users, bo=User(external=("uid:1",)))
            broker.signal(signal.SIGHUP)
            await client.when_disconnected()
            await deferLater(reactor, 0)  # now it knows itself that it is not connected
            with pytest.raises(Refused, match="the login has failed"):
                await client.when_connected(attempts=1)
