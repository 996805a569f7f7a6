"""``fmqbus plugins``: which parts are installed, where they are from, and which of them cannot be used."""

from __future__ import annotations

import click

from fmqbus.app.plugs import Plugs, find_plugs
from fmqbus.cli.exits import ExitCode
from fmqbus.cli.text import json_text, printable


@click.command("plugins")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--strict", is_flag=True, help="Fail with exit code 1 if a part is left out.")
@click.pass_context
def command(context: click.Context, as_json: bool, strict: bool) -> None:
    """List the installed parts.

    They are found in modules of the twisted.plugins package, and through entry points of the group fmqbus.plugins. A
    part that does not load, or does not provide what its interface demands, is left out; the bus runs without it.
    """
    plugs = find_plugs()
    click.echo(_json(plugs) if as_json else _table(plugs))
    if strict and plugs.rejected:
        context.exit(ExitCode.FAILED)


def _json(plugs: Plugs) -> str:
    return json_text(
        {
            "plugs": [
                {"name": plug.name, "interface": plug.interface.__name__, "origin": plug.origin} for plug in plugs.found
            ],
            "rejected": [
                {"name": reject.name, "origin": reject.origin, "reason": reject.reason} for reject in plugs.rejected
            ],
        }
    )


def _table(plugs: Plugs) -> str:
    found = [(plug.interface.__name__, plug.name, plug.origin) for plug in plugs.found]
    widths = [max((len(row[column]) for row in found), default=0) for column in (0, 1)]
    lines = [
        *(f"{interface:{widths[0]}}  {name:{widths[1]}}  {origin}" for interface, name, origin in found),
        *(f"left out: {reject.name}, from {reject.origin}: {reject.reason}" for reject in plugs.rejected),
    ]
    return "\n".join(printable(line.encode("utf-8", "surrogateescape")) for line in lines)
