"""What workers do in the soak: a job is a message that was taken, and written down before it is done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fmqbus.worker import job
from tests.soak.account import FILE, Account

_account = Account(Path(os.environ[FILE]))


@job
def take(sender: str, number: int) -> None:
    """A message of one of the queues. Workers are not told which queue, nor whether it comes again."""
    _account.write("took", "-", sender, number, "-")


@job
def tick() -> None:
    """What is scheduled."""
    _account.write("tick")


@job
def echo(argument: Any) -> Any:
    """A call."""
    return argument
