"""What the protocols over streams have in common: a client that keeps one connection up, and knows whether it does."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from twisted.application.internet import backoffPolicy
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from fmqbus.client.reconnecting import ReconnectingClient
from tests.live.broker import Broker
from tests.soak.words import Party, stream_listener

C = TypeVar("C", bound=ReconnectingClient)

#: A broker is back within seconds.
RETRY_POLICY = backoffPolicy(initialDelay=0.1, maxDelay=1.0)
_AGAIN_SECONDS = 0.01


class Connected(Party, Generic[C]):
    """One with a client of ours."""

    client: C

    @classmethod
    def listens_again(cls, broker: Broker) -> str:
        return stream_listener(cls.protocol, broker)

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if "listens" not in vars(cls):
            cls.listens = f"{cls.protocol}:tcp:0:interface=127.0.0.1"

    def __init__(self, address: str, name: str, reactor: Any) -> None:
        self.reactor = reactor
        self.client = self.make(address, name)

    @abstractmethod
    def make(self, address: str, name: str) -> C:
        """Make the client."""

    def start(self, came: Callable[[], None], lost: Callable[[], None]) -> None:
        self.client.startService()
        Deferred.fromCoroutine(self._follow(came, lost)).addErrback(lambda _: None)

    async def _follow(self, came: Callable[[], None], lost: Callable[[], None]) -> None:
        """Until the client stops, which cancels this."""
        while True:
            await self.client.when_connected()
            if self.client.is_connected:
                came()
                await self.client.when_disconnected()
                lost()
            # the client's service learns it after the client
            await deferLater(self.reactor, _AGAIN_SECONDS)

    def stop(self) -> Deferred[None]:
        return self.client.stopService()

    @property
    def is_connected(self) -> bool:
        return self.client.is_connected
