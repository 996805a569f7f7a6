"""In which form does a command print payloads? Options for it, and what a terminal does not bear."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import click

from fmqbus.cli.text import Form

F = TypeVar("F", bound=Callable[..., object])


def form_options(command: F) -> F:
    """Add the options, of which the parameter ``form`` gets the last, or None."""
    for flag, form, text in (
        ("--raw", Form.RAW, "The payloads' own octets and nothing else."),
        ("--json", Form.JSON, "An object for each message."),
        ("--hex", Form.HEX, "Payloads in hexadecimal."),
    ):
        command = click.option(flag, "form", flag_value=form, type=Form, help=text)(command)
    return command


def checked_form(form: Form | None) -> Form:
    """The form that is meant; raises `click.UsageError` for what must not be sent to a terminal."""
    if form is Form.RAW and sys.stdout.isatty():
        raise click.UsageError("raw octets could do anything to this terminal; use --hex, or a pipe")
    return form or Form.TEXT
