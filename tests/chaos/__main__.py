"""Kill workers and the broker while very many jobs are done, print the account, and write it into docs/reliability.md.

Fails if a promise was broken.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests import measured
from tests.chaos.campaign import Campaign

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
_JOBS, _SMOKE_JOBS = 10_000, 400


def main() -> None:
    """Read the command line."""
    arguments = argparse.ArgumentParser("python -m tests.chaos", description=__doc__)
    arguments.add_argument("--jobs", type=int, default=_JOBS, help=f"to be done (default: {_JOBS})")
    arguments.add_argument("--smoke", action="store_true", help=f"only {_SMOKE_JOBS}; writes no page")
    arguments.add_argument("--seed", type=int, default=1, help="for the moments, and all else that is chosen")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(Path(folder), _SMOKE_JOBS if chosen.smoke else chosen.jobs, chosen.seed)
        campaign.run()
    account = measured.table(("what happened", "how often"), ("---", "--:"), _rows(campaign))
    print(account)
    if campaign.ledger.faults:
        sys.exit("\n".join(["", "promises broken:", *campaign.ledger.faults]))
    if campaign.jobs == _JOBS:
        measured.write(PAGE, "chaos", account, "tox -e chaos")
        print(f"written to {PAGE}")


def _rows(campaign: Campaign) -> list[measured.Cells]:
    """What happened, and how often."""
    ledger = campaign.ledger
    results = sum(not error for error in ledger.ended.values())
    counts = {
        "the broker was killed, and started over the same file": campaign.broker_kills,
        "a worker was killed, half of them with all their processes, and another started": campaign.worker_kills,
        "jobs handed in": len(ledger.handed_in),
        "acknowledged": len(ledger.acknowledged),
        "handed in again, because the broker died before it acknowledged them": ledger.again,
        "ended with their results": results,
        **{f"ended with a failure: {error}": count for error, count in sorted(ledger.failures.items())},
        "asked for again, because a broker died with the result on its way": ledger.unheard,
        "ends that were told twice": ledger.repeats,
        "done once": sum(count == 1 for count in ledger.effects.values()),
        "done several times": sum(count > 1 for count in ledger.effects.values()),
        "**promises broken**: acknowledged or ended and not done, or neither a result nor a failure": len(
            ledger.faults
        ),
    }
    return [*((what, f"{count:,}") for what, count in counts.items()), ("seconds", f"{campaign.seconds:.0f}")]


main()
