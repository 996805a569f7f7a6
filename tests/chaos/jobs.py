"""What the workers do: each job leaves a line in a file before it ends, one way or another."""

from __future__ import annotations

import os
import time

from fmqbus.worker import job

#: The environment variable that names the file.
FILE = "CHAOS_FILE"
#: One job in so many raises an exception, and one in so many takes a while.
FAILS_EVERY, LINGERS_EVERY = 50, 20
_LINGER_SECONDS = 0.05


def fails(number: int) -> bool:
    """Whether this job raises an exception, each time."""
    return number % FAILS_EVERY == 7


@job
def work(number: int) -> int:
    """Its effect is one write, which a kill leaves out or lets be."""
    descriptor = os.open(os.environ[FILE], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(descriptor, b"%d\n" % number)
    finally:
        os.close(descriptor)
    if number % LINGERS_EVERY == 3:
        time.sleep(_LINGER_SECONDS)
    if fails(number):
        raise ValueError(number)
    return number
