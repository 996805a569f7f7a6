"""What a UMQ conversation tells its session. A message with attachments is told of when all have come (reading 12)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from fmqbus.protocols.umq.attachments import Attachment


@attrs.frozen(slots=True)
class Greeted:
    """The other side has said hello, or welcome. To a hello the session answers by `Peer.welcome` or `Peer.fail`."""

    payload: bytes
    attachments: Sequence[Attachment] = ()


@attrs.frozen(slots=True)
class Called:
    """The other side calls; to be answered once by `Peer.answer` or `Peer.refuse`, with this id."""

    id: int
    payload: bytes
    attachments: Sequence[Attachment] = ()


@attrs.frozen(slots=True)
class CalledBack:
    """As `Called`, by a callback; `tag` is what it was registered with. It cannot be called again (reading 29)."""

    id: int
    tag: Any
    payload: bytes
    attachments: Sequence[Attachment] = ()


@attrs.frozen(slots=True)
class Answered:
    """A call of ours has its result; `tag` is what it was made with."""

    tag: Any
    payload: bytes
    attachments: Sequence[Attachment] = ()


@attrs.frozen(slots=True)
class Raised:
    """A call of ours has failed. The code is 0 if the other side gave none."""

    tag: Any
    code: int
    text: str


@attrs.frozen(slots=True)
class Updated:
    """There is news of a topic that we asked for."""

    tag: Any
    payload: bytes
    attachments: Sequence[Attachment] = ()


@attrs.frozen(slots=True)
class TopicClosed:
    """There will be no more."""

    tag: Any


@attrs.frozen(slots=True)
class Unsubscribed:
    """The other side wants no more of a topic of ours. It has been told that this is the end of it (reading 33)."""

    tag: Any


@attrs.frozen(slots=True)
class AttributesChanged:
    """The other side has set an attribute or taken one back."""

    name: str


@attrs.frozen(slots=True)
class Refused:
    """Something was discarded; where the protocol has a word for it, it has been told."""

    #: A short word of ours, fit for a counter's label.
    reason: str


@attrs.frozen(slots=True)
class Failed:
    """The conversation is over. Send what is to be sent and close the connection."""

    #: A short word of ours, fit for a counter's label.
    reason: str
    code: int
    text: str
    #: The other side has said so; there is nothing to be sent.
    is_theirs: bool = False


Event = (
    Greeted
    | Called
    | CalledBack
    | Answered
    | Raised
    | Updated
    | TopicClosed
    | Unsubscribed
    | AttributesChanged
    | Refused
    | Failed
)
