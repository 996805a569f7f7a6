"""Which data flow does a subscription of an MTL client have, and which messages there concern it?

All subscriptions share one flow, as long as no two of them have a pattern in common: a resource is summoned once on a
flow, and whoever subscribes later is to have what the bus keeps, too. So he gets the next flow on which his patterns
are new. On one flow a message comes once, under its own name, however many patterns fit it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fmqbus import names
from fmqbus.client.equivalents import Equivalents
from fmqbus.client.events import Message
from fmqbus.client.mtl_data_link import DataLink
from fmqbus.client.mtl_reading import Summoning
from fmqbus.client.mtl_words import fields_of, is_retained, texts_of
from fmqbus.client.mtl_writing import FlowSource
from fmqbus.client.subscription import Subscription
from fmqbus.errors import BusError, InvalidName
from fmqbus.limits import Limits
from fmqbus.protocols.mtl import commands
from fmqbus.protocols.mtl.commands import Content


class Subscribed(Summoning):
    """One flow, and the subscriptions that share it."""

    def __init__(self, source: FlowSource, limits: Limits, profile: str) -> None:
        super().__init__(source, limits, profile, commands.Reader())
        self._kept: Equivalents[Subscription] = Equivalents()
        #: Topic → those whom it concerns; forgotten whenever a subscription comes or goes.
        self._routes: dict[bytes, tuple[Subscription, ...]] = {}

    def __bool__(self) -> bool:
        """Whether anybody subscribes."""
        return bool(self._wanted)

    def has_any(self, patterns: Iterable[bytes]) -> bool:
        """Whether one of these is subscribed to."""
        return any(pattern in self._wanted for pattern in patterns)

    def kept(self) -> list[Subscription]:
        """All of them."""
        return list(dict.fromkeys(self._kept))

    def add(self, subscription: Subscription) -> None:
        """Its patterns are new here."""
        self._routes.clear()
        for pattern in subscription.patterns:
            self._kept.add(pattern, subscription)
            self.summon_resource(pattern)

    def discard(self, subscription: Subscription) -> bool:
        """It is not wanted any more. Returns whether it was here."""
        if subscription not in self.kept():
            return False
        self._routes.clear()
        for pattern in subscription.patterns:
            self._kept.remove(pattern, subscription)
            self.dismiss_resource(pattern)
        return True

    def came(self, data: DataLink, content: Content) -> None:
        concerned = self._routes.get(content.resource)
        if concerned is None:
            concerned = self._route(content.resource)
        if concerned:
            fields = fields_of(content.properties, self._limits)
            topic = names.to_text(content.resource)
            message = Message(topic, content.body, is_retained(fields), properties=texts_of(fields))
            for subscription in concerned:
                subscription.extend([message])

    def _route(self, topic: bytes) -> tuple[Subscription, ...]:
        try:
            name = names.parse(topic)
        except InvalidName:
            self._source.invalid += 1
            return ()
        if len(self._routes) >= self._limits.cached_routes:
            self._routes.clear()
        concerned = self._routes[topic] = tuple(dict.fromkeys(self._kept.matching(name)))
        return concerned

    def not_summoned(self, resource: bytes, error: BusError) -> None:
        for subscription in list(self._kept.at(resource)):
            subscription.fail(error)

    def flow_denied(self, error: BusError) -> None:
        for subscription in self.kept():
            subscription.fail(error)


class Subscriptions:
    """All subscriptions of one client, on as many flows as they need."""

    def __init__(self, make_flow: Callable[[], Subscribed]) -> None:
        self._make_flow = make_flow
        self._flows: list[Subscribed] = []

    def add(self, subscription: Subscription) -> None:
        """On the first flow on which all its patterns are new."""
        flow = next((flow for flow in self._flows if not flow.has_any(subscription.patterns)), None)
        if flow is None:
            flow = self._make_flow()
            self._flows.append(flow)
        flow.add(subscription)

    def discard(self, subscription: Subscription) -> None:
        """A flow that nobody is on any more is left."""
        flow = next((flow for flow in self._flows if flow.discard(subscription)), None)
        if flow is not None and not flow:
            self._flows.remove(flow)
            flow.leave()

    def stop_all(self) -> None:
        """End every subscription."""
        for flow in list(self._flows):
            for subscription in flow.kept():
                subscription.stop()
