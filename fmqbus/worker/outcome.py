"""What became of a job?"""

from __future__ import annotations

import enum

import attrs


class Ending(enum.Enum):
    """How it ended."""

    #: It returned; `Outcome.value` is what.
    DONE = "done"
    #: It raised, or is no job of this worker, or returned what is no JSON.
    RAISED = "raised"
    #: It took too long, and was killed.
    TIMED_OUT = "timed-out"
    #: Its process ended under it: killed from outside, out of memory, or by its own fault.
    DIED = "died"
    #: The pool stops, and could not wait any longer.
    GIVEN_UP = "given-up"


@attrs.frozen
class Outcome:
    """The end of one run of a job."""

    ending: Ending
    #: What it returned, as JSON; ``null`` if it did not return.
    value: bytes = b"null"
    #: For people: why it did not return.
    text: str = ""
    #: The class of what it raised.
    kind: str = ""
    traceback: str = ""


def timed_out(seconds: float) -> Outcome:
    """It was killed after so many seconds."""
    return Outcome(Ending.TIMED_OUT, text=f"it took more than {seconds:g} s and was killed", kind="TimeoutError")


def died(why: str) -> Outcome:
    """Its process has ended."""
    return Outcome(Ending.DIED, text=why, kind="ProcessDied")


def given_up() -> Outcome:
    """The pool stops."""
    return Outcome(Ending.GIVEN_UP, text="the worker stops, and its time is over", kind="WorkerLost")
