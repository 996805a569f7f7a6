"""MicroMsg2 as a plug: what ``micromsg2:`` in a listen string stands for, and what can be set for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus import names
from fmqbus.errors import ConfigError, InvalidName, PeerError
from fmqbus.interfaces import IBusProtocol, IListener, IMicroMsg2Extension, IRouter, IServiceTopic
from fmqbus.protocols.micromsg2.handshake import Entries, parse_entries
from fmqbus.protocols.micromsg2.negotiation import Offer
from fmqbus.protocols.micromsg2.protocol import MicroMsg2Factory
from fmqbus.settings import read_table

#: Real clients read a list of ours into 256 octets (reading 6).
_List = Annotated[str, Meta(max_length=255)]


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``[protocols.micromsg2]``."""

    #: What the bus calls itself in handshakes.
    identity: Annotated[str, Meta(max_length=63)] = "fmqbus"
    #: Extensions that clients must have, and such as are suggested to them; written as in a handshake.
    required: _List = ""
    suggested: _List = ""
    #: The queue of messages without a destination.
    default_queue: str = "default"


@implementer(IPlugin, IBusProtocol)
class MicroMsg2Plug:
    """`IBusProtocol` of MicroMsg2."""

    name = "micromsg2"
    default_listen = ("tcp:8334:interface=127.0.0.1",)
    summary = "MicroMsg2: topics with filters, queues, acknowledgements, extensions"

    def make_factory(self, router: IRouter, listener: IListener, options: Mapping[str, Any]) -> MicroMsg2Factory:
        read = parse_options(options)
        extensions: Sequence[IMicroMsg2Extension] = listener.parts(IMicroMsg2Extension)

        def entries(key: str) -> Entries:
            """A list, if all in it is installed and can be meant."""
            try:
                return Offer(identity=b"", extensions=extensions, required=parse_entries(getattr(read, key))).required
            except (PeerError, ConfigError) as error:
                raise ConfigError(f"protocols.micromsg2.{key}: {error}") from None

        offer = Offer(
            identity=read.identity.encode(),
            extensions=extensions,
            required=entries("required"),
            suggested=entries("suggested"),
            limits=listener.limits,
        )
        return MicroMsg2Factory(router, listener, offer, _queue(read.default_queue))

    def service_topics(self, options: Mapping[str, Any]) -> Sequence[IServiceTopic]:
        return ()


def parse_options(table: Mapping[str, Any]) -> Options:
    """Raises `ConfigError` naming the key."""
    return read_table(Options, table, "protocols.micromsg2")


def _queue(text: str) -> bytes:
    try:
        name = names.from_text(text)
    except InvalidName as error:
        raise ConfigError(f"protocols.micromsg2.default_queue: {error}") from None
    if names.is_wild(name) or names.is_service(name):
        raise ConfigError("protocols.micromsg2.default_queue: no wildcard and nothing below $ is a queue")
    return name


MICROMSG2 = MicroMsg2Plug()
