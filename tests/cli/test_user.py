"""Users by the command line, and what a bus makes of them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fmqbus.auth.passwords import LEAST_ITERATIONS, fits
from fmqbus.auth.user_file import read_users
from fmqbus.auth.users import Users
from fmqbus.cli.config_check import command as config
from fmqbus.cli.user import command
from fmqbus.client import credentials
from tests.auth.users import write


def run(action: str, *words: str, password: str = "") -> Result:
    """Run ``fmqbus user``; passwords are cheap."""
    cheap = ("--iterations", str(LEAST_ITERATIONS)) if action in ("add", "passwd") else ()
    return CliRunner().invoke(command, [action, *words, *cheap], input=password)


def test_a_user_is_added_with_what_he_comes_by(tmp_path: Path) -> None:
    """The file is made if there is none; a password is the first line of what is given, and nowhere shown."""
    file = tmp_path / "users.json"
    result = run("add", str(file), "anna", "--group", "ops", "--group", "staff", password="open sesame\nmore")
    assert (result.exit_code, result.output) == (0, "")
    users = Users(read_users(file))
    assert fits("open sesame", users.secret_of("anna"))
    assert users.groups_of("anna") == {"ops", "staff"}
    assert users.password_of("anna") is None
    assert "sesame" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_password_is_changed_and_a_user_removed(tmp_path: Path) -> None:
    """Groups stay, and others do; what unknown names are told does not change."""
    file = write(tmp_path / "users.json")
    decoy = Users(read_users(file)).secret_of("nobody")
    assert run("passwd", str(file), "anna", password="new\r\n").exit_code == 0
    assert run("remove", str(file), "bo").exit_code == 0
    users = Users(read_users(file))
    assert fits("new", users.secret_of("anna"))
    assert users.groups_of("anna") == {"ops", "staff"}
    assert users.password_of("anna") is None
    assert users.record_of("bo") is None
    assert users.secret_of("nobody") == decoy


def test_the_list(tmp_path: Path) -> None:
    """For people and for programs; without anything secret."""
    file = write(tmp_path / "users.json")
    assert run("list", str(file)).output.splitlines()[:2] == [
        "anna\tops staff\tpassword cram-md5\t",
        "bo\t\tpassword\t",
    ]
    last = json.loads(run("list", str(file), "--json").output.splitlines()[-2])
    assert last == {
        "user": "pump",
        "groups": ["devices"],
        "by": ["external"],
        "external": ["san:dns:pump.example", "uid:1000"],
    }


@pytest.mark.parametrize(
    ("words", "password", "code", "complaint"),
    [
        (("add", "FILE", "anna"), "x\n", 1, "there is a user 'anna' already"),
        (("add", "FILE", "new"), "", 1, "empty password"),
        (("add", "FILE", "new"), "a\0b\n", 1, "control characters"),
        (("add", "FILE", ""), "x\n", 2, "1 to 255 octets"),
        (("add", "FILE", " new"), "x\n", 2, "is no name"),
        (("add", "FILE", "new", "--group", "a\tb"), "x\n", 2, "is no name"),
        (("add", "FILE", "new", "--external", "local"), "x\n", 2, "write one of san:"),
        (("add", "FILE", "new", "--external", "cert:1"), "x\n", 2, "64 hexadecimal digits"),
        (("add", "FILE", "new", "--no-password"), "", 2, "needs --external"),
        (("passwd", "FILE", "nobody"), "x\n", 1, "there is no user 'nobody'"),
        (("remove", "FILE", "nobody"), "", 1, "there is no user 'nobody'"),
        (("list", "FILE.other"), "", 1, "cannot be read"),
        (("remove", "FILE.other", "anna"), "", 1, "cannot be read"),
        (("add", "FILE/within", "anna"), "x\n", 1, "Not a directory"),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(
    tmp_path: Path, words: tuple[str, ...], password: str, code: int, complaint: str
) -> None:
    """With the usual exit codes."""
    file = write(tmp_path / "users.json")
    before = file.read_bytes()
    result = run(*(word.replace("FILE", str(file)) for word in words), password=password)
    assert result.exit_code == code
    assert complaint in result.output
    assert file.read_bytes() == before


def test_a_bus_with_users_that_it_cannot_read_does_not_start(tmp_path: Path) -> None:
    """`fmqbus config check` says so, and what else does not fit together."""
    users, bus = write(tmp_path / "users.json"), tmp_path / "bus.toml"

    def check(text: str) -> str:
        bus.write_text(text)
        return CliRunner().invoke(config, ["check", str(bus)]).output

    named = f'[users]\nfile = "{users}"\n'
    assert check(named) == "OK\n"
    assert check('[sasl]\nmechanisms = ["ANONYMOUS"]\n') == "OK\n"
    assert "sasl.mechanisms: PLAIN needs users.file" in check('[sasl]\nmechanisms = ["PLAIN"]\n')
    assert "'NTLM' is not installed" in check(f'{named}[sasl]\nmechanisms = ["NTLM"]\n')
    assert "named twice" in check(f'{named}[sasl]\nmechanisms = ["PLAIN", "PLAIN"]\n')
    users.chmod(0o644)
    assert "chmod 600" in check(named)
    users.write_bytes(b"")
    users.chmod(0o600)
    assert "is no file of users" in check(named)


def test_what_clients_say() -> None:
    """In base64, whatever the letters (RFC 4616, RFC 4422)."""
    assert credentials.plain("anna", "open sesame") == {
        "mechanism": "PLAIN",
        "response": "AGFubmEAb3BlbiBzZXNhbWU=",
    }
    assert credentials.external() == {"mechanism": "EXTERNAL", "response": ""}
    assert credentials.anonymous()["mechanism"] == "ANONYMOUS"
    for name, password in (("", "x"), ("x", ""), ("a\0b", "x")):
        with pytest.raises(credentials.LocalError):
            credentials.plain(name, password)
