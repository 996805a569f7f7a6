"""Kill a bus and a program of Spark that copies its journal very often, print what came of it, and write that into
docs/reliability.md.

Fails if a row is not there exactly once in the end.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests import measured
from tests.pipeline.kills.campaign import Campaign

PAGE = Path(__file__).parents[3] / "docs" / "reliability.md"
_KILLS = 20


def main() -> None:
    """Read the command line."""
    arguments = argparse.ArgumentParser("python -m tests.pipeline.kills", description=__doc__)
    arguments.add_argument("--kills", type=int, default=_KILLS, help=f"of the bus, and of Spark (default: {_KILLS})")
    arguments.add_argument("--seed", type=int, default=1, help="for the moments, and all else that is chosen")
    arguments.add_argument("--minutes", type=float, default=float("inf"), help="begin no round after that")
    arguments.add_argument("--write", action="store_true", help=f"write the page also for fewer than {_KILLS}")
    chosen = arguments.parse_args()
    print(f"seed {chosen.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(Path(folder), chosen.kills, chosen.seed)
        campaign.run(chosen.minutes * 60, told=lambda line: print(line, flush=True))
    account = measured.table(("what happened", "how often"), ("---", "--:"), _rows(campaign))
    print(account)
    if campaign.faults:
        sys.exit("\n".join(["", "promises broken:", *campaign.faults]))
    if chosen.write or campaign.bus_kills >= _KILLS:
        command = f"tox -e kills -- --kills {campaign.bus_kills} --seed {chosen.seed}"
        measured.write(PAGE, "kills", account, command)
        print(f"written to {PAGE}")


def _rows(campaign: Campaign) -> list[measured.Cells]:
    """What happened, and how often."""
    counts = {
        "the bus was killed under load, and started over the same files": campaign.bus_kills,
        "Spark was killed with all its processes while it was at work": campaign.kills_at_work,
        "Spark was killed while it started": campaign.kills_at_start,
        "Spark ended by itself, and was started again": campaign.failures,
        "batches that were cut off by that, and done again": campaign.broken_off,
        "messages sent to the bus": campaign.sent,
        "segments of the journal sealed away meanwhile, into so many tables": campaign.sealed,
        "rows in the table, each offset of the journal once": campaign.rows,
        "messages that Spark put onto the bus, each once": campaign.orders,
        "**promises broken**: rows missing, twice, or other than in the journal": len(campaign.faults),
    }
    return [
        *((what, f"{count:,}") for what, count in counts.items()),
        ("longest start of Spark, until it was at work", f"{campaign.longest_start_seconds:.1f} s"),
        ("seconds", f"{campaign.seconds:.0f}"),
    ]


main()
