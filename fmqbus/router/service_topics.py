"""The broker's own voice: the topics below ``$``, and who answers there. (FMQP, section Service topics)

Each topic is an `IServiceTopic` plug, built in or a vendor's. This file gives every plug its `IServiceContext`, keeps
the cached values, and brings what clients publish below ``$`` to the plug of just that topic, if the authorizer
allows ``control`` there. Nothing that a client publishes below ``$`` is ever forwarded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs
from twisted.logger import Logger
from zope.interface import implementer

from fmqbus import names
from fmqbus.errors import Refused
from fmqbus.interfaces import IServiceContext, IServiceTopic, StopCallback
from fmqbus.model import Action, Message

if TYPE_CHECKING:
    from fmqbus.router.service import Router
    from fmqbus.router.session import Session

_log = Logger()


@implementer(IServiceContext)
@attrs.define(eq=False)
class ServiceContext:
    """What one service topic may use of its bus."""

    router: Router
    plug: IServiceTopic
    _stop: StopCallback | None
    #: Methods of the plug that failed when they were called last.
    failing: set[str] = attrs.field(factory=set)

    @property
    def clock(self) -> Any:
        return self.router.clock

    def publish(self, payload: bytes, cached: bool) -> None:
        self.router.publish_service(Message(self.plug.topic, payload, retain=cached))

    def connected(self, protocol: str) -> int:
        return self.router.connected(protocol)

    def stop(self, soft: bool) -> None:
        if self._stop is not None:
            self._stop(soft)


class ServiceTopics:
    """All service topics of one bus."""

    def __init__(self, router: Router, plugs: Sequence[IServiceTopic], stop: StopCallback | None) -> None:
        self._contexts: dict[bytes, ServiceContext] = {}
        for plug in plugs:
            written: object = plug.topic  # by a vendor
            if not isinstance(written, bytes):
                _log.error("service topic {topic!r} is left out: it is to be bytes", topic=plug.topic)
            elif not names.is_service(plug.topic) or names.is_wild(plug.topic):
                _log.error("service topic {topic} is left out: it is not one below $", topic=plug.topic)
            elif plug.topic in self._contexts:
                _log.error("service topic {topic} is left out: it is there already", topic=plug.topic)
            else:
                self._contexts[plug.topic] = ServiceContext(router, plug, stop)
        self._router = router
        self._values: dict[bytes, Message] = {}
        self._running = False

    def start(self) -> None:
        """The bus runs."""
        self._running = True
        for topic, context in list(self._contexts.items()):
            if not self._call(context, "start"):
                # it is not there: nothing comes to it, and there is nothing to stop
                del self._contexts[topic]

    def stop(self) -> None:
        """The bus ends."""
        if self._running:
            self._running = False
            self._each("stop")

    def clients_changed(self) -> None:
        """A client has come or gone."""
        if self._running:
            self._each("clients_changed")

    def remember(self, message: Message) -> None:
        """Keep the message as the cached value of its service topic."""
        self._values[message.topic] = message

    def get(self, topic: bytes) -> Message | None:
        """The cached value of exactly this topic."""
        return self._values.get(topic)

    def matching(self, pattern: bytes) -> list[Message]:
        """The cached values of topics equivalent to the pattern."""
        if pattern[:1] not in (names.SERVICE_LEVEL, names.STAR):
            return []
        return [value for topic, value in self._values.items() if names.equivalent(topic, pattern)]

    def received(self, session: Session, message: Message) -> None:
        """A client published below ``$``. Raises `Refused` where nobody answers, or it may not."""
        context = self._contexts.get(message.topic)
        if context is None:
            raise Refused("nobody answers here", "service-topic")
        if not self._router.authorize(session.principal, Action.CONTROL, message.topic):
            raise Refused("control is not allowed")
        self._call(context, "received", session.principal, message)

    def _each(self, method: str) -> None:
        for context in self._contexts.values():
            self._call(context, method)

    @staticmethod
    def _call(context: ServiceContext, method: str, *arguments: object) -> bool:
        """A plug that raises harms nobody, and is reported: once until it has gone well again, since clients that come
        and go must not fill the log. False if it did."""
        try:
            getattr(context.plug, method)(context, *arguments)
        except Exception:
            if method not in context.failing:
                context.failing.add(method)
                topic = context.plug.topic.decode()
                _log.failure("service topic {topic} failed in {method}", topic=topic, method=method)
            return False
        context.failing.discard(method)
        return True
