"""What do all topics have in common at which an operator asks for something? By requests over the bus itself.

A request is one JSON object, and so is the answer, which is published on ``$/manage/reply/TOKEN``; the token is the
requester's choice. Any protocol that can publish and subscribe can manage, then, if the authorizer allows ``control``
on the topic, and ``manage`` at what is asked about.
"""

from __future__ import annotations

import codecs
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Protocol, TypeVar

import msgspec
from twisted.internet.defer import maybeDeferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from fmqbus import names
from fmqbus.errors import BusError, Refused
from fmqbus.interfaces import IRouter, IServiceContext
from fmqbus.model import Action, Message, Principal

_log = Logger()

_REPLIES = b"$/manage/reply/"
#: Of each message that is told, unless somebody wants more.
PAYLOAD_OCTETS = 4096


def may_manage(router: IRouter, principal: Principal, name: bytes) -> bool:
    """Tell whether the requester may look after what has this name, beside talking about it."""
    allowed: bool = router.authorize(principal, Action.MANAGE, name)
    return allowed


def demand_manage(router: IRouter, principal: Principal, name: bytes) -> None:
    """Raises `Refused` if it may not."""
    if not may_manage(router, principal, name):
        raise Refused(f"it takes the right to manage {names.to_text(name)}")


class _Named(Protocol):
    @property
    def name(self) -> bytes:
        """By which it is listed."""


_Status = TypeVar("_Status", bound=_Named)


def pages(
    page: Callable[[bytes, int], Sequence[_Status]], after: bytes, most: int, may: Callable[[bytes], bool]
) -> Sequence[_Status]:
    """So many at most of those beyond a name that one may be told of, by name."""
    found: list[_Status] = []
    while len(found) < most:
        some = page(after, most)
        found += [status for status in some if may(status.name)]
        if len(some) < most:
            break
        after = some[-1].name
    return found[:most]


class Addressed(msgspec.Struct):
    """Where the answer goes; all that is read of a request that is wrong otherwise."""

    reply: Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9_-]{1,64}\Z")]


class RequestTopic:
    """An `fmqbus.interfaces.IServiceTopic` that answers requests."""

    topic: bytes

    def act(self, router: IRouter, principal: Principal, payload: bytes) -> Any:
        """Return the answer to a request, or a Deferred of it. What is raised of `BusError` and `msgspec.DecodeError`
        is the answer too."""
        raise NotImplementedError

    def start(self, context: IServiceContext) -> None:
        """Nothing is told unasked."""

    def stop(self, context: IServiceContext) -> None:
        """See `start`."""

    def clients_changed(self, context: IServiceContext) -> None:
        """See `start`."""

    def received(self, context: IServiceContext, principal: Principal, message: Message) -> None:
        """See `fmqbus.interfaces.IServiceTopic`."""
        try:
            token = msgspec.json.decode(message.payload, type=Addressed).reply
        except msgspec.DecodeError as error:
            _log.info("a request on {topic} cannot be answered: {error}", topic=self.topic.decode(), error=error)
            return

        def answer(content: Mapping[str, Any]) -> None:
            context.router.publish_service(Message(_REPLIES + token.encode(), msgspec.json.encode(content)))

        answered = maybeDeferred(self.act, context.router, principal, message.payload).addErrback(_explain)
        answered.addCallback(answer).addErrback(lambda failure: _log.failure("an answer was not given", failure))


def shown(payload: bytes, octets: int = PAYLOAD_OCTETS) -> Mapping[str, str]:
    """A payload for people: as text if it is text, else in base64, and not all of it if it is longer than so many
    octets."""
    head = payload[:octets]
    try:
        # a character that is cut at the end is left out
        return {"text": codecs.getincrementaldecoder("utf-8")().decode(head, head == payload)}
    except UnicodeDecodeError:
        return {"base64": b64encode(head).decode()}


def _explain(failure: Failure) -> Mapping[str, Any]:
    failure.trap(BusError, msgspec.DecodeError)
    return {"error": failure.getErrorMessage()}
