"""The bus as a realm of `twisted.cred`, for applications that log their users in by a `Portal` of their own.

A portal finds out who somebody is, by the checkers that the application gives it; the realm says who that is on the
bus. An avatar is either `IPrincipal`, for whatever attaches to the router itself, such as
`fmqbus.client.local.LocalClient`, or `ISession`, for a mind that provides `IPeer`. What it may do is decided by the
authorizers of the bus, as for everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from twisted.cred.checkers import ANONYMOUS
from twisted.cred.portal import IRealm
from zope.interface import Attribute, Interface, classImplements, implementer

from fmqbus.auth.passwords import check_name
from fmqbus.errors import LocalError
from fmqbus.interfaces import IPeer, IRouter, ISession
from fmqbus.model import PeerFacts, Principal

#: Not on this machine, as far as is known: being local is a right where the defaults hold.
_SOMEWHERE = PeerFacts("embedded")


class IPrincipal(Interface):
    """Who acts on the bus: `fmqbus.model.Principal`, as an avatar."""

    protocol: str = Attribute("By which protocol.")
    facts: PeerFacts = Attribute("What is known of where it is.")
    identity: str | None = Attribute("The name that it has proved; None for nobody in particular.")
    groups: frozenset[str] = Attribute("The groups that it is in, beside those of the policy file.")


classImplements(Principal, IPrincipal)


@implementer(IRealm)
class RouterRealm:
    """Turns what a checker vouches for into one who acts on the bus."""

    def __init__(
        self,
        router: IRouter,
        protocol: str = "local",
        facts_of: Callable[[Any], PeerFacts] = lambda mind: _SOMEWHERE,
        groups_of: Callable[[str], frozenset[str]] = lambda name: frozenset(),
    ) -> None:
        """`facts_of` tells of a mind what is known of where it is, and `groups_of` of a name its groups."""
        self._router = router
        self._protocol = protocol
        self._facts_of = facts_of
        self._groups_of = groups_of

    def requestAvatar(self, avatarId: Any, mind: Any, *interfaces: Any) -> tuple[Any, Any, Callable[[], None]]:
        """Return the first that can be had of `IPrincipal` and `ISession`; to log out of a session closes it, and its
        wills are published. Raises `NotImplementedError` where neither is wanted, `LocalError` for an avatar's id that
        is no name, or a mind that is no peer, and `Refused` while the bus ends."""
        for interface in interfaces:
            if interface is IPrincipal:
                return interface, self._principal(avatarId, mind), lambda: None
            if interface is ISession:
                if not IPeer.providedBy(mind):
                    raise LocalError(f"{mind!r} is no IPeer, so nobody would hear what comes to its session")
                session = self._router.attach(mind, self._principal(avatarId, mind))
                return interface, session, partial(session.close, "logout")
        raise NotImplementedError("an avatar of this realm is an IPrincipal or an ISession")

    def _principal(self, avatar: Any, mind: Any) -> Principal:
        facts = self._facts_of(mind)
        if avatar is ANONYMOUS:
            return Principal(self._protocol, facts)
        try:
            name = avatar.decode() if isinstance(avatar, bytes) else avatar
        except UnicodeDecodeError:
            raise LocalError(f"{avatar!r} is no UTF-8") from None
        if not isinstance(name, str):
            raise LocalError(f"{avatar!r} is no name")
        check_name(name)
        return Principal(self._protocol, facts, name, self._groups_of(name))
