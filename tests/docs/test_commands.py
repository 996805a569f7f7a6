"""Do commands for which no bus is needed do what users.md and zeromq-security.md say, in their order? And those of
calls.md, with one?"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from fmqbus.auth.user_file import read_users
from fmqbus.cli.main import main
from tests.cli.commands import run, start
from tests.docs.blocks import blocks_of
from tests.docs.typed import commands_in
from tests.live.broker import PATIENCE_SECONDS, Broker


def commands_of(page: str, *beginning: str) -> list[list[str]]:
    """The words of the commands that begin so, without the program's name."""
    found = [words[1:] for block in blocks_of(page) for words in commands_in(block.text)]
    return [words for words in found if words[: len(beginning)] == list(beginning)]


@pytest.mark.parametrize(
    ("page", "beginnings"), [("docs/users.md", ["user"]), ("docs/zeromq-security.md", ["keys", "user"])]
)
def test_the_commands_succeed_one_after_the_other(page: str, beginnings: list[str], tmp_path: Path) -> None:
    """On a machine on which there is nothing yet but the folders."""
    (tmp_path / "clients").mkdir()
    commands = [words for beginning in beginnings for words in commands_of(page, beginning)]
    for words in commands:
        placed = [word.replace("/etc/fmqbus", str(tmp_path)) for word in words]
        done = CliRunner().invoke(main, placed, input="open sesame\n")
        assert done.exit_code == 0, (words, done.output)
    # on either page one who comes without a password stays
    [left] = [words[3] for words in commands if "--no-password" in words]
    assert set(read_users(tmp_path / "users.json").users) == {left}


def test_what_one_command_serves_the_other_calls() -> None:
    """As the page on calls has it, and with the answer that anybody would expect."""
    [serve] = commands_of("docs/calls.md", "serve")
    call, _ = commands_of("docs/calls.md", "call")
    with Broker("--listen", "umq:tcp:0") as broker:
        url = f"ws://127.0.0.1:{broker.port}/umq"
        server = start(*serve, url=url)
        assert server.stderr is not None
        assert server.stderr.readline() == b"Serving text/count.\n"
        called = run(*call, url=url)
        server.terminate()
        server.communicate(timeout=PATIENCE_SECONDS)
    assert (called.lines, called.code) == (["3"], 0)
