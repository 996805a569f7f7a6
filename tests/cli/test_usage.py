"""Wrong words on the command line: told at once, without looking for a bus."""

from __future__ import annotations

from importlib import import_module

import click
import pytest
from click.testing import CliRunner

from fmqbus.cli.exits import ExitCode

COMMANDS = ("pub", "sub", "send", "consume", "queue", "schedule", "watch", "top", "bench", "demo")


def command(name: str) -> click.Command:
    """The command of this name."""
    found: click.Command = import_module(f"fmqbus.cli.{name}").command
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_and_its_exit_codes(name: str) -> None:
    """In its help."""
    result = CliRunner().invoke(command(name), ["--help"])
    assert result.exit_code == 0
    assert "Exit codes: 0 done" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("pub", "give a topic"),
        ("pub a b c", "give one payload"),
        ("pub ///", "no topic"),
        (f"pub a b --file {__file__}", "either a payload or --file"),
        ("pub a b --timeout 3", "--wait-demand"),
        ("pub a --will", "one payload"),
        ("pub a b --will --rate 3", "one payload"),
        ("pub a b --count 0", "--count"),
        ("pub a b --rate 0", "--rate"),
        ("sub", "at least one pattern"),
        ("sub fmqp://here", "at least one pattern"),
        ("sub a //", "no topic"),
        ("watch", "at least one pattern"),
        ("top //", "no topic"),
        ("bench nonsense", "no URL"),
        ("demo --seconds 0", "--seconds"),
        ("pub micromsg2://a b c --wait-demand", "is for fmqp:// and ws:// only"),
        ("pub fmqp://a b c --property d=e", "is for micromsg2://, ws:// and mtl:// only"),
        ("pub mtl://a b c --will", "is for fmqp://, micromsg2:// and ws:// only"),
        ("pub mtl://a b c --wait-demand", "is for fmqp:// and ws:// only"),
        ("send mtl://a:secret@b c d", "a password has no place in a URL"),
        ("send mtl://a?x=y b c", "unknown option x"),
        ("pub micromsg2://a b c --property d", "NAME=VALUE"),
        ("sub micromsg2://a b --debug", "is for fmqp:// and ws:// only"),
        ("sub fmqp://a b --filter c=d", "is for micromsg2:// only"),
        ("sub micromsg2://a b --filter nonsense", "not a filter"),
        ("watch micromsg2://a b", "is for fmqp:// and ws:// only"),
        ("top micromsg2://a", "is for fmqp:// only"),
        ("bench micromsg2://a", "is for fmqp:// only"),
        ("send", "give a queue"),
        ("send // b", "no queue"),
        (f"send a b --file {__file__}", "either a payload or --file"),
        ("send fmqp://a b c", "is for micromsg2://, ws:// and mtl:// only"),
        ("send http://a b c", "begins with none of"),
        ("send a b --priority 10", "--priority"),
        ("consume", "give one queue"),
        ("consume a b", "give one queue"),
        ("consume fmqp://a b", "is for micromsg2://, ws:// and mtl:// only"),
        ("consume a --ack perhaps", "--ack"),
        ("queue list a", "no URL"),
        ("call", "give a method"),
        ("call fmqp://a b", "is for ws:// only"),
        ("call a --timeout 0", "--timeout"),
        ("serve a", "--exec"),
        ("serve --exec true", "give one method"),
        ("serve a --exec nowhere/to/be/found", "no such program"),
        ("serve fmqp://a b --exec true", "is for ws:// only"),
        ("queue show", "give one queue"),
        ("queue peek a --count 101", "--count"),
        ("queue remove", "give one queue"),
        ("queue remove a", "give the numbers of messages"),
        ("queue remove a 1 b", "'b' is not the number of a message"),
        (f"queue remove a {' '.join(map(str, range(101)))}", "101 numbers, at most 100"),
        ("queue requeue a --number 1 --count 1", "either --count or --number"),
        ("queue requeue a --number -1", "is not the number of a message"),
        ("job list a 1", "give one queue"),
        ("job show a", "give either numbers of jobs"),
        ("job cancel a 1 --id x", "give either numbers of jobs"),
        ("job retry", "give one queue"),
        ("schedule add", "give a queue and a payload"),
        ("schedule add q x y --every 1", "give a queue and a payload"),
        ("schedule add q --every 1", "give a queue and a payload"),
        ("schedule add q x --job a:b --every 1", "give a queue and a payload"),
        ("schedule add q x", "either --every or --cron"),
        ("schedule add q x --every 1 --cron 1", "either --every or --cron"),
        ("schedule add // x --every 1", "no queue"),
        ("schedule add q x --every 0", "--every"),
        ("schedule add q x --every nan", "--every"),
        ("schedule add q --job a.b --every 1", "neither MODULE:FUNCTION"),
        ("schedule add q --job a:.b --every 1", "neither MODULE:FUNCTION"),
        ("schedule add q --job a:b --args {} --every 1", "no JSON list"),
        ("schedule add q --job a:b --kwargs [ --every 1", "no JSON"),
        ("schedule add q x --every 1 --missed never", "--missed"),
        ("schedule list a b", "no URL"),
        ("schedule show", "give one key"),
        ("schedule edit k", "say what is to be otherwise"),
    ],
)
def test_wrong_usage_is_told(words: str, complaint: str) -> None:
    """With click's exit code for it."""
    name, *arguments = words.split()
    result = CliRunner(env={"FMQBUS_URL": None}).invoke(command(name), arguments)
    assert result.exit_code == ExitCode.USAGE
    assert complaint in " ".join(result.output.replace("│", " ").split())
