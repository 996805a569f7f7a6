"""``fmqbus doctor`` as an operator runs it, also beside a bus that runs."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.commands import run
from tests.live.broker import Broker


def configuration(folder: Path, port: int) -> Path:
    """One listener, and a store."""
    path = folder / "bus.toml"
    path.write_text(
        f'listen = ["fmqp:tcp:{port}"]\nmessage_store = "sqlite"\n[stores.sqlite]\npath = "{folder}/bus.db"\n'
        "[limits]\nconnections = 100\n"
    )
    return path


def test_an_installation_in_order_is_well(tmp_path: Path) -> None:
    """Each thing that was looked at has its line; without problems there is nothing to tell of them."""
    path = configuration(tmp_path, 0)
    ended = run("doctor", str(path))
    assert (ended.code, ended.errors) == (0, b"")
    assert f"ok      configuration: {path}: a bus would start with it" in ended.lines
    ended = run("doctor", "--problems", "--strict", str(path))
    assert (ended.code, ended.lines) == (0, [])


def test_what_is_wrong_is_told_with_what_mends_it(tmp_path: Path) -> None:
    """By exit code, too; in JSON for programs."""
    path = tmp_path / "bus.toml"
    path.write_text("[limits]\nconections = 3\n")
    ended = run("doctor", str(path))
    assert ended.code == 1
    assert ended.lines[0].startswith("error   configuration: ")
    assert ended.lines[1] == f"        -> edit {path}; fmqbus config check {path}"
    (line,) = run("doctor", "--json", str(path)).lines
    told = json.loads(line)
    assert (told["examination"], told["severity"]) == ("configuration", "error")
    assert "limits.conections" in told["text"]


def test_a_bus_that_runs_is_seen_and_left_alone(tmp_path: Path) -> None:
    """Its port and its store are in use, which is a warning and no more."""
    path = configuration(tmp_path, 0)
    with Broker("--config", str(path)) as broker:
        path = configuration(tmp_path, broker.port)
        ended = run("doctor", str(path), "--problems")
        assert ended.code == 0, ended.output
        assert any(f"in use by a bus that runs, process {broker.pid}" in line for line in ended.lines)
        assert any("a bus that runs has it open" in line for line in ended.lines)
        assert run("doctor", str(path), "--strict").code == 1
        assert broker.stop() == 0
