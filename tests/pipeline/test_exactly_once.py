"""Spark and the bus that it reads and writes are killed at work: in the end each row is there once.

`tox -e kills` does so twenty times.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.kills.campaign import Campaign


@pytest.mark.spark
def test_each_row_comes_once_whatever_is_killed(tmp_path: Path) -> None:
    """The bus under load, and a program that follows its journal, with all its processes."""
    campaign = Campaign(tmp_path, kills=1, seed=1)
    campaign.run()
    assert campaign.faults == []
    assert (campaign.bus_kills, campaign.kills_at_work) == (1, 1)
    assert campaign.rows
    assert campaign.orders
