"""``fmqbus doctor``: what is wrong with this installation, and which command mends it."""

from __future__ import annotations

from pathlib import Path

import click

from fmqbus.cli.exits import ExitCode
from fmqbus.cli.rows import plain
from fmqbus.cli.text import json_text
from fmqbus.doctor.examine import examine
from fmqbus.doctor.findings import Finding, Severity

_COLOURS = {Severity.OK: "green", Severity.WARNING: "yellow", Severity.ERROR: "red"}


@click.command("doctor")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--problems", is_flag=True, help="Be silent about what is well.")
@click.option("--strict", is_flag=True, help="Fail for warnings too.")
@click.option("--json", "as_json", is_flag=True, help="An object for each finding.")
@click.pass_context
def command(context: click.Context, file: Path | None, problems: bool, strict: bool, as_json: bool) -> None:
    """Look at what a bus with the configuration FILE needs: parts, ports, certificates, users, stores, Java.

    Without FILE, at what one needs that has no configuration. Run it as the user of the bus. Nothing is changed, and no
    bus is started; one that runs is left alone. Each finding says what to do about it.

    Exit codes: 0 a bus would work (there may be warnings), 1 it would not, 2 wrong usage.
    """
    from twisted.internet import reactor

    found: set[Severity] = set()
    for name, finding in examine(reactor, file):
        found.add(finding.severity)
        if finding.severity is not Severity.OK or not problems:
            click.echo(_as_json(name, finding) if as_json else _in_words(name, finding))
    if Severity.ERROR in found or (strict and Severity.WARNING in found):
        context.exit(ExitCode.FAILED)


def _in_words(name: str, finding: Finding) -> str:
    word = click.style(f"{finding.severity.value:7}", fg=_COLOURS[finding.severity])
    lines = [f"{word} {name}: {plain(finding.subject)}: {plain(finding.text)}"]
    if finding.cure:
        lines.append(f"        -> {plain(finding.cure)}")
    return "\n".join(lines)


def _as_json(name: str, finding: Finding) -> str:
    return json_text(
        {
            "examination": name,
            "severity": finding.severity.value,
            "subject": finding.subject,
            "text": finding.text,
            "cure": finding.cure,
        }
    )
