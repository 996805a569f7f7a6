"""Are the short examples true that stand in README.md, configuration.md, observability.md, unit-carrier.md, users.md,
websocket.md, and on the pages of protocols (micromsg2.md, umq.md) and the journal (journal.md)?
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor

from fmqbus.app.config import read_config
from fmqbus.app.policy_file import read_policy
from fmqbus.client.fmqp import FMQPClient
from fmqbus.errors import ConfigError
from fmqbus.interfaces import IUnitFactory
from fmqbus.management.status import STATUS
from fmqbus.observers.journal.health import JournalHealth
from fmqbus.testing.bus import MemoryClient, make_router
from fmqbus.testing.links import MemoryListener
from fmqbus.transports.websocket.framing import WebSocket
from tests.auth.sasl.test_logins import make_logins
from tests.docs.blocks import Block, blocks_of
from tests.live.broker import PATIENCE_SECONDS, Broker
from tests.protocols.micromsg2.memory_bus import MemoryBus
from tests.protocols.micromsg2.written import command
from tests.protocols.umq.clients import Client, make_bus


def block_of(page: str, language: str, beginning: str = "") -> Block:
    """The one block of a page that is of this language, and begins so."""
    [block] = [one for one in blocks_of(page) if one.language == language and one.text.startswith(beginning)]
    return block


def run(program: str, **names: Any) -> dict[str, Any]:
    """Run a program with these names; returns all."""
    exec(compile(program, "the page", "exec", dont_inherit=True), names)
    return names


@pytest_twisted.ensureDeferred
async def test_the_client_of_the_readme_publishes_on_demand() -> None:
    """In three lines."""

    async def read_sensor() -> AsyncIterator[bytes]:
        yield b"21.5"

    with Broker("--listen", "fmqp:tcp:0") as broker:
        program = block_of("README.md", "python").text.replace(":7700", f":{broker.port}")
        names = run("from fmqbus.client.fmqp import FMQPClient\n" + program, reactor=reactor, read_sensor=read_sensor)
        reader = FMQPClient(f"fmqp://127.0.0.1:{broker.port}", reactor)
        reader.startService()
        with reader.subscribe("room/*") as messages:
            assert (await anext(messages)).payload == b"21.5"
        await reader.stopService()
        await names["client"].stopService()


def test_the_error_that_the_page_on_configuration_shows_is_told_so(tmp_path: Path) -> None:
    """With the file, the line and the key."""
    shown = block_of("docs/configuration.md", "text").text
    file, line = re.match(r"(\S+), line (\d+):", shown).groups()  # type: ignore[union-attr]
    (tmp_path / file).write_text("\n" * (int(line) - 2) + "[limits]\nconections = 3\n")
    with pytest.raises(ConfigError) as caught:
        read_config(tmp_path / file)
    assert f"{str(caught.value).replace(f'{tmp_path}/', '')}\n" == shown


def test_the_policy_of_the_page_on_access_is_one(tmp_path: Path) -> None:
    """As a file."""
    [block] = [one for one in blocks_of("docs/access.md") if one.file.endswith("policy.toml")]
    file = tmp_path / "policy.toml"
    file.write_text(block.text)
    policy, _ = read_policy(file)
    assert len(policy.rules) == block.text.count("[[rules]]")


def test_the_request_of_the_page_on_observability_is_answered() -> None:
    """On the topic that it names."""
    router = make_router(service_topics=[STATUS])
    router.startService()
    client = MemoryClient(router)
    client.subscribe(b"$/manage/reply/TOKEN")
    client.publish(b"$/manage/status", block_of("docs/observability.md", "text", "{").text.encode())
    router.clock.pump([0.0] * 10)
    [answer] = client.payloads
    assert "sessions" in json.dumps(json.loads(answer))
    router.stopService()


def test_a_journal_tells_how_it_is_in_these_words() -> None:
    """Members and all."""
    shown = json.loads(block_of("docs/pipeline/journal.md", "text", "{").text)
    writer = SimpleNamespace(is_behind=False, is_losing=False, **{key: shown[key] for key in ("failure", "lost")})
    assert JournalHealth(SimpleNamespace(writer=writer)).status() == shown  # type: ignore[arg-type]


def test_a_protocol_of_units_is_made_as_the_page_on_carriers_says() -> None:
    """By the method alone, and its table is read."""
    program = block_of("docs/extend/unit-carrier.md", "python").text
    make_factory = run(program)["make_factory"]
    plug = SimpleNamespace(begin=lambda link: None)
    factory = make_factory(plug, make_router(), MemoryListener(), {"websocket": {"path": "/other"}})
    assert IUnitFactory.providedBy(factory)
    with pytest.raises(ConfigError, match=r"protocols\.acme\.websocket"):
        make_factory(plug, make_router(), MemoryListener(), {"websocket": {"paths": "/other"}})
    assert WebSocket.__name__ in program


def test_the_client_of_the_page_on_users_says_who_it_is() -> None:
    """It is made, with a password."""
    names = run(block_of("docs/users.md", "python").text, reactor=reactor, password="open sesame")
    assert names["client"] is not None


def test_the_program_of_the_page_on_websocket_is_welcomed() -> None:
    """It needs nothing but a socket."""
    with Broker("--listen", "umq:units:tcp:0") as broker:
        program = block_of("docs/websocket.md", "python").text.replace("7712", str(broker.port))
        said = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
    [promised] = re.findall(r"# (.*)$", program, re.MULTILINE)
    assert (said.stdout, said.stderr) == (f"{promised}\n", "")


def test_umq_is_spoken_as_its_page_shows_it() -> None:
    """Word by word, first without and then with a login."""
    for beginning, options in (("client: H1:\n", {}), ("client: H1:{", {"logins": make_logins()})):
        client = Client(make_bus(), **options)
        said: list[str | bytes] = []
        heard: list[str | bytes] = []
        for line in block_of("docs/protocols/umq.md", "text", beginning).text.splitlines():
            who, _, words = line.partition(": ")
            if who == "client":
                assert said == heard
                said, heard = client.say(words), []
            else:
                heard.append(words)
        assert said == heard


def test_the_commands_of_the_page_on_micromsg2_are_obeyed() -> None:
    """The first subscribes, with filters that hold; the second ends that."""
    subscribe, unsubscribe = block_of("docs/protocols/micromsg2.md", "text", "subscribe;").text.splitlines()
    bus = MemoryBus()
    reader, writer = bus.connect(), bus.connect()
    reader.say(command(subscribe.encode()))
    writer.send(b"topic/room/1", b"yes", properties=b"age:N30;who:Tworld")
    writer.send(b"topic/room/1", b"no", properties=b"age:N3;who:Tworld")
    assert reader.payloads() == [b"yes"]
    reader.say(command(unsubscribe.encode()))
    writer.send(b"topic/room/1", b"no", properties=b"age:N30;who:Tworld")
    assert reader.payloads() == []
