"""The ``fmqbus`` command. A module of a command is imported only when that is run, so each starts as fast as it can."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

import click

from fmqbus import __version__

#: Command → the module whose `command` it is, and its line in the list of commands.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "bench": ("fmqbus.cli.bench", "Measure a running bus for a few seconds."),
    "call": ("fmqbus.cli.call", "Call a method, and print its result."),
    "config": ("fmqbus.cli.config_check", "Check a configuration file."),
    "consume": ("fmqbus.cli.consume", "Print the messages of a queue, and accept them."),
    "demo": ("fmqbus.cli.demo", "Show the bus on real data, all in one process."),
    "doctor": ("fmqbus.cli.doctor", "Find out what is wrong with an installation, and what mends it."),
    "enqueue": ("fmqbus.cli.enqueue", "Hand in a job, and wait for its result."),
    "job": ("fmqbus.cli.job", "Look at jobs; retry or cancel them."),
    "keys": ("fmqbus.cli.keys", "Make keys of CURVE for ZeroMQ, and look at them."),
    "plugins": ("fmqbus.cli.plugins", "List the installed parts, and those that cannot be used."),
    "policy": ("fmqbus.cli.policy", "Check a policy file, and tell which rule decides."),
    "pub": ("fmqbus.cli.pub", "Publish messages."),
    "queue": ("fmqbus.cli.queue", "Look at queues, and into them; purge, remove, requeue."),
    "schedule": ("fmqbus.cli.schedule", "Send messages at certain times: add, list, edit and remove."),
    "seal": ("fmqbus.cli.seal", "Make tables of a journal's closed segments, and trim old ones."),
    "send": ("fmqbus.cli.send", "Put messages into a queue."),
    "serve": ("fmqbus.cli.serve", "Have calls of a method answered by a program."),
    "sub": ("fmqbus.cli.sub", "Subscribe, and print what comes."),
    "top": ("fmqbus.cli.top", "Watch what a bus is doing."),
    "user": ("fmqbus.cli.user", "Say who may log in: add, passwd, list and remove users."),
    "watch": ("fmqbus.cli.watch", "Tell who begins and who ceases to listen."),
    "work": ("fmqbus.cli.work", "Run jobs of queues in processes."),
}


class LazyGroup(click.Group):
    """A group of the commands in `COMMANDS`."""

    def list_commands(self, context: click.Context) -> list[str]:
        """The names, sorted."""
        return sorted(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import a command. None if there is no such."""
        if name not in COMMANDS:
            return None
        module, _ = COMMANDS[name]
        command: click.Command = import_module(module).command
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(context)])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="fmqbus")
def main() -> None:
    """Talk to a bus, look at it, check what it is made of.

    The bus itself runs under twistd: twistd -n fmqbus --help
    """
