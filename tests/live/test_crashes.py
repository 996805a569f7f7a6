"""A broker that is killed while MicroMsg2 clients produce and consume; ``tox -e crash`` does the same at length.

(MicroMsg2, Reliable; threats, row 35)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.campaign import Campaign
from tests.crash.ledger import Ledger, Mail

ONE, TWO = Mail(b"q", 0), Mail(b"q", 1)


def test_killed_at_random_moments_the_broker_keeps_what_it_has_acknowledged(tmp_path: Path) -> None:
    """Nothing is lost, queues keep their order, and what comes again was not settled and says so."""
    campaign = Campaign(tmp_path, seed=3)
    campaign.run(crashes=8)
    assert campaign.ledger.faults == []
    assert campaign.ledger.repeats > 0
    assert len(campaign.ledger.settled) > 100


def taken(*mails: Mail, is_marked: bool = False) -> Callable[[Ledger], None]:
    """A step: these come, one after the other."""

    def step(ledger: Ledger) -> None:
        for mail in mails:
            ledger.take(mail, is_marked)

    return step


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        ([lambda ledger: ledger.acknowledge([ONE])], "q 0 was acknowledged and is lost"),
        ([taken(TWO, ONE)], "q 0 came behind 1"),
        ([taken(TWO), Ledger.begin_life, taken(ONE)], "q 0 came for the first time, but behind 1"),
        ([taken(ONE), Ledger.begin_life, taken(ONE)], "q 0 came again and did not say so"),
        (
            [taken(ONE), lambda ledger: ledger.settle([ONE]), Ledger.begin_life, taken(ONE, is_marked=True)],
            "q 0 came again although it was settled",
        ),
        ([taken(Mail(b"q", 2))], "q 2 was never sent"),
    ],
)
def test_the_account_of_a_campaign_tells_each_broken_promise(steps: list[Callable[[Ledger], None]], fault: str) -> None:
    """Of two messages that were sent."""
    ledger = Ledger()
    for _ in range(2):
        ledger.send(b"q")
    for step in steps:
        step(ledger)
    ledger.close()
    assert fault in ledger.faults


def test_the_account_of_a_campaign_bears_what_may_be() -> None:
    """What was accepted in the last moments comes again, and says so."""
    ledger = Ledger()
    mails = [ledger.send(b"q") for _ in range(2)]
    taken(*mails)(ledger)
    ledger.accept(mails)
    ledger.begin_life()
    taken(*mails, is_marked=True)(ledger)
    ledger.close()
    assert ledger.faults == []
    assert (ledger.repeats, ledger.repeats_of_accepted) == (2, 2)
