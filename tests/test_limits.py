"""Are the bounds what the documentation and the configuration file take them for?"""

from __future__ import annotations

import attrs
import pytest

from fmqbus.limits import DEFAULT_LIMITS, Limits


@pytest.mark.parametrize("limit", attrs.fields(Limits), ids=lambda limit: limit.name)
def test_every_limit_has_a_default_a_unit_and_a_reason(limit: attrs.Attribute[float]) -> None:
    """The documentation is made from them; a limit of zero is off, and says so."""
    assert limit.metadata["unit"]
    assert limit.metadata["reason"]
    assert limit.default > 0 or "off" in limit.metadata["reason"]


def test_limits_do_not_change_under_those_who_rely_on_them() -> None:
    """A reload makes new ones."""
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        DEFAULT_LIMITS.connections = 1  # type: ignore[misc]
    assert attrs.evolve(DEFAULT_LIMITS, connections=1).connections == 1


def test_limits_are_set_by_name_only() -> None:
    """An order of so many numbers nobody remembers."""
    with pytest.raises(TypeError):
        Limits(1)  # type: ignore[misc]
