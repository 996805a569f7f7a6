"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# A busy machine must not fail a test: what is slow is measured in tests/bench, not by Hypothesis.
settings.register_profile("fmqbus", deadline=None)
settings.load_profile("fmqbus")
