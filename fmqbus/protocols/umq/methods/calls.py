"""Methods for calls among clients: ``serve``, ``unserve``, ``call``, ``list``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.interfaces import IUMQCaller, IUMQMethod
from fmqbus.model import Action
from fmqbus.names import from_text, to_text
from fmqbus.protocols.umq.attachments import Attachment
from fmqbus.protocols.umq.codec import parse_id
from fmqbus.protocols.umq.methods.arguments import Arguments

_MOST_LISTED = 1_000
_Count = Annotated[int, Meta(ge=1)]


class ServeOptions(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """See docs/protocols/umq.md."""

    callback: str | None = None
    window: _Count = 100
    weight: _Count = 1


class ServeArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    served: str
    options: ServeOptions = ServeOptions()


@implementer(IPlugin, IUMQMethod)
class Serve:
    """``serve``."""

    name = "serve"
    summary = "calls of a method come to this client"
    arguments = ServeArguments

    def call(self, caller: IUMQCaller, arguments: ServeArguments, attachments: Sequence[Attachment]) -> None:
        options = arguments.options
        callback = None if options.callback is None else parse_id(options.callback)
        caller.serve(from_text(arguments.served), callback, options.window, options.weight)


class UnserveArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    served: str


@implementer(IPlugin, IUMQMethod)
class Unserve:
    """``unserve``."""

    name = "unserve"
    summary = "no more calls of a method come to this client"
    arguments = UnserveArguments

    def call(self, caller: IUMQCaller, arguments: UnserveArguments, attachments: Sequence[Attachment]) -> bool:
        return caller.unserve(from_text(arguments.served))


class CallOptions(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """See docs/protocols/umq.md."""

    deadline: Annotated[float, Meta(gt=0)] | None = None
    properties: Mapping[str, str] = {}


class CallArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    called: str
    arguments: msgspec.Raw = msgspec.Raw(b"[]")
    options: CallOptions = CallOptions()


@implementer(IPlugin, IUMQMethod)
class Call:
    """``call``: what a method that is not the bus's own does by its name alone, with options."""

    name = "call"
    summary = "a call of a method that somebody serves"
    arguments = CallArguments

    def call(self, caller: IUMQCaller, arguments: CallArguments, attachments: Sequence[Attachment]) -> Any:
        options = arguments.options
        return caller.ask(
            from_text(arguments.called), bytes(arguments.arguments), attachments, options.deadline, options.properties
        )


class ListArguments(Arguments, frozen=True):
    """See docs/protocols/umq.md."""

    after: str = ""


@implementer(IPlugin, IUMQMethod)
class List:
    """``list``: the methods that clients serve and this one may call; the bus's own are in its documentation."""

    name = "list"
    summary = "the methods that can be called"
    arguments = ListArguments

    def call(self, caller: IUMQCaller, arguments: ListArguments, attachments: Sequence[Attachment]) -> Any:
        after = arguments.after.encode("utf-8", "replace")
        found: list[Any] = []
        while len(found) < _MOST_LISTED:
            page = caller.router.methods(after, _MOST_LISTED)
            found += (
                {"method": to_text(status.name), "servers": status.servers}
                for status in page
                if caller.router.authorize(caller.bus.principal, Action.CALL, status.name)
            )
            if len(page) < _MOST_LISTED:
                break
            after = page[-1].name
        return found[:_MOST_LISTED]


serve = Serve()
unserve = Unserve()
call = Call()
list_methods = List()
