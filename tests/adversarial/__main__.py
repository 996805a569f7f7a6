"""Attack real brokers, print what came of it, and write the figures into docs/reliability.md.

Fails if anything did not hold, but for attacks that are marked as not borne yet.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from importlib import import_module
from pathlib import Path

import attrs

from tests import measured
from tests.adversarial.attack import Attack, Outcome
from tests.adversarial.report import table, told

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"

#: The files of attacks, in the order of the table.
KINDS = (
    "calm",
    "malformed",
    "micromsg2_handshakes",
    "micromsg2_frames",
    "micromsg2_filters",
    "umq_messages",
    "umq_calls",
    "emqp_messages",
    "emqp_peers",
    "logins",
    "zeromq_handshakes",
    "mtl_messages",
    "mtl_flows",
    "half_sent",
    "subscriptions",
    "wildcards",
    "slow_readers",
    "connections",
    "retained",
    "long_queues",
    "micromsg2_queues",
    "interest",
    "service_topics",
    "http_pages",
    "endings",
)

#: A machine that checks much else must not fail a change for its own slowness; a stall that is a mistake is longer.
SMOKE_STALL_MS = 500.0


def main() -> None:
    arguments = argparse.ArgumentParser("python -m tests.adversarial", description=__doc__)
    arguments.add_argument("--smoke", action="store_true", help="smaller numbers, the same assertions; writes no page")
    arguments.add_argument("attacks", nargs="*", metavar="ATTACK", help="only these; writes no page")
    arguments.add_argument("--list", action="store_true", help="name all attacks and end")
    chosen = arguments.parse_args()
    attacks = {one.name: one for kind in KINDS for one in _attacks_in(kind)}
    if chosen.list:
        print("\n".join(attacks))
        return
    if unknown := set(chosen.attacks) - set(attacks):
        arguments.error(f"no such attack: {', '.join(unknown)}; there are: {', '.join(attacks)}")

    _allow_many_connections()
    outcomes = [_run(attacks[name], chosen.smoke) for name in chosen.attacks or attacks]
    if not chosen.smoke and not chosen.attacks:
        measured.write(PAGE, "attacks", table(outcomes), "tox -e adversarial")
        print(f"written to {PAGE}")
    if failed := [outcome.title for outcome in outcomes if outcome.faults and not outcome.attack.open_defect]:
        sys.exit("\n".join(["", "not as it should be:", *failed]))


def _attacks_in(kind: str) -> list[Attack]:
    return [part for part in vars(import_module(f"tests.adversarial.{kind}")).values() if isinstance(part, Attack)]


def _run(attack: Attack, smoke: bool) -> Outcome:
    begun = time.monotonic()
    outcome = attack.run(attrs.evolve(attack.smoke, stall_ms=SMOKE_STALL_MS) if smoke else attack.full)
    print(f"{attack.name} ({time.monotonic() - begun:.1f} s): {told(outcome)}", flush=True)
    return outcome


def _allow_many_connections() -> None:
    """For us and the brokers that we start: the usual 1,024 files are not what is attacked."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


main()
