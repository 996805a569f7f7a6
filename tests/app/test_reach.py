"""The warning about a bus that others reach in vain."""

from __future__ import annotations

import pytest
from twisted.internet.testing import MemoryReactorClock
from twisted.logger import capturedLogs, formatEvent

from fmqbus.app.assembly import Bus
from fmqbus.app.config import parse_config
from fmqbus.app.plugs import find_plugs
from fmqbus.app.reach import warn_if_nobody_is_let_in

OPEN = 'listen = ["fmqp:tcp:7700:interface=0.0.0.0"]\n'
# A memory reactor tells every IPv4 port as 0.0.0.0, so loopback is IPv6 here.
LOOPBACK = 'listen = ["fmqp:tcp6:7700", "fmqp:unix:/run/fmqp"]\n'
RULE = '[[access.rules]]\neffect = "{effect}"\nactions = "*"\nwho = ["{who}"]\nnames = ["**"]\n'


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        (OPEN, True),
        (OPEN + RULE.format(effect="allow", who="local"), True),
        (OPEN + RULE.format(effect="deny", who="remote"), True),
        (OPEN + RULE.format(effect="allow", who="remote"), False),
        (OPEN + RULE.format(effect="allow", who="address:10.0.0.0/8"), False),
        (LOOPBACK, False),
    ],
)
def test_a_bus_is_warned_of_if_others_reach_it_and_no_rule_is_for_them(text: str, warned: bool) -> None:
    """One line for each listener in vain."""
    bus = Bus(MemoryReactorClock(), parse_config(text, "bus.toml"), find_plugs())
    bus.startService()
    with capturedLogs() as events:
        warn_if_nobody_is_let_in(bus)
    assert ["can be reached from other machines" in (formatEvent(event) or "") for event in events] == [True] * warned
