"""Can the bus read who its users are, and keep what it is to keep?"""

from __future__ import annotations

import fcntl
import shutil
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest

from fmqbus.auth.user_file import User, new_file, write_users
from fmqbus.doctor import files
from fmqbus.doctor.findings import Finding, Severity
from fmqbus.limits import MIB
from tests.doctor.patients import findings, problems, written


def kept(path: Path) -> str:
    """A configuration that keeps everything in this file."""
    return f'listen = ["fmqp:tcp:0"]\nmessage_store = "sqlite"\n[stores.sqlite]\npath = "{path}"\n'


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database as the bus leaves it."""
    path = tmp_path / "bus.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE messages (queue, number, payload)")
        connection.executemany("INSERT INTO messages VALUES ('q', ?, ?)", [(n, bytes(500)) for n in range(100)])
    connection.close()
    path.chmod(0o600)
    return path


def store_findings(folder: Path, path: Path) -> list[Finding]:
    """What is found of the store."""
    return [one for name, one in findings(written(folder, kept(path))) if name == "store"]


def test_a_store_in_order_is_well_and_is_not_changed(tmp_path: Path, database: Path) -> None:
    """Not by one octet, and no file comes beside it."""
    before = database.read_bytes(), sorted(tmp_path.iterdir())
    found = store_findings(tmp_path, database)
    assert [one.severity for one in found] == [Severity.OK] * 2
    assert found[1].text == "is whole"
    (tmp_path / "bus.toml").unlink()
    assert (database.read_bytes(), sorted(tmp_path.iterdir())) == before


def test_a_store_that_is_yet_to_be_made_needs_a_folder_or_the_means_to_make_one(tmp_path: Path) -> None:
    """Nothing is made now."""
    found = store_findings(tmp_path, tmp_path / "new" / "folder" / "bus.db")
    assert [one.severity for one in found] == [Severity.OK]
    assert "it will be made" in found[0].text
    assert not (tmp_path / "new").exists()


def test_in_memory_nothing_is_kept_and_that_is_told(tmp_path: Path) -> None:
    """It may be meant."""
    (finding,) = (one for name, one in findings(written(tmp_path, 'listen = ["fmqp:tcp:0"]')) if name == "store")
    assert finding.severity is Severity.OK
    assert "in memory alone" in finding.text


def test_a_folder_that_is_a_file_is_told(tmp_path: Path, database: Path) -> None:
    """The first of the path that is none."""
    (finding,) = problems(tmp_path, kept(database / "below" / "bus.db"), "store")
    assert f"{database} is no folder" in finding.text


def test_a_folder_that_this_user_may_not_write_in_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write anywhere, so the system is asked."""
    monkeypatch.setattr(files.os, "access", lambda path, mode: False)
    (finding,) = problems(tmp_path, kept(tmp_path / "bus.db"), "store")
    assert "may not write" in finding.text
    assert "chown" in finding.cure


@pytest.mark.parametrize(("free", "severity"), [(10 * MIB, Severity.ERROR), (500 * MIB, Severity.WARNING)])
def test_a_disk_that_is_nearly_full_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, severity: Severity
) -> None:
    """In MiB."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free))
    (finding,) = problems(tmp_path, kept(tmp_path / "bus.db"), "store")
    assert finding.severity is severity
    assert f"{free // MIB} MiB are free" in finding.text
    assert finding.cure.startswith("df -h ")


def test_a_store_that_a_bus_has_open_is_left_alone(tmp_path: Path, database: Path) -> None:
    """Even what it is writing just now."""
    database.write_bytes(b"half-written")
    with database.open("rb") as bus:
        fcntl.flock(bus, fcntl.LOCK_EX)
        (finding,) = problems(tmp_path, kept(database), "store")
    assert finding.severity is Severity.WARNING
    assert finding.text == "a bus that runs has it open"


def test_a_store_that_was_not_closed_in_order_is_read_at_the_next_start(tmp_path: Path, database: Path) -> None:
    """What is in its log is not seen from here, so nothing is said of the rest."""
    (tmp_path / "bus.db-wal").write_bytes(b"log")
    assert problems(tmp_path, kept(database), "store") == []


@pytest.mark.parametrize("octets", [b"no database", b"SQLite format 3\0" + bytes(100)])
def test_what_is_no_database_is_told(tmp_path: Path, database: Path, octets: bytes) -> None:
    """And how to go on without it."""
    database.write_bytes(octets)
    (finding,) = problems(tmp_path, kept(database), "store")
    assert finding.severity is Severity.ERROR
    assert "is damaged" in finding.text
    assert "set-aside" in finding.cure


def test_damage_within_a_database_is_told(tmp_path: Path, database: Path) -> None:
    """As SQLite sees it."""
    octets = bytearray(database.read_bytes())
    octets[4096:8192] = bytes([255]) * 4096
    database.write_bytes(octets)
    (finding,) = problems(tmp_path, kept(database), "store")
    assert finding.severity is Severity.ERROR


def test_a_database_that_others_can_read_is_told(tmp_path: Path, database: Path) -> None:
    """There are messages in it."""
    database.chmod(0o644)
    (finding,) = problems(tmp_path, kept(database), "store")
    assert finding.cure == f"chmod 600 {database}"


def test_a_file_of_users_is_read_as_the_bus_reads_it(tmp_path: Path) -> None:
    """With how many there are."""
    path = tmp_path / "users.json"
    text = f'listen = ["fmqp:tcp:0"]\n[users]\nfile = "{path}"\n'
    (finding,) = problems(tmp_path, text, "users")
    assert finding.cure == f"fmqbus user add {path} NAME"
    file = new_file()
    write_users(path, file)
    (finding,) = problems(tmp_path, text, "users")
    assert (finding.severity, finding.text) == (Severity.WARNING, "there is nobody in it")
    write_users(path, with_anna(file))
    assert problems(tmp_path, text, "users") == []
    path.chmod(0o644)
    (finding,) = problems(tmp_path, text, "users")
    assert (finding.severity, finding.cure) == (Severity.ERROR, f"chmod 600 {path}")


def with_anna(file: object) -> object:
    """The same file with one user in it."""
    import msgspec

    return msgspec.structs.replace(file, users={"anna": User(external=("uid:1000",))})


def test_the_folder_of_a_journal_is_looked_at_where_there_is_one(tmp_path: Path) -> None:
    """As that of the store; it is not made."""
    text = f'listen = ["fmqp:tcp:0"]\n[journal]\npath = "{tmp_path}/journal"\n'
    (finding,) = (one for name, one in findings(written(tmp_path, text)) if name == "journal")
    assert finding.severity is Severity.OK
    assert "it will be made" in finding.text
    assert not (tmp_path / "journal").exists()
    (tmp_path / "journal").write_text("no folder")
    (finding,) = problems(tmp_path, text, "journal")
    assert finding.severity is Severity.ERROR


POLICY = '[[rules]]\neffect = "allow"\nactions = "*"\nwho = ["group:ops"]\nnames = ["**"]\n'


def test_a_policy_file_is_read_as_the_bus_reads_it(tmp_path: Path) -> None:
    """With what of it can never fit anybody."""
    path = tmp_path / "policy.toml"
    text = f'listen = ["fmqp:tcp:0"]\n[access]\npolicy = "{path}"\n'
    (finding,) = problems(tmp_path, text, "policy")
    assert (finding.severity, "cannot be read" in finding.text) == (Severity.ERROR, True)
    path.write_text(POLICY)
    (finding,) = problems(tmp_path, text, "policy")
    assert finding.text == "rules speak of groups in which nobody is: ops"
    path.write_text(POLICY + '[groups]\nops = ["identity:ann"]\n')
    assert problems(tmp_path, text, "policy") == []
    path.chmod(0o666)
    (finding,) = problems(tmp_path, text, "policy")
    assert finding.cure == f"chmod o-w {path}"
