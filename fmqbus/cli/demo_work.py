"""What do workers do in the demonstration? This file is what they load."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

#: The queue of jobs, and the one function that there is.
WORK = "work"
MEAN = f"{__name__}:mean"


def mean(values: Sequence[float]) -> float:
    """The mean, to a tenth."""
    return round(fmean(values), 1)
