"""Is a Python 2.7 found where there is one?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.wstest.suite import find_python


@pytest.fixture(autouse=True)
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither on the path nor of pyenv is there anything yet."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))


def put(path: Path, script: str) -> Path:
    """Put a program there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_the_first_on_the_path_is_taken(tmp_path: Path) -> None:
    """Whatever it is called, if it says that it is one."""
    put(tmp_path / "pyenv/versions/2.7.18/bin/python2.7", "echo '(2, 7)'")
    first = put(tmp_path / "bin/pypy", "echo '(2, 7)'")
    assert find_python() == first


def test_a_program_that_only_says_where_there_is_one_is_none(tmp_path: Path) -> None:
    """As pyenv's, which stand on the path for versions that are not chosen."""
    put(tmp_path / "bin/python2.7", "echo 'not here' >&2; exit 127")
    real = put(tmp_path / "pyenv/versions/2.7.18/bin/python2.7", "echo '(2, 7)'")
    assert find_python() == real


def test_where_there_is_none_none_is_found(tmp_path: Path) -> None:
    """A PyPy of Python 3 does not count."""
    put(tmp_path / "bin/pypy", "echo '(3, 11)'")
    assert find_python() is None
