"""What do a pool and its processes tell each other? One JSON object a line, each way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec


class Run(msgspec.Struct, frozen=True):
    """To the process: run this. One at a time."""

    path: str
    callable: str
    args: Sequence[Any] = ()
    kwargs: dict[str, Any] = {}
    class_args: Sequence[Any] = ()
    class_kwargs: dict[str, Any] = {}


class Ready(msgspec.Struct, frozen=True, tag=True):
    """From the process: it has loaded everything. Only now it is given anything."""

    #: Name → seconds that it may take if nobody says otherwise; None as the settings say.
    jobs: dict[str, float | None]


class Broken(msgspec.Struct, frozen=True, tag=True):
    """From the process: it cannot load what it should; it ends."""

    reason: str


class Progress(msgspec.Struct, frozen=True, tag=True):
    """From the process: how far the job is."""

    #: 0 to 1.
    fraction: float
    note: str = ""


class Done(msgspec.Struct, frozen=True, tag=True):
    """From the process: the job has returned this."""

    value: msgspec.Raw
    #: Octets of memory that the process has now.
    memory: int


class Raised(msgspec.Struct, frozen=True, tag=True):
    """From the process: the job has raised this, or was none, or returned what is no JSON."""

    #: Its class, such as ``ValueError``.
    kind: str
    text: str
    traceback: str
    memory: int


Told = Ready | Broken | Progress | Done | Raised

_runs = msgspec.json.Decoder(Run)
_told = msgspec.json.Decoder(Told)
_encoder = msgspec.json.Encoder()


def encode(message: Run | Told) -> bytes:
    """One line."""
    return _encoder.encode(message) + b"\n"


def decode_run(line: bytes) -> Run:
    """Read what a pool has written."""
    return _runs.decode(line)


def decode_told(line: bytes) -> Told:
    """Read what a process has written. Raises `msgspec.DecodeError`."""
    told: Told = _told.decode(line)
    return told
