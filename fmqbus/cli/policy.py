"""``fmqbus policy``: is a policy file good, and which rule decides on something? (docs/access.md)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from fmqbus import names
from fmqbus.app.access import AccessPolicy
from fmqbus.app.config import POLICY, RULES, Access, Config, read_config
from fmqbus.app.explanation import Explanation, Step, explain
from fmqbus.app.plugs import Plugs, find_plugs
from fmqbus.auth.user_file import external, read_users
from fmqbus.auth.users import Users
from fmqbus.cli.exits import CommandFailed
from fmqbus.cli.rows import plain
from fmqbus.cli.text import json_text
from fmqbus.errors import ConfigError, InvalidName
from fmqbus.interfaces import IBusProtocol
from fmqbus.model import Action, PeerFacts, Principal
from fmqbus.transports.facts import internet_facts

_EXIT_CODES = "Exit codes: 0 done, 1 failed, 2 wrong usage."
#: In place of a name, for one who has proved none.
_NOBODY = "-"


@click.group("policy", epilog=_EXIT_CODES)
def command() -> None:
    """Check a policy file, and tell which rule decides."""


@command.command("check", epilog=_EXIT_CODES)
@click.argument("file", type=click.Path(path_type=Path))
def check(file: Path) -> None:
    """Print OK if a bus would take FILE for its policy, else what is wrong and where."""
    try:
        access = AccessPolicy(Access(policy=str(file)), find_plugs())
    except ConfigError as error:
        raise CommandFailed(str(error).removeprefix("access.policy: ")) from None
    for group in access.unknown_groups:
        click.echo(f"{file}: has no group {group!a}, so users are in it by the file of users only", err=True)
    click.echo("OK")


@command.command("explain", epilog=_EXIT_CODES)
@click.argument("identity")
@click.argument("action", type=click.Choice([action.value for action in Action]))
@click.argument("name")
@click.option("--protocol", help="By this protocol. [default: all that are installed]")
@click.option("--group", "groups", multiple=True, help="Being in this group, beside those known. May be repeated.")
@click.option("--address", help="Coming from this address. [default: some other machine's]")
@click.option(
    "--fact",
    "facts",
    multiple=True,
    metavar="FACT",
    help="Vouched for by the carrier: uid:NUMBER, cert:SHA256, key:Z85, san:dns:NAME, san:uri:NAME, san:email:NAME. "
    "Repeatable.",
)
@click.option("--config", "file", type=click.Path(path_type=Path), help="The configuration of the bus. [default: none]")
@click.option("--json", "as_json", is_flag=True, help="Print an object for each answer.")
def explain_(
    identity: str,
    action: str,
    name: str,
    protocol: str | None,
    groups: Sequence[str],
    address: str | None,
    facts: Sequence[str],
    file: Path | None,
    as_json: bool,
) -> None:
    """Tell whether the one who has proved to be IDENTITY may do ACTION at NAME, a topic, queue, method or pattern, and
    which rule says so.

    IDENTITY is - for one who has proved nothing. Groups are those of the policy and of the file of users, if the
    configuration names one. No bus is asked: the files are read as they are now.
    """
    plugs = find_plugs()
    known = plugs.of(IBusProtocol)
    if protocol is not None and protocol not in known:
        raise click.BadParameter(f"no protocol {protocol!a} is installed", param_hint="--protocol")
    try:
        asked = names.from_text(name)
    except InvalidName as error:
        raise click.BadParameter(str(error), param_hint="NAME") from None
    peer = _facts(address, facts)
    try:
        config = Config() if file is None else read_config(file)
        who = None if identity == _NOBODY else identity
        users = Users() if config.users.file is None else Users(read_users(Path(config.users.file)))
        all_groups = frozenset(groups) | (frozenset() if who is None else users.groups_of(who))
        answers = {
            each: _explain(config, file, plugs, Principal(each, peer, who, all_groups), Action(action), asked)
            for each in ([protocol] if protocol else known)
        }
    except ConfigError as error:
        raise CommandFailed(str(error)) from None
    if names.is_service(asked) and action == Action.PUBLISH.value and not as_json:
        click.echo(f"(whoever publishes below $ is asked for his right to {Action.CONTROL.value} there)")
    for protocols, explanation in _alike(answers):
        if as_json:
            click.echo(json_text({"protocols": protocols, **_object(explanation)}))
        else:
            only = "" if len(protocols) == len(answers) else f"{', '.join(protocols)}: "
            click.echo(_lines(only, explanation))


def _explain(
    config: Config, file: Path | None, plugs: Plugs, principal: Principal, action: Action, name: bytes
) -> Explanation:
    files = {POLICY: Path(config.access.policy or ""), RULES: file or Path()}
    return explain(AccessPolicy(config.access, plugs), files, principal, action, name)


def _facts(address: str | None, facts: Sequence[str]) -> PeerFacts:
    found: dict[str, Any] = {}
    for fact in facts:
        try:
            external(fact)
        except ConfigError as error:
            raise click.BadParameter(str(error), param_hint="--fact") from None
        kind, _, value = fact.partition(":")
        match kind:
            case "san":
                found["certificate_names"] = (*found.get("certificate_names", ()), value)
            case "cert":
                found["certificate_fingerprint"] = value.replace(":", "").lower()
            case "key":
                found["curve_key"] = value
            case "uid":
                found["uid"] = int(value)
    if "uid" in found:
        return PeerFacts("unix", is_local=True, **found)
    peer = internet_facts(address or "", None)
    return PeerFacts(peer.carrier, peer.address, peer.is_local, **found)


def _alike(answers: Mapping[str, Explanation]) -> Sequence[tuple[list[str], Explanation]]:
    """Protocols with one answer together."""
    found: dict[Explanation, list[str]] = {}
    for protocol, explanation in answers.items():
        found.setdefault(explanation, []).append(protocol)
    return [(protocols, explanation) for explanation, protocols in found.items()]


def _lines(only: str, explanation: Explanation) -> str:
    """For people."""
    decides = explanation.decides
    word = "allow" if explanation.is_allowed else "deny"
    lines = [f"{only}{word}, {_by(decides)}", *_indented(decides)]
    for step in explanation.steps:
        if step is not decides and step.rule is not None:
            lines += [f"left to the next, {_by(step)}", *_indented(step)]
    if decides is not None and decides.rule is not None:
        otherwise = explanation.otherwise
        allows = otherwise is not None and otherwise.decision.value == "allow"
        lines.append(f"if no rule decided: {'allow' if allows else 'deny'}, {_by(otherwise)}")
    return "\n".join(plain(line) for line in lines)


def _by(step: Step | None) -> str:
    if step is None:
        return "as nobody allows it"
    if step.rule is None:
        return f"by the authorizer {step.authorizer}"
    line = "" if step.line is None else f", line {step.line}"
    return f"by rule {step.rule} of {step.file}{line}"


def _indented(step: Step | None) -> list[str]:
    return [] if step is None else [f"    {line}" for line in step.text.split("\n") if line]


def _object(explanation: Explanation) -> Mapping[str, Any]:
    return {
        "allowed": explanation.is_allowed,
        "steps": [_step(step) for step in explanation.steps],
        "otherwise": None if explanation.otherwise is None else _step(explanation.otherwise),
    }


def _step(step: Step) -> Mapping[str, Any]:
    return {
        "decision": step.decision.value,
        "authorizer": step.authorizer,
        "rule": step.rule,
        "file": step.file,
        "line": step.line,
        "text": step.text,
    }
