"""For whom are leases and data flows? (MTL, Requesting a Data Lease; readings 15 and 30)

A lease is good for whoever uses it, and its flow acts as the client that asked for it. So the client, as far as leases
and flows need it, outlives its control session: it is this owner. Whoever logs in as another user is another owner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import attrs
from zope.interface import implementer

from fmqbus.interfaces import IMTLClient, IRouter
from fmqbus.model import Principal
from fmqbus.protocols.mtl.virtual_hosts import VirtualHost


class Owned(Protocol):
    """A direction of a data flow."""

    def become(self, principal: Principal) -> None:
        """The owner acts as this one from now on, who is the same user."""

    def end(self, reason: str) -> None:
        """The flow ends."""


@implementer(IMTLClient)
@attrs.define(eq=False)
class Owner:
    """See above."""

    router: IRouter
    principal: Principal
    host: VirtualHost
    #: What is known of this user has changed, so no lease may be used until he has logged in again.
    is_suspended: bool = False
    #: It has a control session.
    is_present: bool = True
    flows: dict[Owned, None] = attrs.field(factory=dict)
    #: To be called when nobody acts as this owner any more.
    leave: Callable[[], None] = lambda: None

    def name_of(self, resource: bytes) -> bytes:
        return self.host.name_of(resource)

    def resource_of(self, name: bytes) -> bytes:
        return self.host.resource_of(name)

    def suspend(self) -> None:
        """He has to log in anew. What acts for him ends."""
        self.is_suspended = True
        self.end_flows("revoked")

    def resume(self, principal: Principal, leave: Callable[[], None]) -> None:
        """He has logged in again."""
        self.leave()
        self.leave = leave
        self.is_suspended = False
        if principal != self.principal:
            self.principal = principal
            for flow in list(self.flows):
                flow.become(principal)

    def end_flows(self, reason: str) -> None:
        """All of them."""
        for flow in list(self.flows):
            flow.end(reason)

    def part(self) -> None:
        """The control session has ended."""
        self.is_present = False
        self._leave_if_alone()

    def discard(self, flow: Owned) -> None:
        """A flow has ended; may be repeated."""
        self.flows.pop(flow, None)
        self._leave_if_alone()

    def _leave_if_alone(self) -> None:
        if not (self.is_present or self.flows):
            self.leave()
            self.leave = lambda: None
