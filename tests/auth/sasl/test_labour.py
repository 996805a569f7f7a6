"""What becomes of logins where the system gives no threads, or no say over them? (`fmqbus.auth.sasl.labour`)"""

from __future__ import annotations

import os
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor

from fmqbus.auth.sasl import labour
from fmqbus.auth.sasl.labour import THREADS, Labour
from fmqbus.logins import Proved, Step
from tests.live.broker import PATIENCE_SECONDS


def work() -> Step:
    """A password that fits."""
    return Proved("anna")


def nothing_instead() -> None:
    """It is to be done."""


@pytest_twisted.ensureDeferred
async def test_work_is_done_where_a_thread_may_not_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under a filter of system calls: priorities are a courtesy."""

    def refuse(*arguments: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "setpriority", refuse)
    step = await Labour(reactor, 10).do(work, nothing_instead).addTimeout(PATIENCE_SECONDS, reactor)
    assert step == Proved("anna")


@pytest_twisted.ensureDeferred
async def test_a_thread_that_cannot_be_begun_takes_no_place_in_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was to be done has failed; as soon as there are threads again, so does nothing else."""

    class NoThread:
        def __init__(self, **options: Any) -> None:
            """Whatever it is to run."""

        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    line = Labour(reactor, 10)
    with monkeypatch.context() as without:
        without.setattr(labour, "Thread", NoThread)
        for _ in range(THREADS + 1):
            with pytest.raises(RuntimeError):
                await line.do(work, nothing_instead)
    step = await line.do(work, nothing_instead).addTimeout(PATIENCE_SECONDS, reactor)
    assert step == Proved("anna")
