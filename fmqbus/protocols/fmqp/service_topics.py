"""FMQP's service topics, and a few of ours. (FMQP, section Service topics and subscriptions)

All numbers are unsigned 64-bit, big-endian, as the specification has them for its own two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar
from weakref import WeakKeyDictionary

from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall
from twisted.logger import Logger
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import IServiceContext, IServiceTopic
from fmqbus.model import Message, Principal

_log = Logger()
_PROTOCOL = "fmqp"


def _u64(number: int) -> bytes:
    return number.to_bytes(8, "big")


class _Quiet:
    """A service topic at which nothing happens; the classes below say what does."""

    topic: bytes
    summary: str

    def start(self, context: IServiceContext) -> None:
        pass

    def stop(self, context: IServiceContext) -> None:
        pass

    def clients_changed(self, context: IServiceContext) -> None:
        pass

    def received(self, context: IServiceContext, principal: Principal, message: Message) -> None:
        pass


@implementer(IPlugin, IServiceTopic)
class Clients(_Quiet):
    """``$/info/clients``: told on every change, cached; a connecting client counts itself (reading 46)."""

    topic = b"$/info/clients"
    summary = "number of FMQP clients; on every change; cached"

    def start(self, context: IServiceContext) -> None:
        self.clients_changed(context)

    def clients_changed(self, context: IServiceContext) -> None:
        context.publish(_u64(context.connected(_PROTOCOL)), cached=True)


@implementer(IPlugin, IServiceTopic)
class EverySecond(_Quiet):
    """A number that is told every second."""

    def __init__(self, topic: bytes, summary: str, read: Callable[[IServiceContext], int], cached: bool) -> None:
        self.topic = topic
        self.summary = summary
        self._read = read
        self._cached = cached
        self._loops: WeakKeyDictionary[IServiceContext, LoopingCall] = WeakKeyDictionary()

    def start(self, context: IServiceContext) -> None:
        loop = LoopingCall(lambda: context.publish(_u64(self._read(context)), self._cached))
        loop.clock = context.clock
        self._loops[context] = loop
        done: Deferred[LoopingCall] = loop.start(1.0, now=self._cached)
        done.addErrback(lambda failure: _log.failure("{topic} has stopped", failure, topic=self.topic.decode()))

    def stop(self, context: IServiceContext) -> None:
        loop = self._loops.pop(context, None)
        if loop is not None and loop.running:
            loop.stop()


class MessagesEachSecond(EverySecond):
    """``$/info/messages/second``: well-formed packets received in the second that ends; zero too; not cached
    (reading 47)."""

    def __init__(self) -> None:
        super().__init__(
            b"$/info/messages/second", "FMQP packets received in the last second; every second", self._difference, False
        )
        self._before: WeakKeyDictionary[IServiceContext, int] = WeakKeyDictionary()

    def _difference(self, context: IServiceContext) -> int:
        total: int = context.router.traffic_of(_PROTOCOL).messages_in
        before = self._before.get(context, 0)
        self._before[context] = total
        return total - before


@implementer(IPlugin, IServiceTopic)
class Signal(_Quiet):
    """``$/signals/...``: a client ends the broker, the whole process and not FMQP's listener alone (reading 44)."""

    meanings: ClassVar[dict[bytes, bool]] = {b"$/signals/stop": True, b"$/signals/terminate": False}

    def __init__(self, topic: bytes, summary: str) -> None:
        self.topic = topic
        self.summary = summary
        self._soft = self.meanings[topic]

    def received(self, context: IServiceContext, principal: Principal, message: Message) -> None:
        _log.warn("{topic} from {facts}", topic=self.topic.decode(), facts=principal.facts)
        context.stop(soft=self._soft)


def _uptime(started: WeakKeyDictionary[IServiceContext, float]) -> Callable[[IServiceContext], int]:
    def read(context: IServiceContext) -> int:
        now = context.clock.seconds()
        return int(now - started.setdefault(context, now))

    return read


SIGNALS: tuple[IServiceTopic, ...] = (
    Signal(b"$/signals/stop", "any publication ends the broker softly, if the client may control it"),
    Signal(b"$/signals/terminate", "any publication ends the broker at once, if the client may control it"),
)

INFORMATION: tuple[IServiceTopic, ...] = (
    Clients(),
    MessagesEachSecond(),
    EverySecond(
        b"$/info/uptime", "seconds since the bus began; every second; cached", _uptime(WeakKeyDictionary()), True
    ),
    EverySecond(
        b"$/info/bytes/received",
        "octets read from clients of all protocols since the bus began; every second; cached",
        lambda context: context.router.statistics.octets_in,
        True,
    ),
    EverySecond(
        b"$/info/bytes/sent",
        "octets written to clients of all protocols since the bus began; every second; cached",
        lambda context: context.router.statistics.octets_out,
        True,
    ),
    EverySecond(
        b"$/info/messages/dropped",
        "messages lost or refused since the bus began, of all protocols and for all reasons; every second; cached",
        lambda context: context.router.statistics.dropped,
        True,
    ),
    EverySecond(
        b"$/info/subscriptions",
        "subscriptions of all protocols now; every second; cached",
        lambda context: context.router.subscriptions,
        True,
    ),
)
