"""What can be said on a command line? A reference made of the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import click
from twisted.application.service import IServiceMaker

import twisted.plugins.fmqbus_services as services_of_twistd
from fmqbus.cli.main import main as fmqbus
from fmqbus.pipeline.main import main as pipeline

#: What twistd runs of ours.
SERVICES: list[Any] = [each for each in vars(services_of_twistd).values() if IServiceMaker.providedBy(each)]


def bus_commands() -> str:
    """Those of `fmqbus`."""
    return "\n".join(_lines("fmqbus", fmqbus))


def pipeline_commands() -> str:
    """Those of `fmqbus-pipeline`."""
    return "\n".join(_lines("fmqbus-pipeline", pipeline))


def services() -> str:
    """Those of twistd."""
    return "\n\n".join("\n".join(_service_lines(maker)) for maker in SERVICES)


def _lines(name: str, group: click.Group) -> Iterator[str]:
    context = click.Context(group, info_name=name)
    for number, word in enumerate(group.list_commands(context)):
        command = group.get_command(context, word)
        assert command is not None
        if number:
            yield ""
        if isinstance(command, click.Group):
            yield f"### `{name} {word}`"
            yield ""
            yield _help(command)
            inner = click.Context(command, info_name=word, parent=context)
            for each in command.list_commands(inner):
                found = command.get_command(inner, each)
                assert found is not None
                yield ""
                yield from _command_lines(f"{name} {word} {each}", found, click.Context(found, inner, each), "####")
        else:
            yield from _command_lines(f"{name} {word}", command, click.Context(command, context, word), "###")


def _command_lines(name: str, command: click.Command, context: click.Context, heading: str) -> Iterator[str]:
    arguments = [each.make_metavar(context) for each in command.params if isinstance(each, click.Argument)]
    yield f"{heading} `{' '.join([name, *arguments])}`"
    yield ""
    yield _help(command)
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    if options:
        yield ""
        yield "| option | what it says |"
        yield "|---|---|"
        for option in options:
            told = f"{_cell(option.help or '')} {_default(option)}".strip()
            yield f"| `{_names(option, context)}` | {told} |"


def _help(command: click.Command) -> str:
    """Its docstring, one line for each paragraph; what is to stay as it is written, as code."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    kept = []
    for paragraph in paragraphs:
        if paragraph.startswith("\b\n"):
            kept.append("```text\n" + paragraph.removeprefix("\b\n") + "\n```")
        else:
            kept.append(" ".join(paragraph.split()).replace("*", r"\*").replace("<", r"\<"))
    return "\n\n".join(kept)


def _names(option: click.Option, context: click.Context) -> str:
    names = ", ".join([*option.opts, *option.secondary_opts])
    if option.is_flag or option.count:
        return names
    value = re.sub(r"(FLOAT|INTEGER)( RANGE)?", "NUMBER", option.make_metavar(context))
    return f"{names} {value}".replace("|", r"\|")


def _default(option: click.Option) -> str:
    default: Any = option.default
    if not option.show_default or isinstance(default, bool) or not isinstance(default, str | int | float):
        return ""
    return f"(default: `{default}`)"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("*", r"\*").replace("<", r"\<")


def _service_lines(maker: Any) -> Iterator[str]:
    options = maker.options()
    synopsis = getattr(options, "synopsis", "[options]")
    yield f"### `twistd -n {maker.tapname} {synopsis}`"
    yield ""
    yield maker.description
    yield ""
    yield "| option | what it says |"
    yield "|---|---|"
    defaults = {name: default for name, _, default, *_ in options.optParameters}
    for word, documentation in sorted(options.docs.items()):
        # a single letter is another name of an option
        if word not in ("version", "help", "reactor") and len(word) > 1:
            default = defaults.get(word)
            told = "" if default is None else f" (default: `{default}`)"
            yield f"| `--{word}` | {_cell(documentation or '')}{told} |"
