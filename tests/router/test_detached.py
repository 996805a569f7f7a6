"""What becomes of a session whose link has gone while its client may return?"""

from __future__ import annotations

import pytest
from twisted.internet.task import Clock

from fmqbus.errors import Detached, Overloaded, Refused
from fmqbus.limits import Limits
from fmqbus.model import Message, Overflow, PeerFacts, Principal
from fmqbus.router.service import Router
from fmqbus.testing.bus import LOCAL, MemoryClient, MemoryPeer, make_router
from tests.router.slow_readers import room_for

ANNA = Principal("memory", PeerFacts("tcp", "192.0.2.1"), identity="anna")


def resume(router: Router, token: str, principal: Principal = LOCAL) -> MemoryPeer:
    """A new link takes the session over and reads."""
    peer = MemoryPeer()
    router.resume(token, peer, principal).resume_delivery()
    return peer


def test_a_client_that_returns_finds_what_came_meanwhile_and_its_subscriptions() -> None:
    """In order, and as if it had been slow."""
    router = make_router()
    client, writer = MemoryClient(router), MemoryClient(router)
    client.subscribe(b"a")
    writer.publish(b"a", b"1")
    token = client.session.detach(60.0)
    writer.publish(b"a", b"2")
    writer.publish(b"a", b"3")
    returned = resume(router, token)
    writer.publish(b"a", b"4")
    assert client.payloads == [b"1"]
    assert returned.payloads == [b"2", b"3", b"4"]


def test_what_comes_between_the_new_link_and_its_first_reading_is_kept_in_line() -> None:
    """The peer says when it is ready."""
    router = make_router()
    client, writer = MemoryClient(router), MemoryClient(router)
    client.subscribe(b"a")
    token = client.session.detach(60.0)
    writer.publish(b"a", b"1")
    peer = MemoryPeer()
    session = router.resume(token, peer, LOCAL)
    writer.publish(b"a", b"2")
    assert peer.received == []
    session.resume_delivery()
    assert peer.payloads == [b"1", b"2"]


def test_a_detached_client_still_counts_as_subscriber_and_as_client() -> None:
    """Publishers go on for it until its time is over."""
    clock = Clock()
    router = make_router(clock)
    client, watcher = MemoryClient(router), MemoryClient(router)
    client.subscribe(b"a")
    client.session.detach(60.0)
    watcher.watch(b"a")
    assert router.connected("memory") == 2
    clock.advance(60.0)
    assert watcher.interest == [(b"a", 1), (b"a", 0)]
    assert router.connected("memory") == 1
    assert router.subscriptions == 0


def test_a_client_that_returns_in_time_is_not_ended_when_the_time_would_be_over() -> None:
    """Nor is anything left of the clock's work."""
    clock = Clock()
    router = make_router(clock)
    client, writer = MemoryClient(router), MemoryClient(router)
    client.subscribe(b"a")
    token = client.session.detach(60.0)
    clock.advance(59.0)
    returned = resume(router, token)
    assert clock.getDelayedCalls() == []
    clock.advance(3600.0)
    writer.publish(b"a", b"x")
    assert returned.payloads == [b"x"]


def test_what_waits_for_an_absent_client_is_bounded_as_for_a_slow_one() -> None:
    """By the same limit and the same policies."""
    router = make_router(limits=room_for(2))
    client, writer = MemoryClient(router), MemoryClient(router)
    client.subscribe(b"a")
    token = client.session.detach(60.0)
    for number in range(10):
        writer.publish(b"a", b"%09d" % number)
    assert [int(payload) for payload in resume(router, token).payloads] == [8, 9]


@pytest.mark.parametrize(
    "stranger",
    [
        pytest.param(Principal("memory", ANNA.facts, "otto"), id="another identity"),
        pytest.param(Principal("memory", ANNA.facts), id="no identity"),
        pytest.param(Principal("memory", PeerFacts("tcp", "198.51.100.1"), "anna"), id="from elsewhere"),
        pytest.param(Principal("other", ANNA.facts, "anna"), id="by another protocol"),
    ],
)
def test_a_token_is_of_use_to_its_owner_only(stranger: Principal) -> None:
    """Rights hang on all that is known of a client. Who is refused does not take the session from its owner."""
    router = make_router()
    token = MemoryClient(router, ANNA).session.detach(60.0)
    with pytest.raises(Refused):
        router.resume(token, MemoryPeer(), stranger)
    assert router.resume(token, MemoryPeer(), ANNA) in router.sessions()


def test_a_token_works_once_and_an_invented_one_never() -> None:
    """Two links cannot share a session."""
    router = make_router()
    token = MemoryClient(router).session.detach(60.0)
    resume(router, token)
    for wrong in (token, "", "x" * 1000):
        with pytest.raises(Refused):
            router.resume(wrong, MemoryPeer(), LOCAL)


def test_a_session_may_be_detached_again_after_it_was_resumed() -> None:
    """Each time with a token of its own."""
    router = make_router()
    client = MemoryClient(router)
    tokens = [client.session.detach(60.0)]
    for _ in range(3):
        session = router.resume(tokens[-1], MemoryPeer(), LOCAL)
        tokens.append(session.detach(60.0))
    assert len(set(tokens)) == 4
    assert router.sessions() == (client.session,)


def test_a_session_without_a_link_cannot_be_detached() -> None:
    """There would be two tokens, and two times at which it ends."""
    clock = Clock()
    router = make_router(clock)
    client = MemoryClient(router)
    client.session.detach(60.0)
    with pytest.raises(Detached):
        client.session.detach(10.0)
    clock.advance(59.0)
    assert len(router.sessions()) == 1


def test_a_client_that_the_bus_has_ended_cannot_be_kept() -> None:
    """Its deliveries are given up already."""
    router = make_router(limits=room_for(0))
    client, writer = MemoryClient(router), MemoryClient(router)
    client.subscribe(b"a", overflow=Overflow.DISCONNECT)
    client.pause()
    writer.publish(b"a", b"too much")
    assert client.calls == ["abort outbox-full"]
    with pytest.raises(Detached):
        client.session.detach(60.0)


def test_too_many_detached_sessions_are_refused_and_go_on_as_they_were() -> None:
    """The limit counts those that are detached now, not those that were."""
    clock = Clock()
    router = make_router(clock, limits=Limits(detached_sessions=1))
    first, second, writer = (MemoryClient(router) for _ in range(3))
    second.subscribe(b"a")
    for _ in range(2):
        token = first.session.detach(60.0)
        with pytest.raises(Overloaded):
            second.session.detach(60.0)
        writer.publish(b"a", b"x")
        resume(router, token)
    assert second.payloads == [b"x", b"x"]
    first.session.detach(60.0)
    clock.advance(60.0)
    second.session.detach(60.0)


@pytest.mark.parametrize("ending", ["close", "overflow", "drain"])
def test_a_session_that_ends_while_detached_leaves_nothing_behind(ending: str) -> None:
    """No token that brings back the dead, no timer, no place taken from others."""
    clock = Clock()
    router = make_router(clock, limits=Limits(detached_sessions=1, outbox_octets=0))
    client, writer = MemoryClient(router), MemoryClient(router)
    client.subscribe(b"a", overflow=Overflow.DISCONNECT)
    token = client.session.detach(60.0)
    if ending == "close":
        client.close()
    elif ending == "overflow":
        writer.publish(b"a", b"too much for it")
    else:
        router.drain()
        writer.close()
    assert client.session not in router.sessions()
    clock.advance(0)  # the end of the turn
    assert clock.getDelayedCalls() == []
    with pytest.raises(Refused):
        router.resume(token, MemoryPeer(), LOCAL)
    if ending != "drain":
        writer.session.detach(60.0)


def test_a_publisher_held_for_a_slow_reader_is_held_on_its_new_link_too() -> None:
    """Or it would write on and on into an outbox that is full."""
    router = make_router(limits=room_for(1))
    slow, writer = MemoryClient(router), MemoryClient(router)
    slow.subscribe(b"a", overflow=Overflow.PAUSE)
    slow.pause()
    writer.publish(b"a", b"%09d" % 1)
    writer.publish(b"a", b"%09d" % 2)
    token = writer.session.detach(60.0)
    returned = resume(router, token)
    assert returned.calls == ["pause_reading"]
    slow.resume()
    assert returned.calls == ["pause_reading", "resume_reading"]


def test_a_late_word_of_the_old_link_loses_nothing() -> None:
    """It says that it has room, but nobody is there to hand over to."""
    router = make_router()
    client, writer = MemoryClient(router), MemoryClient(router)
    client.subscribe(b"a")
    token = client.session.detach(60.0)
    writer.publish(b"a", b"1")
    client.session.resume_delivery()
    writer.publish(b"a", b"2")
    assert client.received == []
    assert resume(router, token).payloads == [b"1", b"2"]


def test_what_was_ready_in_the_turn_in_which_the_link_went_is_kept() -> None:
    """Nothing had been handed over yet."""
    router = make_router()
    client, writer = MemoryClient(router), MemoryClient(router)
    client.subscribe(b"a")
    writer.session.publish(Message(b"a", b"1"))
    token = client.session.detach(60.0)
    writer.session.publish(Message(b"a", b"2"))
    writer.session.flush()
    assert resume(router, token).payloads == [b"1", b"2"]


def test_tokens_cannot_be_guessed() -> None:
    """They are long, and no two are alike."""
    router = make_router()
    tokens = {MemoryClient(router).session.detach(60.0) for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 32
