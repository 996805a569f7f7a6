"""How a file from another version of fmqbus is met."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from fmqbus.errors import StoreFailed
from fmqbus.stores.sqlite import schema
from tests.stores.sqlite.samples import append, database, read, write


def test_a_file_of_an_earlier_version_takes_the_steps_that_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, and with all that it keeps."""
    path = tmp_path / "bus.db"
    write(path, [[append(1)]])
    further = ("CREATE TABLE further (name)", "INSERT INTO further VALUES ('daily')")
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, further))
    for _ in range(2):
        assert read(path) == (([(b"q", 1, b"x")], []), [])
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT * FROM further").fetchall() == [("daily",)]
    connection.close()


def test_a_step_that_cannot_be_taken_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a step, or nothing."""
    path = tmp_path / "bus.db"
    write(path, [[append(1)]])
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", (*schema.STEPS, ("CREATE TABLE further (name)", "this is no SQL")))
        with pytest.raises(sqlite3.OperationalError):
            read(path)
    assert read(path) == (([(b"q", 1, b"x")], []), [])


def test_a_file_of_a_later_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may hold what this version does not know; whatever is to be done with damaged ones."""
    path = tmp_path / "bus.db"
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", (*schema.STEPS, ("CREATE TABLE further (name)",)))
        write(path, [[append(1)]])
    for damaged in ("refuse", "set-aside"):
        with pytest.raises(StoreFailed, match="a later fmqbus wrote it, in version 3; this one knows 2 and less"):
            read(path, damaged=damaged)
    assert [file.name for file in tmp_path.iterdir()] == ["bus.db"]


def test_a_file_that_was_refused_can_be_opened_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it stays locked."""
    path = tmp_path / "bus.db"
    write(path, [[append(1)]])
    refused = database(path)
    with monkeypatch.context() as patch:
        patch.setattr(schema, "STEPS", ())
        with pytest.raises(StoreFailed):
            refused.messages()
    assert read(path)[0] == ([(b"q", 1, b"x")], [])
