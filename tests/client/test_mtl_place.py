"""What does an mtl:// URL say of who we are, and of who else hears it?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fmqbus.client import sasl
from fmqbus.client.mtl_place import settings_of
from fmqbus.client.url import InvalidURL
from fmqbus.transports.zeromq.keys import KeyPair
from tests.transports.zeromq.keys import write


@pytest.mark.parametrize(
    ("host", "is_private"),
    [("127.0.0.1", True), ("127.1.2.3", True), ("[::1]", True), ("localhost", True), ("10.0.0.1", False), ("a", False)],
)
def test_who_else_may_listen(host: str, is_private: bool) -> None:
    """Nobody, on this machine."""
    place = settings_of(f"mtl://{host}").place
    assert place.is_private is is_private
    assert place.address(6000) == f"tcp://{host}:6000"


def test_a_key_of_the_server_keeps_others_from_listening(tmp_path: Path) -> None:
    """Wherever it is."""
    write(tmp_path / "server.key", KeyPair.new().public)
    assert settings_of(f"mtl://10.0.0.1?server-key={tmp_path / 'server.key'}").place.is_private


def test_who_a_url_says_that_we_are(tmp_path: Path) -> None:
    """Nobody, unless it says so."""
    secret = tmp_path / "secret"
    secret.write_text("open sesame\n")

    def ways(url: str) -> set[str]:
        login = settings_of(url).place.login
        return set() if login is None else set(login.ways)

    assert ways("mtl://a") == set()
    assert ways("mtl://anna@a") == ways("mtl://a?login=external") == {"EXTERNAL"}
    assert ways("mtl://a?login=anonymous") == {"ANONYMOUS"}
    assert ways(f"mtl://anna@a?password-file={secret}") == {"SCRAM-SHA-256", "PLAIN"}
    assert ways(f"mtl://anna@a?password-file={secret}&login=cram-md5") == {"CRAM-MD5"}
    given = settings_of("mtl://anna@a", sasl.anonymous()).place.login
    assert given is not None
    assert set(given.ways) == {"ANONYMOUS"}


@pytest.mark.parametrize(
    "rest",
    [
        "?login=plain",
        "?password-file={secret}",
        "?login=anonymous&password-file={secret}",
        "?login=nonsense&password-file={secret}",
        "?password-file=/nowhere",
        "?confirm=maybe",
        "?key={secret}",
        "?server-key=/nowhere",
        "?server-key={secret}",
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, rest: str) -> None:
    """Before anybody connects."""
    secret = tmp_path / "secret"
    secret.write_text("open sesame\n")
    with pytest.raises(InvalidURL) as refused:
        settings_of(f"mtl://here{rest.format(secret=secret)}")
    assert "sesame" not in str(refused.value)
