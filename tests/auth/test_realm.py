"""The bus as a realm, behind a portal with checkers of the application's own."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.cred.checkers import AllowAnonymousAccess, ICredentialsChecker, InMemoryUsernamePasswordDatabaseDontUse
from twisted.cred.credentials import Anonymous, IUsernamePassword, UsernamePassword
from twisted.cred.portal import IRealm, Portal
from twisted.internet.defer import Deferred, succeed
from zope.interface import Interface, implementer
from zope.interface.verify import verifyObject

from fmqbus.auth.realm import IPrincipal, RouterRealm
from fmqbus.client.local import LocalClient
from fmqbus.errors import LocalError, Refused
from fmqbus.interfaces import IPeer, ISession
from fmqbus.model import Action, Message, PeerFacts, Principal
from fmqbus.testing.bus import MemoryClient, MemoryPeer, OpenPolicy, make_router

ANNA = UsernamePassword(b"anna", b"sesame")


def portal_of(realm: RouterRealm) -> Portal:
    """With anna, and everybody who says nothing."""
    return Portal(realm, [InMemoryUsernamePasswordDatabaseDontUse(anna=b"sesame"), AllowAnonymousAccess()])


def outcome(waiting: Deferred[Any]) -> Any:
    """What it has fired with; an exception is raised."""
    outcomes: list[Any] = []
    failures: list[Any] = []
    waiting.addCallbacks(outcomes.append, failures.append)
    if failures:
        failures[0].raiseException()
    (only,) = outcomes
    return only


def test_it_is_a_realm() -> None:
    """And a principal is what it says that it is."""
    assert verifyObject(IRealm, RouterRealm(make_router()))
    assert verifyObject(IPrincipal, Principal("local", PeerFacts("memory")))


def test_a_user_of_the_portal_acts_on_the_bus_by_his_name() -> None:
    """In the groups that the application knows, and as one who is not on this machine."""
    realm = RouterRealm(make_router(), groups_of=lambda name: frozenset({f"friends of {name}"}))
    interface, principal, log_out = outcome(portal_of(realm).login(ANNA, None, IPrincipal))
    assert interface is IPrincipal
    assert principal == Principal("local", PeerFacts("embedded"), "anna", frozenset({"friends of anna"}))
    assert not principal.facts.is_local
    log_out()


def test_one_who_says_nothing_is_nobody_in_particular() -> None:
    """Twisted's anonymous avatar."""
    _, principal, _ = outcome(portal_of(RouterRealm(make_router())).login(Anonymous(), None, IPrincipal))
    assert principal.identity is None


def test_a_mind_that_is_a_peer_gets_a_session() -> None:
    """Its rights are its own, and to log out is to go, as others see."""
    policy = OpenPolicy()
    policy.deny(Action.PUBLISH, b"denied")
    router = make_router(authorizers=[policy])
    mind, reader = MemoryPeer(), MemoryClient(router)
    reader.subscribe(b"*")
    realm = RouterRealm(router, "acme", facts_of=lambda mind: PeerFacts("tcp", "192.0.2.1"))
    interface, session, log_out = outcome(portal_of(realm).login(ANNA, mind, ISession))
    assert interface is ISession
    assert session.principal == Principal("acme", PeerFacts("tcp", "192.0.2.1"), "anna")
    session.publish(Message(b"a", b"1"))
    session.subscribe(b"a")
    session.set_will(Message(b"a", b"bye", will=True))
    session.flush()
    with pytest.raises(Refused):
        session.publish(Message(b"denied", b"2"))
    reader.publish(b"a", b"3")
    log_out()
    assert mind.payloads == [b"3"]
    assert reader.payloads == [b"1", b"3", b"bye"]
    assert router.connected("acme") == 0


def test_a_local_client_acts_as_whom_it_is_given() -> None:
    """Instead of as the application."""
    router = make_router()
    principal = Principal("local", PeerFacts("embedded"), "anna")
    LocalClient(router, principal=principal)
    LocalClient(router, "bo")
    assert [session.principal.identity for session in router.sessions()] == ["anna", "bo"]
    assert [session.principal.facts.is_local for session in router.sessions()] == [False, True]


@implementer(ICredentialsChecker)
class Says:
    """Vouches for whatever a test says."""

    credentialInterfaces = (IUsernamePassword,)

    def __init__(self, avatar: object) -> None:
        self._avatar = avatar

    def requestAvatarId(self, credentials: object) -> Deferred[object]:
        return succeed(self._avatar)


@pytest.mark.parametrize("avatar", [b"", b"\xff", " x", 7, None, "a\0"])
def test_what_is_no_name_is_nobody(avatar: object) -> None:
    """Rather than somebody whom a rule could mean by accident."""
    with pytest.raises(LocalError):
        outcome(Portal(RouterRealm(make_router()), [Says(avatar)]).login(ANNA, None, IPrincipal))


def test_nothing_else_can_be_had() -> None:
    """Neither another interface, nor a session that nobody would hear."""
    portal = portal_of(RouterRealm(make_router()))
    with pytest.raises(NotImplementedError):
        outcome(portal.login(ANNA, None, Interface))
    with pytest.raises(LocalError, match="is no IPeer"):
        outcome(portal.login(ANNA, None, ISession))
    assert IPeer.providedBy(MemoryPeer())
