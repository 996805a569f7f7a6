"""An application's module with jobs, for the clients' tests: none of them runs here."""

from __future__ import annotations

from fmqbus.worker import job


@job
def add(first: int, second: int = 0) -> int:
    """Says nothing more."""
    return first + second


@job(queue="email", timeout=2.5, retry_count=3, guarantee=True, reply=False)
def send(text: str) -> None:
    """Says all that can be said."""


def plain() -> None:
    """A worker may have been told to allow it."""
