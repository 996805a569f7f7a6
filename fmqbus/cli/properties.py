"""How are properties of a message given on the command line? As ``--property NAME=VALUE``, as often as wanted."""

from __future__ import annotations

from collections.abc import Mapping

import click


def _read(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> Mapping[str, str]:
    for each in given:
        if "=" not in each:
            raise click.BadParameter(f"{each!r} is not NAME=VALUE")
    return dict(each.split("=", 1) for each in given)


property_option = click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_read,
    help="A property, by which receivers can filter; may be repeated.",
)
