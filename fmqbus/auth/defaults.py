"""What may peers do where no rule says anything? On this machine everything, from elsewhere nothing.

Everything includes `Action.CONTROL` of ``$/signals/*``: FMQP lets any client end the broker (section Service
topics), and whoever can open a loopback or UNIX socket is taken for such a client.
"""

from __future__ import annotations

import attrs
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import IAuthorizer
from fmqbus.model import Action, Decision, Principal


@implementer(IPlugin, IAuthorizer)
@attrs.frozen
class LocalPeers:
    """Allows all to peers on this machine and defers on all others."""

    def decide(self, principal: Principal, action: Action, name: bytes) -> Decision:
        """The name and the action do not matter."""
        return Decision.ALLOW if principal.facts.is_local else Decision.DEFER
