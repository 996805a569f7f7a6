"""Kill a broker with durable queues very often, print what came of it, and write that into docs/reliability.md.

Fails if a promise was broken.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests import measured
from tests.crash.campaign import Campaign

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
_CRASHES = 100


def main() -> None:
    arguments = argparse.ArgumentParser("python -m tests.crash", description=__doc__)
    arguments.add_argument("--crashes", type=int, default=_CRASHES, help=f"under load (default: {_CRASHES})")
    arguments.add_argument("--seed", type=int, default=1, help="for the moments, and all else that is chosen")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(Path(folder), chosen.seed)
        campaign.run(chosen.crashes)
    account = measured.table(("what happened", "how often"), ("---", "--:"), _rows(campaign))
    print(account)
    if campaign.ledger.faults:
        sys.exit("\n".join(["", "promises broken:", *campaign.ledger.faults]))
    if chosen.crashes == _CRASHES:
        measured.write(PAGE, "crashes", account, "tox -e crash")
        print(f"written to {PAGE}")


def _rows(campaign: Campaign) -> list[measured.Cells]:
    """What happened, and how often."""
    ledger = campaign.ledger
    counts = {
        "killed while a producer and a consumer were at work": campaign.crashes,
        "killed while it started": campaign.crashes_at_start,
        "messages sent, to three queues": ledger.sent,
        "acknowledged to the producer": len(ledger.acknowledged),
        "sent, but the broker died before it said so": ledger.sent - len(ledger.acknowledged),
        "came all the same, of these": len(ledger.taken - ledger.acknowledged),
        "came again, each time with the mark": ledger.repeats,
        "of these, accepted in the last moments before a crash": ledger.repeats_of_accepted,
        "marked although the consumer had not seen them before": ledger.marked_unseen,
        "accepted, and known to be on the disk as such": len(ledger.settled),
        "**promises broken**: lost, out of order, again without the mark, or again after that": len(ledger.faults),
    }
    start = f"{campaign.longest_start_seconds:.1f} s"
    return [
        *((what, f"{count:,}") for what, count in counts.items()),
        ("longest start, until it listened again", start),
    ]


main()
