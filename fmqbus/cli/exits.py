"""How does a command end, and what does its exit code tell a script?"""

from __future__ import annotations

import enum

import click


class ExitCode(enum.IntEnum):
    """Each says one thing. Shown below the help of every command that talks to a bus."""

    OK = 0
    FAILED = 1
    #: click's own.
    USAGE = 2
    CANNOT_CONNECT = 3
    TIMED_OUT = 4
    #: 128 + SIGINT, as of a shell.
    INTERRUPTED = 130
    #: 128 + SIGPIPE: whoever read our output has gone.
    READER_GONE = 141


EXIT_CODES = (
    "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 cannot connect, 4 timed out, 130 interrupted, 141 the reader of "
    "the output has gone."
)


class CommandFailed(click.ClickException):
    """The command ends with a message on stderr."""

    exit_code = ExitCode.FAILED


class CannotConnect(CommandFailed):
    """There is no bus at this URL, or it does not let us in."""

    exit_code = ExitCode.CANNOT_CONNECT


class ConnectionGone(CommandFailed):
    """The connection ended before the bus had confirmed all that was asked of it."""


class TimedOut(CommandFailed):
    """What was waited for did not come in time."""

    exit_code = ExitCode.TIMED_OUT
