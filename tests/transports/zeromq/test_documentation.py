"""Does docs/zeromq-security.md tell the truth? Its commands and its program are run, in another folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fmqbus.app.config import Config, parse_config
from fmqbus.auth.user_file import read_users
from fmqbus.cli.main import main
from fmqbus.limits import KIB
from fmqbus.protocols.emqp.addresses import KEY_FILE, PASSWORD_FILE, SERVER_KEY_FILE
from fmqbus.transports.carriers import carrier_for
from fmqbus.transports.listen_string import parse_listen_string
from fmqbus.transports.preamble import PREAMBLE_PLACES, PREAMBLE_SECONDS
from fmqbus.transports.zeromq.key_folder import MOST_FILES, KeyFolder
from fmqbus.transports.zeromq.keys import _MOST_OCTETS
from fmqbus.transports.zeromq.plug import zmq as zmq_transport
from fmqbus.transports.zeromq.reentry import ASK_AGAIN_SECONDS

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "zeromq-security.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for kind, block in BLOCKS if not kind for line in block.replace("\\\n", "").splitlines()]
[CONFIG] = [block for kind, block in BLOCKS if kind == "toml"]
[PROGRAM] = [block for kind, block in BLOCKS if kind == "python"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """In place of the one of the page, with what its commands have made."""
    (tmp_path / "clients").mkdir()
    for command in COMMANDS:
        _, *words = shlex.split(command.replace("/etc/fmqbus", str(tmp_path)))
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, result.output
    return tmp_path


def test_the_commands_make_what_they_are_said_to_make(folder: Path) -> None:
    """Keys of the bus and of a client, and a user that has one."""
    assert list(KeyFolder(folder / "clients").read().values()) == ["robot"]
    [external] = read_users(folder / "users.json").users["robot"].external
    assert external in CONFIG


def test_the_configuration_is_one(folder: Path) -> None:
    """With the keys that were made."""
    config: Config = parse_config(CONFIG.replace("/etc/fmqbus", str(folder)), "the page")
    [listen] = config.listen
    assert carrier_for(None, parse_listen_string(listen), [zmq_transport])


def test_the_program_makes_clients(folder: Path) -> None:
    """Nobody has to be there for that."""
    (folder / "clients" / "robot.key_secret").rename(folder / "robot.key_secret")
    names: dict[str, Any] = {"password": "open sesame"}
    exec(PROGRAM.replace("/etc/fmqbus", str(folder)), names)
    for client in ("client", "other"):
        names[client].close()


def test_every_way_to_be_let_in_is_in_the_table_and_in_the_list_of_options() -> None:
    """And nothing else."""
    options = {name for row in re.findall(r"^\| `emqp:zmq:(.*?)` \|", PAGE, re.MULTILINE) for name in row.split(":")}
    assert {option.partition("=")[0] for option in options} == {"allow", "curveKey", "curveClients", "login"}
    other = (DOCS / "zeromq.md").read_text(encoding="utf-8")
    told = set(re.findall(r"^\| `(\w+)=` \|", other, re.MULTILINE))
    assert told == set(re.findall(r"(\w+)=", zmq_transport.summary)) - {"NAME"}


def test_names_and_numbers_are_right() -> None:
    """As the code has them."""
    assert re.findall(r"^\| `(FMQBUS_\w+)` \|", PAGE, re.MULTILINE) == [SERVER_KEY_FILE, KEY_FILE, PASSWORD_FILE]
    assert f"a handshake | {PREAMBLE_SECONDS:.0f} seconds" in PAGE
    assert f"as a handshake has | {PREAMBLE_PLACES:,} a socket" in PAGE
    assert f"every {ASK_AGAIN_SECONDS:.0f} seconds" in PAGE
    assert f"{MOST_FILES:,} files of {_MOST_OCTETS // KIB} KiB" in PAGE
