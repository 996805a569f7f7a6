"""Which addresses does ZeroMQ get?"""

from __future__ import annotations

from pathlib import Path

import pytest
import zmq

from fmqbus.errors import LocalError
from fmqbus.protocols.emqp.addresses import BACKEND_PORT, FRONTEND_PORT, Destination, destination
from fmqbus.transports.zeromq.keys import KeyPair, read_key_pair, read_server_key
from fmqbus.transports.zeromq.passport import NO_PASSPORT
from tests.transports.zeromq.keys import write


@pytest.mark.parametrize(
    ("text", "port", "address"),
    [
        ("emqp://127.0.0.1", FRONTEND_PORT, "tcp://127.0.0.1:47291"),
        ("emqp://broker", BACKEND_PORT, "tcp://broker:47290"),
        ("emqp://broker:5", BACKEND_PORT, "tcp://broker:5"),
        ("tcp://127.0.0.1:47291/", FRONTEND_PORT, "tcp://127.0.0.1:47291"),
        ("emqp://[::1]", FRONTEND_PORT, "tcp://[::1]:47291"),
    ],
)
def test_an_address_becomes_what_zeromq_takes(text: str, port: int, address: str) -> None:
    """With EventMQ's ports where none is said."""
    assert destination(text, port) == Destination(address)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host:1",
        "tcp://host",
        "fmqp://host",
        "emqp://",
        "emqp://h/p",
        "emqp://h:x",
        "emqp://[",
        "emqp://user:password@host",
        "tcp://user@host:1",
        "tcp://host:1?server-key=a",
        "emqp://h?key=a",
        "emqp://h?server-key=",
        "emqp://h?server-key=a&server-key=b",
        "emqp://h?server-key=a&secret=b",
        "emqp://user@h?server-key=a",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """Before ZeroMQ sees it, which says little."""
    with pytest.raises(LocalError):
        destination(text, 1)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a broker's key, ours, and a password."""
    for name in ("broker", "me"):
        pair = KeyPair.new()
        write(tmp_path / f"{name}.key", pair.public)
        write(tmp_path / f"{name}.key_secret", pair.public, pair.secret)
    (tmp_path / "password").write_text("open sesame\nmore\n")
    return tmp_path


def test_keys_are_in_files_that_an_address_names(files: Path) -> None:
    """One of our own is only needed where the broker wants one."""
    broker, me = files / "broker.key", files / "me.key_secret"
    shown = destination(f"emqp://host?server-key={broker}&key={me}", 5).passport().settings
    assert shown[zmq.CURVE_SERVERKEY] == read_server_key(broker).encode()
    assert shown[zmq.CURVE_SECRETKEY] == read_key_pair(me).secret.encode()
    anybody = destination(f"emqp://host?server-key={broker}", 5).passport().settings
    assert anybody[zmq.CURVE_SERVERKEY] == shown[zmq.CURVE_SERVERKEY]
    assert anybody[zmq.CURVE_PUBLICKEY] != shown[zmq.CURVE_PUBLICKEY]


def test_or_that_the_environment_names_where_the_address_does_not(files: Path) -> None:
    """For commands; a program says itself what it wants."""
    broker, me = files / "broker.key", files / "me.key_secret"
    environment = {"FMQBUS_SERVER_KEY_FILE": str(broker), "FMQBUS_KEY_FILE": str(me)}
    there = destination("tcp://host:5", 5)
    assert there.passport() == NO_PASSPORT
    assert there.passport(environment).settings[zmq.CURVE_PUBLICKEY] == read_key_pair(me).public.encode()
    other = destination(f"emqp://host?server-key={files / 'me.key'}", 5).passport(environment).settings
    assert other[zmq.CURVE_SERVERKEY] == read_server_key(files / "me.key").encode()
    assert other[zmq.CURVE_PUBLICKEY] != read_key_pair(me).public.encode()


def test_a_user_s_password_is_in_a_file_too(files: Path) -> None:
    """Its first line; without it there is no login."""
    there = destination("emqp://anna@host", 5)
    shown = there.passport({"FMQBUS_PASSWORD_FILE": str(files / "password")})
    assert shown.settings == {zmq.PLAIN_USERNAME: b"anna", zmq.PLAIN_PASSWORD: b"open sesame"}
    assert "sesame" not in repr(shown)
    for environment in ({}, {"FMQBUS_PASSWORD_FILE": str(files / "nowhere")}):
        with pytest.raises(LocalError, match="FMQBUS_PASSWORD_FILE"):
            there.passport(environment)
