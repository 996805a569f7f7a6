"""Java is found where it is, and where it is not, one sentence says what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fmqbus.pipeline.java import JavaMissing, find_java, version_in

Maker = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    """Put a program into a folder; it writes one line to its standard error."""

    def put(name: str, says: str = "", folder: str = "bin") -> Path:
        program = tmp_path / folder / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
        program.chmod(0o755)
        return program

    return put


def test_java_of_java_home_comes_first(make: Maker) -> None:
    """As Spark itself has it."""
    on_path = make("java", 'openjdk version "21.0.1"')
    at_home = make("java", 'openjdk version "17.0.15"', "jdk/bin")
    environment = {"PATH": str(on_path.parent), "JAVA_HOME": str(at_home.parents[1])}
    assert find_java(environment) == at_home
    assert find_java({"PATH": str(on_path.parent)}) == on_path


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "25" 2025-09-16', 25),
        ("Segmentation fault", None),
    ],
)
def test_versions_are_read(answer: str, version: int | None) -> None:
    """Old Java calls itself 1.8; what says nothing has none."""
    assert version_in(answer) == version


def test_missing_java_is_one_sentence_with_the_command_that_installs_it(make: Maker) -> None:
    """The command is that of this system's own tool; where it has none that we know, JAVA_HOME is named."""
    tools = make("dnf").parent
    with pytest.raises(JavaMissing) as missing:
        find_java({"PATH": str(tools)})
    assert str(missing.value) == (
        "Spark needs Java 17 or newer, and there is none: sudo dnf install java-17-openjdk-headless"
    )
    with pytest.raises(JavaMissing, match="install a Java 17 and set JAVA_HOME to its folder"):
        find_java({"PATH": ""})


def test_java_that_is_too_old_or_broken_is_told_with_its_place(make: Maker) -> None:
    """Whoever has several wants to know which one was meant."""
    old = make("java", 'java version "1.8.0_392"')
    with pytest.raises(JavaMissing, match=f"{old} is Java 8"):
        find_java({"PATH": str(old.parent)})
    mute = make("java", "", "mute")
    with pytest.raises(JavaMissing, match="does not say which Java it is"):
        find_java({"PATH": str(mute.parent)})
    mute.write_bytes(b"\x00not a program")
    with pytest.raises(JavaMissing, match="does not say which Java it is"):
        find_java({"PATH": str(mute.parent)})


def test_java_home_without_java_is_told(tmp_path: Path) -> None:
    """It is what Spark would stumble over, with less to say."""
    with pytest.raises(JavaMissing, match="there is no Java in JAVA_HOME"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin"})
