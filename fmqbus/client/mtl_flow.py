"""What does a client say on one data flow, and what does the broker say there? No I/O; times are the caller's.

======== ============================== ==========================================================
state    what comes                     then
======== ============================== ==========================================================
leasing  Response 200 to the Lease      standing
leasing  Response, any other            ended
standing Response to a Summon           summoned, or not
standing Response to a Dismiss          nothing more comes; leaving ends with the last of them
standing Response 403 to anything       ended: the broker does not know the flow any more
standing Content, to who reads          came
standing Confirm, Reject, to who writes those that they cover are safe, or not
any      Ping                           Pong
any      Pong                           nothing; it was heard
leaving  Content                        rejected, to be sent to another; where nothing is confirmed, lost
leaving  Response                       as standing
======== ============================== ==========================================================

All else is wrong, and dropped. A broker may forget a flow, such as that of a user who may not come in any more; it
answers a Ping of anybody all the same (reading 29). So with each Ping goes a Dismiss of nothing: whoever has the flow
answers 400, and whoever does not 403.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

import attrs

from fmqbus.client.mtl_in_hand import InHand
from fmqbus.errors import BusError, Detached, PeerError, Refused
from fmqbus.model import Outcome
from fmqbus.protocols.mtl import commands
from fmqbus.protocols.mtl.commands import (
    Command,
    Confirm,
    Content,
    Dismiss,
    Lease,
    Ping,
    Pong,
    Reader,
    Reject,
    Response,
    Summon,
)
from fmqbus.protocols.mtl.confirmations import Sent
from fmqbus.protocols.mtl.statuses import Status

Tag = TypeVar("Tag")

#: The name in the Dismiss that asks whether there is a flow: no resource has it (reading 40).
_NOTHING = b""


class State(enum.Enum):
    """See the table at the head of this file."""

    LEASING = "leasing"
    STANDING = "standing"
    LEAVING = "leaving"
    ENDED = "ended"


@attrs.frozen
class Standing:
    """The lease was good."""


@attrs.frozen
class Summoned:
    """The contents of a resource come from now on."""

    resource: bytes


@attrs.frozen
class NotSummoned:
    """They will not."""

    resource: bytes
    error: BusError


@attrs.frozen
class Came:
    """A content has come. Where contents are confirmed, it is in hand now."""

    content: Content


@attrs.frozen
class Safe(Generic[Tag]):
    """These contents of ours are the broker's now."""

    tags: list[Tag]


@attrs.frozen
class Unwanted(Generic[Tag]):
    """The broker does not take these; `is_for_now`, they may be sent again later (reading 49)."""

    tags: list[Tag]
    is_for_now: bool


@attrs.frozen
class Ended:
    """The flow is of no use any more."""

    error: BusError


@attrs.frozen
class Left:
    """Nothing more comes, and nothing is owed."""


Event = Standing | Summoned | NotSummoned | Came | Safe[Any] | Unwanted[Any] | Ended | Left


class ClientFlow(Generic[Tag]):
    """One flow, in one direction. What is to be said is taken by `take_output` after each call."""

    def __init__(self, flow: commands.Flow, window: int, most_in_hand: int) -> None:
        """At most `window` contents of ours wait to be confirmed, and so many of the broker's are in hand; more are not
        taken."""
        self.state = State.LEASING
        self._most_in_hand = most_in_hand
        self._is_reader = isinstance(flow, Reader)
        self._is_confirmed = flow.is_confirmed
        self._sent: Sent[Tag] = Sent(flow.is_confirmed, window)
        self._in_hand = InHand()
        self._last_sequence = 0
        #: What has no Response, and since when; the first was said first.
        self._unanswered: dict[int, tuple[Lease | Summon | Dismiss, float]] = {}
        self._output: list[Command] = []

    @property
    def room(self) -> int:
        """How many contents may be sent now."""
        return self._sent.room if self.state is State.STANDING else 0

    @property
    def in_hand(self) -> int:
        """How many contents the application has."""
        return len(self._in_hand)

    @property
    def is_owed(self) -> bool:
        """Whether something has no Response yet."""
        return bool(self._unanswered)

    def owed_since(self, now: float) -> float:
        """Since when the one has none that has waited longest; now, if none waits."""
        return next((since for _, since in self._unanswered.values()), now)

    def take_output(self) -> list[Command]:
        """What is to be said now, in order."""
        output, self._output = self._output, []
        return output

    # what the client does

    def lease(self, lease: bytes, now: float) -> None:
        """Begin (MTL, Initializing a Data Flow)."""
        self._ask(lambda sequence: Lease(sequence, lease), now)

    def summon(self, resource: bytes, now: float) -> None:
        """Have the contents of a resource come. It need not wait for the lease's Response: they are answered in
        turn."""
        self._ask(lambda sequence: Summon(sequence, resource), now)

    def dismiss(self, resource: bytes, now: float) -> None:
        """And no more."""
        self._ask(lambda sequence: Dismiss(sequence, resource), now)

    def ping(self, now: float) -> None:
        """Ask whether the broker is there, and whether it knows us."""
        self._output.append(Ping())
        if self.state is State.STANDING:
            self.dismiss(_NOTHING, now)

    def write(self, resource: bytes, properties: bytes, body: bytes, tag: Tag) -> None:
        """Send a content; `properties` are the entries of a table. Only where there is room."""
        self._output.append(Content(self._sent.next(tag), resource, properties, body))

    def settle(self, sequence: int, outcome: Outcome) -> bool:
        """The application says what becomes of a content; the broker is told by `say_settled`. Returns whether it was
        in hand."""
        return self._in_hand.settle(sequence, outcome)

    def say_settled(self) -> None:
        """Tell the broker what was settled since."""
        if self.state is not State.ENDED:
            self._output += self._in_hand.to_say()

    def leave(self, resources: list[bytes], now: float) -> list[Event]:
        """End it in good order: nothing more is to come of these resources, and what is in hand goes back."""
        if self.state is not State.STANDING:
            return self.end(Detached("the flow is left"))
        self.state = State.LEAVING
        for resource in resources:
            self.dismiss(resource, now)
        self._in_hand.release_all()
        self.say_settled()
        return self._left()

    def end(self, error: BusError) -> list[Event]:
        """Nothing more is said or understood."""
        if self.state is State.ENDED:
            return []
        self.state = State.ENDED
        self._output.clear()
        self._unanswered.clear()
        self._in_hand.take_all()
        return [Ended(error)]

    def _ask(self, make: Callable[[int], Lease | Summon | Dismiss], now: float) -> None:
        self._last_sequence += 1
        command = make(self._last_sequence)
        self._unanswered[command.sequence] = command, now
        self._output.append(command)

    # what the broker says

    def heard(self, command: Command) -> list[Event]:
        """A command has come. Raises `PeerError` for one that means nothing here."""
        act = _HEARD[self.state].get(type(command))
        if act is None:
            raise PeerError(f"{type(command).__name__} when {self.state.value}", "command")
        return act(self, command)

    def _answered(self, response: Response) -> list[Event]:
        asked, _ = self._unanswered.pop(response.sequence, (None, 0.0))
        if asked is None:
            raise PeerError(f"a Response to {response.sequence}, which was not asked", "response")
        if response.code == Status.FORBIDDEN.value or (isinstance(asked, Lease) and response.code != Status.OK.value):
            return self.end(Refused(f"the broker does not know the flow: {response.code}"))
        if isinstance(asked, Lease):
            self.state = State.STANDING
            return [Standing()]
        if isinstance(asked, Summon) and self.state is State.STANDING:
            if response.code == Status.OK.value:
                return [Summoned(asked.resource)]
            name = asked.resource.decode("utf-8", "replace")
            return [NotSummoned(asked.resource, Refused(f"the bus says {response.code} to {name}"))]
        return self._left()

    def _left(self) -> list[Event]:
        return [Left()] if self.state is State.LEAVING and not self._unanswered else []

    def _came(self, content: Content) -> list[Event]:
        self._check_direction(self._is_reader)
        if not self._is_confirmed:
            return [Came(content)]
        has_room = len(self._in_hand) < self._most_in_hand
        self._in_hand.came(content.sequence)
        return [Came(content)] if has_room else self._give_back(content)

    def _came_too_late(self, content: Content) -> list[Event]:
        self._check_direction(self._is_reader)
        if self._is_confirmed:
            self._in_hand.came(content.sequence)
            self._give_back(content)
        return []

    def _give_back(self, content: Content) -> list[Event]:
        self.settle(content.sequence, Outcome.RELEASE)
        self.say_settled()
        return []

    def _confirmed(self, confirm: Confirm) -> list[Event]:
        self._check_direction(not self._is_reader)
        tags = self._sent.settle(confirm)
        return [Safe(tags)] if tags else []

    def _rejected(self, reject: Reject) -> list[Event]:
        self._check_direction(not self._is_reader)
        tags = self._sent.settle(reject)
        return [Unwanted(tags, reject.recycle)] if tags else []

    def _check_direction(self, is_right: bool) -> None:
        if not is_right:
            raise PeerError("a command of the other direction", "command")

    def _pinged(self, ping: Ping) -> list[Event]:
        self._output.append(Pong())
        return []

    def _nothing(self, command: Command) -> list[Event]:
        return []


_Act = Callable[[ClientFlow[Any], Any], list[Event]]
_ALIVE: Mapping[type[Command], _Act] = {Ping: ClientFlow._pinged, Pong: ClientFlow._nothing}
_HEARD: Mapping[State, Mapping[type[Command], _Act]] = {
    State.LEASING: {**_ALIVE, Response: ClientFlow._answered},
    State.STANDING: {
        **_ALIVE,
        Response: ClientFlow._answered,
        Content: ClientFlow._came,
        Confirm: ClientFlow._confirmed,
        Reject: ClientFlow._rejected,
    },
    State.LEAVING: {
        **_ALIVE,
        Response: ClientFlow._answered,
        Content: ClientFlow._came_too_late,
        Confirm: ClientFlow._nothing,
        Reject: ClientFlow._nothing,
    },
    State.ENDED: dict.fromkeys((Response, Content, Confirm, Reject, Ping, Pong), ClientFlow._nothing),
}
