"""How does a command run on the reactor, end in good order when interrupted, and find its exit code?

The only file of the client commands that touches the global reactor.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn

import click
from twisted.internet.defer import CancelledError, Deferred

from fmqbus.cli.exits import ExitCode
from fmqbus.errors import BusError

#: A command: gets the reactor, and raises `click.ClickException` to fail.
Main = Callable[[Any], Coroutine[Any, Any, None]]


def run(main: Main) -> NoReturn:
    """Run a command's coroutine to its end and leave the process.

    On SIGINT and SIGTERM the coroutine is cancelled, and its ``finally`` blocks have the time they need.
    """
    from twisted.internet import task

    task.react(lambda reactor: Deferred.fromCoroutine(_to_exit_code(main, reactor)))


async def _to_exit_code(main: Main, reactor: Any) -> None:
    work = Deferred.fromCoroutine(main(reactor))
    ended: Deferred[None] = Deferred()
    reactor.addSystemEventTrigger("before", "shutdown", _cancel, work, ended)
    try:
        await work
    except click.ClickException as error:
        error.show()
        raise SystemExit(error.exit_code) from None
    except BusError as error:
        click.ClickException(str(error)).show()
        raise SystemExit(ExitCode.FAILED) from None
    except CancelledError:
        raise SystemExit(ExitCode.INTERRUPTED) from None
    except BrokenPipeError:
        # the interpreter flushes stdout once more at its end, and would complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(ExitCode.READER_GONE) from None
    finally:
        ended.callback(None)


def _cancel(work: Deferred[None], ended: Deferred[None]) -> Deferred[None]:
    """Interrupt the command. The reactor stops when it has cleaned up."""
    work.cancel()
    return ended
