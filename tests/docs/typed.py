"""Would our commands take what a page shows? They are parsed by what parses them, and not run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from unittest.mock import patch

import click
from twisted.python.usage import UsageError
from twisted.scripts.twistd import ServerOptions

from fmqbus.cli.main import main as fmqbus
from fmqbus.pipeline.main import main as pipeline

_GROUPS = {"fmqbus": fmqbus, "fmqbus-pipeline": pipeline}
OURS = (*_GROUPS, "twistd")

#: What the shell takes for itself: the rest of a line is another command's, or a file's.
_SHELL = {"|", "||", "&&", ";", "<", ">", "2>", "&"}
#: Files need not be there.
_ANY_FILE = patch.object(click.File, "convert", lambda self, value, parameter, context: value)
_ANY_PATH = patch.object(click.Path, "convert", lambda self, value, parameter, context: value)


def commands_in(text: str) -> Iterator[list[str]]:
    """Those of ours that are typed in a block, one a line, as words."""
    for line in re.sub(r"\$\([^)]*\)", "x", text.replace("\\\n", "")).splitlines():
        for part in re.split(r" (?:\|\|?|&&|;) ", line.removeprefix("$ ")):
            # what is printed may look like nothing that a shell would take
            if re.match(rf"(\S*/)?({'|'.join(OURS)}) ", part):
                words = shlex.split(part)
                end = next((at for at, word in enumerate(words) if word in _SHELL), len(words))
                yield [words[0].rpartition("/")[2], *words[1:end]]


def complaint_about(words: list[str]) -> str | None:
    """Why a command would not take these words; None if it would."""
    program, *arguments = words
    if program == "twistd":
        return _complaint_of_twistd(arguments)
    group = _GROUPS[program]
    try:
        with _ANY_FILE, _ANY_PATH:
            _parse(group, program, arguments)
    except click.UsageError as error:
        return error.format_message()
    except click.exceptions.Exit:  # --help
        pass
    return None


def names_of_options(words: list[str]) -> set[str] | None:
    """The options of the command that the first words name; None if they name none."""
    program, *rest = words
    if program == "twistd":
        return None
    command: click.Command = _GROUPS[program]
    for word in rest:
        if not isinstance(command, click.Group) or word.startswith("-") or word.isupper():
            break
        found = command.get_command(click.Context(command), word)
        if found is None:
            return None
        command = found
    return {"--help", "--version", *(name for one in command.params for name in (*one.opts, *one.secondary_opts))}


def _parse(command: click.Command, name: str, arguments: list[str], parent: click.Context | None = None) -> None:
    with redirect_stdout(StringIO()):
        context = command.make_context(name, list(arguments), parent=parent)
    if isinstance(command, click.Group):
        name_of_next, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None, "else it would have raised"
        _parse(found, str(name_of_next), rest, context)


def _complaint_of_twistd(arguments: list[str]) -> str | None:
    try:
        with redirect_stdout(StringIO()):
            ServerOptions().parseOptions(arguments)
    except UsageError as error:
        return str(error)
    except SystemExit:  # --help
        pass
    return None
