"""The file that users are kept in: what is written is read, and nothing that is wrong with it opens anything."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.auth.user_file import User, locked, new_file, parse_users, read_users, write_users
from fmqbus.errors import ConfigError
from tests.auth.users import file_of, write


def test_what_is_written_is_read(tmp_path: Path) -> None:
    """By nobody else, whatever the umask; and no draft stays behind."""
    former = os.umask(0)
    try:
        path = write(tmp_path / "users.json")
    finally:
        os.umask(former)
    assert read_users(path) == file_of()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["users.json"]


def test_a_file_without_users_is_one() -> None:
    """As long as it says so."""
    assert not new_file().users
    assert new_file().decoys != new_file().decoys


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o620, 0o666, 0o601])
def test_what_others_can_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    """With what to do about it."""
    path = write(tmp_path / "users.json")
    path.chmod(mode)
    with pytest.raises(ConfigError, match=r"others can read or change it; chmod 600"):
        read_users(path)


def test_a_group_may_read_it_and_that_stays_so(tmp_path: Path) -> None:
    """Where the operator wants it."""
    path = write(tmp_path / "users.json")
    path.chmod(0o640)
    write(path, other=User(external=("uid:7",)))
    assert list(read_users(path).users) == ["other"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_is_followed_and_stays_one(tmp_path: Path) -> None:
    """Where the file is kept elsewhere."""
    target, link = write(tmp_path / "kept.json"), tmp_path / "users.json"
    link.symlink_to(target)
    write(link, other=User(external=("uid:7",)))
    assert link.is_symlink()
    assert list(read_users(target).users) == ["other"]


def test_what_is_no_file(tmp_path: Path) -> None:
    """A folder, a pipe that nobody writes to, nothing at all: told at once."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "folder").mkdir(mode=0o700)
    for name in ("pipe", "folder", "nothing"):
        with pytest.raises(ConfigError, match=name):
            read_users(tmp_path / name)


_GOOD = '{"format":1,"decoys":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","users":{%s}}'
_KEYS = '"scram_sha_256":{"salt":"%s","iterations":%d,"stored_key":"%s","server_key":"%s"}'
_OCTETS = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "{}",
        "[]",
        "null",
        '{"users":{"a":' + "[" * 100_000,
        '{"format":2,"decoys":"","users":{}}',
        '{"format":1,"users":{}}',
        _GOOD % '"anna":{"password":"x"}',
        _GOOD % '"":{}',
        _GOOD % '"a\\nb":{}',
        _GOOD % '"anna":{"groups":[""]}',
        _GOOD % '"anna":{"external":["address:0.0.0.0/0"]}',
        _GOOD % '"anna":{"external":["*"]}',
        _GOOD % '"anna":{"external":["local"]}',
        _GOOD % '"anna":{"external":["cert:12"]}',
        _GOOD % f'"anna":{{{_KEYS % ("", 4096, _OCTETS, _OCTETS)}}}',
        _GOOD % f'"anna":{{{_KEYS % (_OCTETS, 1, _OCTETS, _OCTETS)}}}',
        _GOOD % f'"anna":{{{_KEYS % (_OCTETS, 10**9, _OCTETS, _OCTETS)}}}',
        _GOOD % f'"anna":{{{_KEYS % (_OCTETS, 4096, "", _OCTETS)}}}',
    ],
)
def test_what_is_broken_is_an_error_that_names_the_file(text: str) -> None:
    """And is never taken for a file without users, or a user for one without a password."""
    with pytest.raises(ConfigError, match=r"users\.json: "):
        parse_users(text.encode(), "users.json")


def test_a_file_cut_anywhere_is_broken(tmp_path: Path) -> None:
    """As by a full disk."""
    octets = write(tmp_path / "users.json").read_bytes().rstrip()
    for length in range(len(octets)):
        with pytest.raises(ConfigError):
            parse_users(octets[:length], "users.json")


@given(st.binary(max_size=200))
def test_octets_are_a_file_of_users_or_an_error(octets: bytes) -> None:
    """Nothing else comes out."""
    with suppress(ConfigError):
        parse_users(octets, "users.json")


def test_a_file_that_cannot_be_replaced_stays(tmp_path: Path) -> None:
    """Whole, and without a draft beside it."""
    (tmp_path / "users.json").mkdir()
    (tmp_path / "users.json" / "occupied").touch()
    with pytest.raises(ConfigError, match="cannot be written"), locked(tmp_path / "users.json"):
        write_users(tmp_path / "users.json", new_file())
    assert os.listdir(tmp_path) == ["users.json"]


def test_secrets_are_not_shown(tmp_path: Path) -> None:
    """Neither by a user, nor by the file, nor by a complaint."""
    assert "open sesame" not in repr(file_of()) + repr(file_of().users)
    with pytest.raises(ConfigError) as caught:
        parse_users(b'{"format":1,"decoys":"sesame","users":{"a":{"cram_md5":"sesame?"}}}', "users.json")
    assert "sesame" not in str(caught.value)
