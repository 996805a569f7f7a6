"""Who commands log in as."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmqbus.cli.exits import CommandFailed
from fmqbus.cli.login import login_options
from fmqbus.client import credentials
from fmqbus.transports.zeromq.keys import KeyPair
from tests.transports.zeromq.keys import write

URL = "ws://127.0.0.1:7702/umq"


def test_nobody_unless_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A password without a user is nobody's, and an empty word no user."""
    monkeypatch.setenv("FMQBUS_PASSWORD_FILE", "nowhere")
    assert login_options(URL) == {}
    monkeypatch.setenv("FMQBUS_USER", "")
    assert login_options(URL) == {}


def test_by_the_first_line_of_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """However that ends; only where the protocol has a login."""
    (tmp_path / "secret").write_bytes(b"open sesame\r\nmore\n")
    monkeypatch.setenv("FMQBUS_USER", "anna")
    monkeypatch.setenv("FMQBUS_PASSWORD_FILE", str(tmp_path / "secret"))
    assert login_options(URL) == {"credentials": credentials.plain("anna", "open sesame")}
    assert login_options("fmqp://127.0.0.1") == {}


def test_over_mtl_by_a_whole_exchange(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Unless the URL says who we are, or how to find out."""
    (tmp_path / "secret").write_text("open sesame\n")
    monkeypatch.setenv("FMQBUS_USER", "anna")
    assert login_options("mtl://here")["credentials"].ways.keys() == {"EXTERNAL"}
    monkeypatch.setenv("FMQBUS_PASSWORD_FILE", str(tmp_path / "secret"))
    assert login_options("mtl://here")["credentials"].ways.keys() == {"SCRAM-SHA-256", "PLAIN"}
    for url in ("mtl://bo@here", "mtl://here?login=anonymous", "mtl://here?password-file=x"):
        assert login_options(url) == {}


def test_over_mtl_with_the_keys_of_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the URL names none."""
    server, own = KeyPair.new(), KeyPair.new()
    write(tmp_path / "server.key", server.public)
    write(tmp_path / "own.key_secret", own.public, own.secret)
    monkeypatch.setenv("FMQBUS_SERVER_KEY_FILE", str(tmp_path / "server.key"))
    monkeypatch.setenv("FMQBUS_KEY_FILE", str(tmp_path / "own.key_secret"))
    shown = login_options("mtl://here")["passport"]
    assert shown.is_private
    assert own.secret.encode() in shown.settings.values()
    assert login_options("mtl://here?server-key=x") == login_options(URL) == {}
    (tmp_path / "server.key").write_text("nonsense")
    with pytest.raises(CommandFailed, match="FMQBUS_SERVER_KEY_FILE"):
        login_options("mtl://here")


def test_without_a_password_by_what_the_carrier_vouches_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that user."""
    monkeypatch.setenv("FMQBUS_USER", "anna")
    assert login_options("ws+unix:///run/bus") == {"credentials": credentials.external("anna")}


@pytest.mark.parametrize("content", [None, b"", b"\nnot the first line", b"\xff"])
def test_a_file_that_holds_no_password(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None) -> None:
    """Is told before anybody connects."""
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    monkeypatch.setenv("FMQBUS_USER", "anna")
    monkeypatch.setenv("FMQBUS_PASSWORD_FILE", str(tmp_path / "secret"))
    with pytest.raises(CommandFailed, match="FMQBUS_PASSWORD_FILE"):
        login_options(URL)
