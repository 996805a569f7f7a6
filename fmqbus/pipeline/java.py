"""Where is the Java that Spark runs on? If there is none, or one too old, one sentence says what to do about it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from fmqbus.errors import LocalError

#: The oldest that Spark 4 runs on, and the one that all was measured with.
LEAST_VERSION = 17

#: A JVM that does not say in time which it is will not run Spark either.
_ANSWER_SECONDS = 20.0

#: Package tool → the command that installs Java 17 with it, in the order in which they are looked for.
_INSTALLERS: Mapping[str, str] = {
    "apt-get": "sudo apt-get install default-jre-headless",
    "dnf": "sudo dnf install java-17-openjdk-headless",
    "zypper": "sudo zypper install java-17-openjdk-headless",
    "apk": "sudo apk add openjdk17-jre-headless",
    "pacman": "sudo pacman -S jre17-openjdk-headless",
    "brew": "brew install openjdk@17",
}


class JavaMissing(LocalError):
    """Spark cannot run here. The text is one sentence, with the command that changes that."""

    reason = "java"


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the ``java`` that Spark will use: that of JAVA_HOME if that is set, else the first on PATH.

    Takes the time of starting a JVM, a tenth of a second. Raises `JavaMissing`.
    """
    home = environment.get("JAVA_HOME", "")
    if home:
        java = Path(home, "bin", "java")
        if not os.access(java, os.X_OK):
            raise JavaMissing(f"there is no Java in JAVA_HOME ({home}): unset it, or {_advice(environment)}")
    else:
        found = shutil.which("java", path=environment.get("PATH", ""))
        if found is None:
            raise JavaMissing(f"Spark needs Java {LEAST_VERSION} or newer, and there is none: {_advice(environment)}")
        java = Path(found)
    version = version_in(_answer_of(java, environment))
    if version is None:
        raise JavaMissing(f"{java} does not say which Java it is: {_advice(environment)}")
    if version < LEAST_VERSION:
        raise JavaMissing(
            f"Spark needs Java {LEAST_VERSION} or newer, and {java} is Java {version}: {_advice(environment)}"
        )
    return java


def version_in(answer: str) -> int | None:
    """The version in what ``java -version`` writes; None if there is none in it. Java 8 calls itself 1.8."""
    found = re.search(r'version "(?:1\.)?(\d+)', answer)
    return None if found is None else int(found[1])


def _answer_of(java: Path, environment: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(
            [java, "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ANSWER_SECONDS,
            env=dict(environment),
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr + done.stdout


def _advice(environment: Mapping[str, str]) -> str:
    path = environment.get("PATH", "")
    for tool, command in _INSTALLERS.items():
        if shutil.which(tool, path=path) is not None:
            return command
    return f"install a Java {LEAST_VERSION} and set JAVA_HOME to its folder"
