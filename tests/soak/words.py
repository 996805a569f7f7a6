"""What can members say and hear, whatever each protocol makes of it? Each protocol has the words that it has.

Deferreds fire when the bus has taken over what was said, as far as the protocol tells, and fail when it has not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol

import attrs
from twisted.internet.defer import Deferred

from fmqbus.model import DEAD_LETTER_DETAIL, DEAD_LETTER_REASON
from tests.live.broker import Broker


class Feed(Protocol):
    """What was subscribed to."""

    def stop(self) -> object:
        """End it."""


@attrs.frozen
class Taken:
    """A message of a queue in one's hands, and what can be said of it."""

    queue: str
    payload: bytes
    is_redelivered: bool
    #: Why it is a dead letter; empty if it is none.
    died_of: str
    accept: Callable[[], object]
    #: None where the protocol has no such word.
    release: Callable[[], object] | None = None
    reject: Callable[[str], object] | None = None


class Party(ABC):
    """One that comes and goes."""

    #: As a listen string calls it, and where it listens while ports are the kernel's choice.
    protocol: ClassVar[str]
    listens: ClassVar[str]
    #: Whether one who is silent for a while is taken for gone, and what he has for given back.
    has_to_beat: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def address(cls, broker: Broker) -> str:
        """Where members find this broker."""

    @classmethod
    @abstractmethod
    def listens_again(cls, broker: Broker) -> str:
        """A listen string for the same ports."""

    @abstractmethod
    def __init__(self, address: str, name: str, reactor: Any) -> None:
        """Make one, which does nothing yet."""

    @abstractmethod
    def start(self, came: Callable[[], None], lost: Callable[[], None]) -> None:
        """Connect, and stay connected; `came` and `lost` are called with each connection, where it is known."""

    @abstractmethod
    def stop(self) -> Deferred[None]:
        """Say goodbye, and go."""

    @property
    @abstractmethod
    def is_connected(self) -> bool:
        """Whether there is somebody to talk to, as far as anybody knows."""


class Publishes(ABC):
    """One that publishes."""

    @abstractmethod
    def publish(self, topic: str, payload: bytes) -> Deferred[Any]:
        """Publish a message."""


class Subscribes(ABC):
    """One that subscribes."""

    #: Whether what others publish comes without a gap, while there is room for it.
    is_gapless: ClassVar[bool] = True

    @abstractmethod
    def subscribe(self, pattern: str, heard: Callable[[str, bytes], None]) -> Feed:
        """`heard` is called with the topic and the payload of each message."""


class Retains(Publishes):
    """One that has values kept."""

    @abstractmethod
    def retain(self, topic: str, payload: bytes) -> Deferred[Any]:
        """Publish a message that is kept."""


class Watches(ABC):
    """One that asks who listens."""

    @abstractmethod
    def watch(self, pattern: str, told: Callable[[int], None]) -> object:
        """`told` is called with each number."""


class Enqueues(ABC):
    """One that sends to queues."""

    @abstractmethod
    def enqueue(self, queue: str, payload: bytes) -> Deferred[Any]:
        """Put a message into a queue."""


class Consumes(ABC):
    """One that takes from queues."""

    @abstractmethod
    def consume(self, queue: str, take: Callable[[Taken], None]) -> object:
        """`take` is called with each message."""


class Calls(ABC):
    """One that calls what others serve."""

    @abstractmethod
    def call(self, argument: str) -> Deferred[str]:
        """Call `METHOD`, or whatever this protocol calls, with an argument that is to come back."""


class Serves(ABC):
    """One that others call."""

    @abstractmethod
    def serve(self) -> Deferred[Any]:
        """Serve `METHOD`."""


def death_of(properties: Mapping[str, str]) -> str:
    """What a dead letter says that it died of; empty for what is none."""
    said = (properties.get(DEAD_LETTER_REASON, ""), properties.get(DEAD_LETTER_DETAIL, ""))
    return ": ".join(filter(None, said))


def stream_listener(protocol: str, broker: Broker) -> str:
    """A listen string for the port that the kernel chose."""
    return f"{protocol}:tcp:{broker.port_of(f'{protocol}:')}:interface=127.0.0.1"
