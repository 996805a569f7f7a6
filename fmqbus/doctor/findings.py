"""What an examination is told, and what it tells."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import attrs

from fmqbus.app.config import Config
from fmqbus.app.plugs import Plugs
from fmqbus.model import SocketPlan
from fmqbus.transports.listen_string import ListenString


class Severity(enum.Enum):
    """How bad it is."""

    OK = "ok"
    #: A bus starts, but something is not as it should be, or will soon not be.
    WARNING = "warning"
    #: A bus does not start, or not all of it works.
    ERROR = "error"


@attrs.frozen
class Finding:
    """One thing that was looked at."""

    severity: Severity
    #: What it is about, such as a file or a listen string.
    subject: str
    #: What is the matter with it, in a few words.
    text: str
    #: What to do about it: a command where there is one. Empty if all is well.
    cure: str = ""


def ok(subject: str, text: str) -> Finding:
    """All is well with it."""
    return Finding(Severity.OK, subject, text)


def warning(subject: str, text: str, cure: str) -> Finding:
    """See `Severity.WARNING`."""
    return Finding(Severity.WARNING, subject, text, cure)


def error(subject: str, text: str, cure: str) -> Finding:
    """See `Severity.ERROR`."""
    return Finding(Severity.ERROR, subject, text, cure)


@attrs.frozen(kw_only=True)
class Patient:
    """An installation and a configuration."""

    #: Where the configuration stands; None for the one without a file.
    path: Path | None
    config: Config
    plugs: Plugs
    #: Where a bus would listen, as far as that can be told.
    places: Sequence[ListenString] = ()
    #: What it would listen with, at each of them: sockets for a protocol of parts, else nothing. Not known where the
    #: configuration cannot be used.
    sockets: Sequence[Sequence[SocketPlan]] | None = None
    #: Whether anybody on another machine may be allowed anything, as far as that can be told.
    may_let_in: bool = True
    now: datetime


#: Looks, changes nothing, and tells what it has found. It may take seconds.
Examination = Callable[[Patient], Iterator[Finding]]
