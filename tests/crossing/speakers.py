"""The words that the protocols have in common, whatever each makes of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import attrs

from fmqbus.model import NO_PROPERTIES
from tests.adversarial.client import Deadline
from tests.live.broker import Broker

Told = TypeVar("Told")


@attrs.frozen
class Heard:
    """A message, as a listener's protocol tells it."""

    topic: bytes
    payload: bytes
    properties: Mapping[str, str] = NO_PROPERTIES
    #: ``retained`` and ``will``, where the protocol marks such messages.
    marks: frozenset[str] = frozenset()


class Speaker(ABC):
    """One client. What it says has been acted on when the method returns."""

    #: The protocol, as a listen string calls it.
    protocol: ClassVar[str]
    #: Whether a message can have properties.
    has_properties: ClassVar[bool]
    #: Whether a subscription can have filters.
    has_filters: ClassVar[bool]
    #: Whether one copy of a message comes for each subscription that fits, instead of one for all.
    has_copies: ClassVar[bool]
    #: Whether messages are told apart that are retained, and that are wills.
    has_marks: ClassVar[bool]
    #: Whether a message may be without a payload.
    has_empty: ClassVar[bool]
    #: Whether something can be left to be published when the connection ends.
    has_wills: ClassVar[bool] = True
    #: Whether a subscription is to levels, any of which may be a star, and not to how a topic begins.
    has_levels: ClassVar[bool] = True
    #: Of a topic, in octets.
    longest_topic: ClassVar[int]
    #: Where its listener listens; the protocol's own at any free TCP port, unless it says otherwise.
    listens: ClassVar[str] = ""

    @classmethod
    def join(cls, broker: Broker) -> Self:
        """Connect one."""
        return cls(broker.connect(f"{cls.protocol}:"))

    @abstractmethod
    def __init__(self, connection: Any) -> None:
        """Introduce itself."""

    @abstractmethod
    def publish(
        self, topic: bytes, payload: bytes, *, retain: bool = False, properties: Mapping[str, str] = NO_PROPERTIES
    ) -> None:
        """Publish a message. `properties` are for those that have them."""

    @abstractmethod
    def leave_will(self, topic: bytes, payload: bytes) -> None:
        """Have this published when the connection ends."""

    @abstractmethod
    def subscribe(self, pattern: bytes, *filters: str) -> None:
        """Subscribe; filters are for those that have them, as MicroMsg2 writes them."""

    @abstractmethod
    def unsubscribe(self, pattern: bytes) -> None:
        """End that."""

    @abstractmethod
    def heard(self) -> Sequence[Heard]:
        """What has been heard since the last call."""

    @abstractmethod
    def close(self) -> None:
        """Go."""


def wait_for(listen: Callable[[], Sequence[Told]]) -> Sequence[Told]:
    """What is told next, by a method such as `Speaker.heard`: for what nobody can know to have happened yet."""
    deadline = Deadline()
    while not (told := listen()):
        deadline.check("nothing is heard")
    return told
