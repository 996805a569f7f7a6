"""Installations to be looked at."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from twisted.internet.testing import MemoryReactorClock

from fmqbus.app.plugs import Plugs, find_plugs
from fmqbus.doctor.examine import examine
from fmqbus.doctor.findings import Finding, Severity

PLUGS = find_plugs()


def findings(path: Path | None, plugs: Plugs = PLUGS, now: datetime | None = None) -> Iterator[tuple[str, Finding]]:
    """All findings, each with the name of its examination."""
    return examine(MemoryReactorClock(), path, plugs, now or datetime.now(UTC))


def written(folder: Path, text: str) -> Path:
    """A configuration file with this text."""
    path = folder / "bus.toml"
    path.write_text(text)
    return path


def problems(folder: Path, text: str, examination: str, now: datetime | None = None) -> list[Finding]:
    """What one examination does not find well, in a configuration with this text."""
    return [
        finding
        for name, finding in findings(written(folder, text), now=now)
        if name == examination and finding.severity is not Severity.OK
    ]
