"""What holds for all tests."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from hypothesis import settings

# A busy machine must not fail a test: what is slow is measured in tests/bench, not by Hypothesis.
settings.register_profile("fmqbus", deadline=None)
settings.load_profile("fmqbus")

# Started in the background by a shell, we would ignore SIGINT and so would our children, which tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Where the jobs are that workers import, which run in processes of their own and do not find the package `tests`.
_APPLICATION = str(Path(__file__).parent / "worker" / "application")
sys.path.append(_APPLICATION)
os.environ["PYTHONPATH"] = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), _APPLICATION])
