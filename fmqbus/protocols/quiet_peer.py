"""Who acts on the bus for those at the other end of ZeroMQ's sockets?

None of them has a link of its own, so none can be full, paused or cut off alone: what ends a session is the bus, or
what its peer says.
"""

from __future__ import annotations

from collections.abc import Sequence

from zope.interface import implementer

from fmqbus.calls import Answer, Call, Service
from fmqbus.interfaces import IPeer, IRouter, ISession
from fmqbus.model import Consumer, Interest, Principal, Publication, StoredMessage, Subscription


@implementer(IPeer)
class QuietPeer:
    """One that hears nothing; what derives from it says what it does hear."""

    is_blind = True

    def __init__(self, router: IRouter, principal: Principal) -> None:
        """Raises `Refused` while the bus ends."""
        self.bus: ISession = router.attach(self, principal)

    def deliver(self, batch: Sequence[tuple[Publication, tuple[Subscription, ...]]]) -> None:
        """Nothing was subscribed to."""

    def take(self, deliveries: Sequence[tuple[Consumer, StoredMessage]]) -> None:
        """Nothing was consumed."""

    def consumer_ended(self, consumer: Consumer, reason: str) -> None:
        """See `take`."""

    def called(self, calls: Sequence[Call]) -> None:
        """Nothing was served."""

    def abandoned(self, calls: Sequence[Call]) -> None:
        """What has begun goes on, whoever waits for it."""

    def answered(self, answers: Sequence[Answer]) -> None:
        """Nothing was asked."""

    def service_ended(self, service: Service, reason: str) -> None:
        """See `called`."""

    def interest_changed(self, changes: Sequence[Interest]) -> None:
        """Nothing was watched."""

    def subscription_ended(self, subscription: Subscription, reason: str) -> None:
        """See `deliver`."""

    def pause_reading(self) -> None:
        """The others at the socket would have to wait too. What is too much for a queue is refused in the end."""

    def resume_reading(self) -> None:
        """See `pause_reading`."""

    def stop_listening(self) -> None:
        """The broker knows by itself that it ends."""

    def ending(self, reason: str) -> None:
        self.bus.close(reason)

    def abort(self, reason: str) -> None:
        self.ending(reason)
