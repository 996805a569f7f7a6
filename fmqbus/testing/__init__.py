"""The kit that parts for the bus are tested with, those of fmqbus as those of vendors. Needs pytest.

`bus` makes a router that a test drives by hand, and clients of it; `links` are what a stream protocol stands on, in
memory; `contracts` has one suite for each interface. See docs/extend/testing.md.
"""

import pytest

# Asserts in the suites then say what differs, as those in test files do.
pytest.register_assert_rewrite("fmqbus.testing.contracts")
