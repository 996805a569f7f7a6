"""The ``fmqbus`` command itself, and those of its commands that look at the application."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from fmqbus.app import plugs
from fmqbus.cli import plugins
from fmqbus.cli.main import COMMANDS, main


def run(*arguments: str) -> tuple[int, str]:
    """The exit code and all output."""
    result = CliRunner().invoke(main, arguments)
    return result.exit_code, result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_listed_is_there(name: str) -> None:
    """Under the name it is listed by."""
    command = import_module(COMMANDS[name][0]).command
    assert isinstance(command, click.Command)
    assert command.name == name


def test_help_imports_no_command() -> None:
    """Nor Twisted, which takes longest to import."""
    loaded = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys\nfrom fmqbus.cli.main import main\ntry: main(['--help'])\nfinally: print(sorted(sys.modules))",
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "Commands:" in loaded
    assert "fmqbus.cli.pub" not in loaded
    assert "'twisted'" not in loaded


def test_an_unknown_command_is_wrong_usage() -> None:
    """As everywhere."""
    code, output = run("fly")
    assert code == 2
    assert "fly" in output


def test_the_installed_parts_are_listed_with_their_origin() -> None:
    """One a line."""
    code, output = run("plugins")
    assert code == 0
    assert any(line.split()[:2] == ["IBusProtocol", "fmqp"] and "fmqbus_parts" in line for line in output.splitlines())


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """One part is installed that cannot be used, and whose error would clear a terminal."""
    reject = plugs.Reject("mine", "acme 1.2", "ImportError: \x1b[2J")
    monkeypatch.setattr(plugins, "find_plugs", lambda: plugs.Plugs((), (reject,)))


@pytest.mark.usefixtures("broken")
def test_a_part_that_is_left_out_is_listed_with_the_reason() -> None:
    """With nothing in it that a terminal would obey."""
    assert run("plugins") == (0, "left out: mine, from acme 1.2: ImportError: \\x1b[2J\n")


@pytest.mark.usefixtures("broken")
def test_a_part_that_is_left_out_fails_the_strict_form() -> None:
    """For scripts; the output is the same."""
    code, output = run("plugins", "--json", "--strict")
    assert code == 1
    (rejected,) = json.loads(output)["rejected"]
    assert rejected == {"name": "mine", "origin": "acme 1.2", "reason": "ImportError: \x1b[2J"}


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        ((), 0, "OK"),
        (("[limits]\nconections = 1",), 1, "line 2: limits.conections"),
        (('listen = ["pigeon:"]',), 1, "pigeon"),
        (('listen = ["pigeon:"]', "--file-only"), 0, "OK"),
        (("[", "--file-only"), 1, "bus.toml"),
        (("", "--colour"), 2, "--colour"),
    ],
)
def test_a_configuration_is_checked(tmp_path: Path, arguments: tuple[str, ...], code: int, complaint: str) -> None:
    """The text of the file, and options; the exit code tells a script."""
    text, *options = arguments or ("",)
    path = tmp_path / "bus.toml"
    path.write_text(text)
    told, output = run("config", "check", str(path), *options)
    assert (told, complaint in output) == (code, True), output


def test_a_configuration_that_is_not_there_is_told() -> None:
    """By its name."""
    code, output = run("config", "check", "nowhere.toml")
    assert code == 1
    assert "nowhere.toml: cannot be read" in output
