"""What do the clients of FMQP and MicroMsg2 do alike? Both say in octets what changes at the bus, and there is one
subscription for each pattern, whose messages the client sorts out itself."""

from __future__ import annotations

from typing import Any

from fmqbus.client.reconnecting import ReconnectingClient
from fmqbus.client.subscription import Subscription, Subscriptions


class SubscribingClient(ReconnectingClient):
    """The client, and what it subscribes to."""

    def __init__(self, *connection: Any, subscriptions: Subscriptions[Any]) -> None:
        """`connection` is what a `ReconnectingClient` takes."""
        super().__init__(*connection)
        self.subscriptions = subscriptions

    def forget_wishes(self) -> None:
        self.subscriptions.stop_all()

    def _say(self, octets: bytes) -> None:
        """Say what changes our state at the bus. Without a connection the next one says it."""
        if self._link is not None and octets:
            self._link.say(octets)

    def _unsubscribe(self, subscription: Subscription) -> None:
        self._say(self.subscriptions.remove(subscription))
