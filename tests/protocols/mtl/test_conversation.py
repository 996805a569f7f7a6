"""May a client ask for just what it is time for?"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmqbus.errors import LocalError
from fmqbus.protocols.mtl.commands import Authorize, Open, Profile, Reader, Request, Writer
from fmqbus.protocols.mtl.conversation import REFUSALS, TRANSITIONS, Conversation, Event, State
from fmqbus.protocols.mtl.statuses import Status

REQUESTS = (Open, Authorize, Profile, Reader, Writer)

BRING: dict[State, Callable[[Conversation], object]] = {
    State.UNOPENED: lambda conversation: None,
    State.UNAUTHORIZED: lambda conversation: (conversation.opened(), conversation.login_lost()),
    State.CHALLENGED: lambda conversation: (conversation.opened(), conversation.challenged()),
    State.READY: lambda conversation: (conversation.opened(), conversation.authorized(True)),
    State.PROFILED: lambda conversation: (
        conversation.opened(),
        conversation.authorized(True),
        conversation.chosen("test"),
    ),
}
EVENTS: dict[Event, Callable[[Conversation], object]] = {
    Event.CHALLENGED: Conversation.challenged,
    Event.AUTHORIZED: lambda conversation: conversation.authorized(True),
    Event.LOGIN_LOST: Conversation.login_lost,
    Event.CHOSEN: lambda conversation: conversation.chosen("queue"),
}


def make(state: State, is_login_wanted: bool = True) -> Conversation:
    conversation = Conversation(is_login_wanted)
    BRING[state](conversation)
    assert conversation.state is state
    return conversation


def test_the_tables_are_whole() -> None:
    """Every request in every state; every state can be reached, and left."""
    assert REFUSALS.keys() == TRANSITIONS.keys() == set(State)
    assert all(row.keys() == set(REQUESTS) for row in REFUSALS.values())
    assert {state for row in TRANSITIONS.values() for state in row.values()} == set(State) - {State.UNOPENED}


@pytest.mark.parametrize(("state", "request_", "wanted"), list(product(State, REQUESTS, [False, True])))
def test_each_request_in_each_state(state: State, request_: type[Request], wanted: bool) -> None:
    """First Open, then a login where one is wanted, then a profile, then leases.
    (MTL, Client Authentication; Selecting a Profile; Requesting a Data Lease; readings 5, 6, 15, 16 and 23)"""
    refusal = make(state, wanted).refusal(request_)
    if request_ is Open:
        expected = None
    elif state is State.UNOPENED:
        expected = Status.UNAUTHORIZED if wanted else Status.BAD_REQUEST
    elif request_ is Authorize:
        expected = None
    elif state in (State.UNAUTHORIZED, State.CHALLENGED):
        expected = Status.UNAUTHORIZED
    elif request_ is Profile or state is State.PROFILED:
        expected = None
    else:
        expected = Status.BAD_REQUEST
    assert refusal is expected


@pytest.mark.parametrize(("state", "event"), list(product(State, EVENTS)))
def test_each_event_in_each_state(state: State, event: Event) -> None:
    """Those that cannot be are a mistake of ours, and change nothing."""
    conversation = make(state)
    profile = conversation.profile
    expected = TRANSITIONS[state].get(event)
    if expected is None:
        with pytest.raises(LocalError):
            EVENTS[event](conversation)
        assert (conversation.state, conversation.profile) == (state, profile)
        return
    EVENTS[event](conversation)
    if expected is State.READY and profile:
        expected = State.PROFILED
    assert conversation.state is expected
    assert conversation.profile == ("queue" if event is Event.CHOSEN else profile)


@pytest.mark.parametrize(("state", "wanted"), list(product(State, [False, True])))
def test_open_begins_anew(state: State, wanted: bool) -> None:
    """Whenever it comes: neither the login nor the profile is left. (reading 5)"""
    conversation = make(state, wanted)
    assert conversation.asked(Open) is None
    conversation.opened()
    assert conversation.state is (State.UNAUTHORIZED if wanted else State.READY)
    assert conversation.profile == ""


@pytest.mark.parametrize("request_", REQUESTS)
def test_other_requests_end_a_sasl_exchange(request_: type[Request]) -> None:
    """Only Authorize goes on with it; there is no way around it. (MTL, Client Authentication)"""
    conversation = make(State.CHALLENGED)
    conversation.asked(request_)
    assert conversation.state is (State.CHALLENGED if request_ is Authorize else State.UNAUTHORIZED)


def test_a_renewed_login_of_the_same_user_keeps_the_profile() -> None:
    """Another user chooses his own. (reading 15)"""
    conversation = make(State.PROFILED)
    conversation.login_lost()
    assert conversation.refusal(Reader) is Status.UNAUTHORIZED
    conversation.challenged()
    conversation.authorized(is_same_user=True)
    assert (conversation.state, conversation.profile) == (State.PROFILED, "test")
    conversation.login_lost()
    conversation.authorized(is_same_user=False)
    assert (conversation.state, conversation.profile) == (State.READY, "")


def test_a_second_profile_takes_the_place_of_the_first() -> None:
    """(reading 16)"""
    conversation = make(State.PROFILED)
    conversation.chosen("queue")
    assert (conversation.state, conversation.profile) == (State.PROFILED, "queue")


@given(st.lists(st.sampled_from([*REQUESTS, *EVENTS])))
def test_nobody_gets_a_lease_without_a_login_and_a_profile(steps: list[type[Request] | Event]) -> None:
    """Whatever comes in whatever order. (readings 6 and 23)"""
    conversation = Conversation(is_login_wanted=True)
    is_in = has_profile = False
    for step in steps:
        if isinstance(step, Event):
            if step not in TRANSITIONS[conversation.state]:
                continue
            EVENTS[step](conversation)
            is_in = step is Event.AUTHORIZED or (is_in and step is Event.CHOSEN)
            has_profile = has_profile or step is Event.CHOSEN
        elif conversation.asked(step) is None and step is Open:
            conversation.opened()
            is_in = has_profile = False
        elif step is not Authorize and conversation.state is State.UNAUTHORIZED:
            is_in = False
        assert (conversation.refusal(Reader) is None) == (is_in and has_profile)
