"""Every action in every protocol: allowed, denied, and revoked while live (threats, rows 13 to 17)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fmqbus.app.plugs import find_plugs
from fmqbus.interfaces import IBusProtocol
from fmqbus.model import Action
from tests.rights.actors import ACTORS, Actor
from tests.rights.conftest import RuledBus
from tests.rights.effects import EFFECTS, Effect, Witness

Join = Callable[[str], Actor]

CELLS = [
    pytest.param(protocol, action, id=f"{protocol}-{action.value}")
    for protocol, (_, actor) in ACTORS.items()
    for action in Action
    if action in actor.actions
]
cells = pytest.mark.parametrize(("protocol", "action"), CELLS)


def test_the_matrix_has_a_column_for_each_protocol_and_a_row_for_each_action() -> None:
    """Each action is tried in some protocol, and each protocol that is installed is there."""
    assert ACTORS.keys() == find_plugs().of(IBusProtocol).keys()
    assert EFFECTS.keys() == set(Action) == {action for _, actor in ACTORS.values() for action in actor.actions}


def name_for(protocol: str, action: Action, word: str) -> bytes:
    """A name of this test's own; or the only one at which the action can be done."""
    below = ACTORS[protocol][1].managed if action is Action.MANAGE else EFFECTS[action].below
    return below if below.startswith(b"$") else below + f"{word}/{protocol}/{action.value}".encode()


def effect(join: Join, witness: Witness, protocol: str, action: Action, name: bytes) -> Effect:
    """Of one who has just come."""
    return EFFECTS[action](join(protocol), witness, name)


@cells
def test_what_is_allowed_is_done(join: Join, witness: Witness, protocol: str, action: Action) -> None:
    """Or else the tests below would show nothing."""
    one = effect(join, witness, protocol, action, name_for(protocol, action, "allowed"))
    one.begin()
    assert one.shows()


@cells
def test_what_is_denied_is_not_done(
    ruled: RuledBus, join: Join, witness: Witness, protocol: str, action: Action
) -> None:
    """From the beginning."""
    name = name_for(protocol, action, "denied")
    ruled.deny(action, name)
    try:
        one = effect(join, witness, protocol, action, name)
        one.begin()
        assert not one.shows()
    finally:
        ruled.allow_all()


@cells
def test_what_is_revoked_ends_at_once(
    ruled: RuledBus, join: Join, witness: Witness, protocol: str, action: Action
) -> None:
    """On the connection that had it, without a word of the client's. (Of a will and a schedule the effect is their end,
    so they are only begun.)"""
    name = name_for(protocol, action, "revoked")
    one = effect(join, witness, protocol, action, name)
    one.begin()
    if action not in (Action.WILL, Action.SCHEDULE):
        assert one.shows()
    ruled.deny(action, name)
    try:
        assert not one.shows()
    finally:
        ruled.allow_all()


@pytest.mark.parametrize("protocol", [name for name, (_, actor) in ACTORS.items() if Action.SUBSCRIBE in actor.actions])
def test_a_wildcard_does_not_reach_what_is_denied_below_it(
    ruled: RuledBus, join: Join, witness: Witness, protocol: str
) -> None:
    """Neither what is kept there, nor what comes later (threats, rows 13 and 14)."""
    below = f"wildcard/{protocol}".encode()
    ruled.deny(Action.SUBSCRIBE, below + b"/secret")
    try:
        for name in (b"/secret", b"/open"):
            witness.umq.publish(below + name, b"kept" + name, retain=True)
        actor = join(protocol)
        actor.subscribe(below + b"/*")
        for name in (b"/secret", b"/open"):
            witness.umq.publish(below + name, b"new" + name)
        assert list(actor.received()) == [b"kept/open", b"new/open"]
    finally:
        ruled.allow_all()
