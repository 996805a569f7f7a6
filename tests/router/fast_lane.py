"""Publishing as a protocol with a fast lane does: runs found by looking topics up in `ISession.routes`."""

from __future__ import annotations

from fmqbus import names
from fmqbus.errors import BusError
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.model import Message, Publication
from fmqbus.protocols.fmqp.codec import Decoder, encode
from fmqbus.testing.bus import MemoryClient


def publish_read(client: MemoryClient, *messages: tuple[bytes, bytes]) -> None:
    """Publish all messages as if one read had brought them in FMQP; what is refused is left out."""
    session = client.session
    octets = b"".join(encode(0, topic, payload) for topic, payload in messages)
    for event in Decoder(DEFAULT_LIMITS.body_octets).feed(octets, session.routes):
        if isinstance(event, Publication):
            session.dispatch(event)
            continue
        try:
            session.publish(Message(names.parse(event.topic), event.body))
        except BusError as error:
            session.count_refused(error.reason)
    session.flush()
