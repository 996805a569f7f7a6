"""Keys by the command line, and what a bus and pyzmq make of them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from zmq.auth import load_certificate, load_certificates

from fmqbus.cli.keys import command
from fmqbus.transports.zeromq.key_folder import KeyFolder
from fmqbus.transports.zeromq.keys import read_key_pair


def run(*words: str) -> Result:
    """Run ``fmqbus keys``."""
    return CliRunner().invoke(command, list(words))


def test_a_new_pair_is_two_files_of_which_one_is_secret(tmp_path: Path) -> None:
    """Printed is the public half, once; pyzmq can use both."""
    result = run("new", "--out", str(tmp_path), "anna")
    assert result.exit_code == 0
    key = result.output.strip()
    secret = tmp_path / "anna.key_secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "anna.key").stat().st_mode) == 0o644
    pair = read_key_pair(secret)
    assert pair.public == key
    assert pair.secret not in result.output
    assert pair.secret not in (tmp_path / "anna.key").read_text()
    assert load_certificate(secret) == (pair.public.encode(), pair.secret.encode())
    assert load_certificates(tmp_path) == {key.encode(): True}
    assert KeyFolder(tmp_path).read() == {key: "anna"}


@pytest.mark.parametrize("there", ["anna.key", "anna.key_secret"])
def test_nothing_is_overwritten(tmp_path: Path, there: str) -> None:
    """And nothing is left of what was begun."""
    (tmp_path / there).write_text("precious")
    result = run("new", "--out", str(tmp_path), "anna")
    assert (result.exit_code, result.output) == (1, f"Error: {tmp_path / there}: is there already\n")
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "precious"


@pytest.mark.parametrize("name", ["", "../anna", ".anna", "-", "a/b", "anna\n", "a" * 101])
def test_a_name_stays_in_its_folder(tmp_path: Path, name: str) -> None:
    """And does not hide there."""
    result = run("new", "--out", str(tmp_path), "--", name)
    assert result.exit_code == 1
    assert "no name for a key" in result.output
    assert list(tmp_path.iterdir()) == []


def test_keys_are_shown_with_their_names_and_without_secrets(tmp_path: Path) -> None:
    """Of a folder as a bus reads it, and of files of either kind."""
    keys = {name: run("new", "--out", str(tmp_path), name).output.strip() for name in ("anna", "bo")}
    folder = [f"{key}\t{name}" for name, key in keys.items()]
    assert run("show", str(tmp_path)).output.splitlines() == folder
    secret = tmp_path / "bo.key_secret"
    shown = run("show", str(secret))
    assert shown.output == f"{keys['bo']}\tbo\n"
    assert read_key_pair(secret).secret not in shown.output
    rows = [json.loads(line) for line in run("show", "--json", str(tmp_path)).output.splitlines()]
    assert rows == [{"key": key, "name": name} for name, key in keys.items()]


def test_what_a_bus_would_not_take_is_told(tmp_path: Path) -> None:
    """As in its log."""
    run("new", "--out", str(tmp_path), "anna")
    (tmp_path / "bo.key").write_text("curve\n")
    result = run("show", str(tmp_path))
    assert (result.exit_code, result.output) == (1, f"Error: {tmp_path / 'bo.key'}: has no public key\n")
