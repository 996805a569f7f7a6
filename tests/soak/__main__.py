"""Keep a bus busy in all protocols while clients come, go, stall and are killed and brokers restart, print what came of
it, and write that into docs/reliability.md.

Fails if a promise was broken.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from tests import measured
from tests.soak.campaign import Campaign
from tests.soak.report import judge, rows

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
_MINUTES, _SMOKE_MINUTES = 30.0, 1.0


def main() -> None:
    """Read the command line."""
    arguments = argparse.ArgumentParser("python -m tests.soak", description=__doc__)
    arguments.add_argument("--minutes", type=float, default=_MINUTES, help=f"default: {_MINUTES:g}")
    arguments.add_argument("--smoke", action="store_true", help=f"only {_SMOKE_MINUTES:g}; writes no page")
    arguments.add_argument("--seed", type=int, default=1, help="for what happens, and all else that is chosen")
    arguments.add_argument("--write", action="store_true", help="write the page although it was another time")
    arguments.add_argument("--keep", type=Path, help="a folder for accounts and logs, which stays")
    chosen = arguments.parse_args()
    # whoever ends us ends all that we have started
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))
    minutes = _SMOKE_MINUTES if chosen.smoke else chosen.minutes
    with tempfile.TemporaryDirectory() as folder:
        if chosen.keep:
            chosen.keep.mkdir(parents=True)
        campaign = Campaign(chosen.keep or Path(folder), minutes * 60, chosen.seed)
        campaign.run()
    account = measured.table(("what happened", "how often"), ("---", "--:"), rows(campaign))
    print(account)
    if faults := [*campaign.ledger.faults, *judge(campaign, chosen.smoke)]:
        sys.exit("\n".join(["", "promises broken:", *faults]))
    if minutes == _MINUTES or chosen.write:
        said = "" if minutes == _MINUTES else f" -- --minutes {minutes:g} --write"
        measured.write(PAGE, "soak", account, f"tox -e soak{said}")
        print(f"written to {PAGE}")


main()
