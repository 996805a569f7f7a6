"""What is taken for a key, from whom, and what is not?"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import zmq
from zmq.auth import load_certificate

from fmqbus.errors import ConfigError
from fmqbus.transports.zeromq import key_folder
from fmqbus.transports.zeromq.key_folder import KeyFolder
from fmqbus.transports.zeromq.keys import KeyPair, read_key_pair, read_public_keys, read_server_key
from tests.transports.zeromq.keys import write

PAIR = KeyPair.new()
OTHER = KeyPair.new()


def test_a_file_as_pyzmq_writes_it(tmp_path: Path) -> None:
    """Both halves, and pyzmq reads what we read."""
    path = tmp_path / "me.key_secret"
    write(path, PAIR.public, PAIR.secret)
    assert read_key_pair(path) == PAIR
    assert load_certificate(path) == (PAIR.public.encode(), PAIR.secret.encode())
    assert read_server_key(path) == PAIR.public


def test_the_public_key_belongs_to_the_secret_one(tmp_path: Path) -> None:
    """Else whoever looks at the file would trust another one."""
    write(tmp_path / "me", OTHER.public, PAIR.secret)
    with pytest.raises(ConfigError, match="not that of the secret one"):
        read_key_pair(tmp_path / "me")


def test_a_folder_has_the_keys_of_all_files_with_the_ending(tmp_path: Path) -> None:
    """One may have several; what editors leave, and what is written for people, is passed over."""
    write(tmp_path / "anna.key", PAIR.public)
    with (tmp_path / "anna.key").open("a") as file:
        file.write(f"public-key = '{OTHER.public}'\n")
    (tmp_path / "README").write_text("public-key = nonsense\n")
    (tmp_path / ".anna.key").write_text("public-key = nonsense\n")
    assert KeyFolder(tmp_path).read() == {PAIR.public: "anna", OTHER.public: "anna"}


def test_an_empty_folder_has_none(tmp_path: Path) -> None:
    """Which lets nobody in."""
    assert KeyFolder(tmp_path).read() == {}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no public key"),
        ("curve\n    public-key = \n", "40 letters"),
        ('curve\n    public-key = "short"\n', "line 2: a key has 40 letters of Z85"),
        (f'public-key = "{"#" * 40}"\n', "40 letters"),
        (f'public-key = "{"~" * 40}"\n', "40 letters"),
        (f'public-key = "{PAIR.public}"\npublic-key "{OTHER.public}"\n', "line 2: a key is written as"),
        (f'public-key = "{PAIR.public}" # of anna\n', "line 1: a key is written as"),
        (f'public-key = "{PAIR.public}"\nsecret-key = "{PAIR.secret}"\n', "public ones only"),
        ("#" * 20_000, "more than"),
    ],
)
def test_one_file_that_is_wrong_is_enough(tmp_path: Path, text: str, complaint: str) -> None:
    """The folder is then no folder of keys. No key is quoted: it may be a secret one."""
    write(tmp_path / "anna.key", OTHER.public)
    (tmp_path / "bo.key").write_text(text)
    with pytest.raises(ConfigError, match=r"bo\.key.*" + complaint) as raised:
        KeyFolder(tmp_path).read()
    assert PAIR.secret not in str(raised.value)


def test_two_names_cannot_have_the_same_key(tmp_path: Path) -> None:
    """To remove one of them would remove nobody."""
    for name in ("anna", "bo"):
        write(tmp_path / f"{name}.key", PAIR.public)
    with pytest.raises(ConfigError, match=r"bo\.key: has the same key as anna\.key"):
        KeyFolder(tmp_path).read()


@pytest.mark.parametrize(("mode", "complaint"), [(0o666, "change it; chmod 644"), (0o620, "change it; chmod 600")])
def test_what_others_can_change_lets_nobody_in(tmp_path: Path, mode: int, complaint: str) -> None:
    """They could let themselves in."""
    path = tmp_path / "anna.key"
    write(path, PAIR.public)
    path.chmod(mode)
    with pytest.raises(ConfigError, match=complaint):
        KeyFolder(tmp_path).read()


def test_nor_does_a_folder_that_others_can_change(tmp_path: Path) -> None:
    """It is the same."""
    folder = tmp_path / "clients"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(ConfigError, match="change it; chmod 755"):
        KeyFolder(folder).read()


def test_what_has_not_changed_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever changes, the content, the mode, or the file itself, is seen."""
    read: list[str] = []

    def reading(path: Path) -> list[str]:
        read.append(path.name)
        return read_public_keys(path)

    monkeypatch.setattr(key_folder, "read_public_keys", reading)
    folder = KeyFolder(tmp_path)
    for name, pair in (("anna", PAIR), ("bo", OTHER)):
        write(tmp_path / f"{name}.key", pair.public)
    assert folder.read() == folder.read() == {PAIR.public: "anna", OTHER.public: "bo"}
    assert read == ["anna.key", "bo.key"]
    third = KeyPair.new()
    write(tmp_path / "bo.key", third.public)
    assert folder.read() == {PAIR.public: "anna", third.public: "bo"}
    (tmp_path / "bo.key").unlink()
    assert folder.read() == {PAIR.public: "anna"}
    assert read == ["anna.key", "bo.key", "bo.key"]
    (tmp_path / "anna.key").chmod(0o666)
    with pytest.raises(ConfigError, match="change it"):
        folder.read()


def test_a_folder_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To read it takes time."""
    monkeypatch.setattr(key_folder, "MOST_FILES", 1)
    for name, pair in (("anna", PAIR), ("bo", OTHER)):
        write(tmp_path / f"{name}.key", pair.public)
    with pytest.raises(ConfigError, match="more than 1 keys"):
        KeyFolder(tmp_path).read()


def test_what_others_can_read_is_no_secret(tmp_path: Path) -> None:
    """A group may, if the operator wants it."""
    path = tmp_path / "me.key_secret"
    write(path, PAIR.public, PAIR.secret)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="read or change it; chmod 640"):
        read_key_pair(path)
    path.chmod(0o640)
    assert read_key_pair(path) == PAIR


def test_what_is_no_file_or_no_folder_is_refused_at_once(tmp_path: Path) -> None:
    """A pipe in its place would have us wait for ever."""
    os.mkfifo(tmp_path / "anna.key")
    with pytest.raises(ConfigError, match="is no file"):
        KeyFolder(tmp_path).read()
    with pytest.raises(ConfigError, match="cannot be read"):
        KeyFolder(tmp_path / "nowhere").read()
    with pytest.raises(ConfigError, match="cannot be read"):
        read_public_keys(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be read: Not a directory"):
        KeyFolder(tmp_path / "file").read()


def test_a_new_pair_is_one_and_shows_no_secret() -> None:
    """Neither in a log nor in a debugger."""
    assert zmq.curve_public(PAIR.secret.encode()).decode() == PAIR.public
    assert PAIR.secret not in repr(PAIR)
