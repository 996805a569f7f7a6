"""Where does an extension take part in a connection that agreed on it? (MicroMsg2, Extensions)"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import attrs

from fmqbus.protocols.micromsg2.events import Event
from fmqbus.protocols.micromsg2.fields import Pairs


@attrs.frozen(slots=True, kw_only=True)
class Hooks:
    """What `IMicroMsg2Extension.activate` returns: an extension's part in one connection, at six places. What it leaves
    out costs nothing.

    None of them may write to the connection or wait: they return what is to be said. A hook that is told something by
    the other side may raise `fmqbus.errors.BusError`: that is refused, and the connection goes on.
    """

    #: An EXTENSION frame for this extension has come, with this payload.
    frame_received: Callable[[bytes], Iterable[Event]] | None = None
    #: The COMMANDs that are this extension's, by name in lower case; called with their arguments.
    commands: Mapping[str, Callable[[Pairs], Iterable[Event]]] = attrs.field(factory=dict)
    #: A message has come under this number: returns what the extension knows of it, as ``extension:name``, to go with
    #: it over the bus.
    message_received: Callable[[int], Mapping[str, str]] | None = None
    #: A message with these properties, as the bus has them, is about to be sent under this number, or from it on:
    #: returns the payload of an EXTENSION frame to go before it, or None.
    before_message: Callable[[int, Mapping[str, str]], bytes | None] | None = None
    #: How many frames of messages may be sent now. Asked before each is, and again when an EXTENSION frame has come.
    room: Callable[[], int] | None = None
    #: Everything received up to this number is safe. Returns the payload of an EXTENSION frame that says so; or None
    #: where that can wait for more, which is not to be if the second argument is True.
    acknowledge: Callable[[int, bool], bytes | None] | None = None


NO_HOOKS = Hooks()
