"""``pubsub``: the client says what it wants to receive. (MicroMsg2, PUB/SUB)

``subscribe;destination=D,filter=F,filter=F`` and ``unsubscribe;destination=D`` (readings 56, 57 and 59). The
destination may be given by other names, of which ``topic`` and ``queue`` say what it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from twisted.plugin import IPlugin
from zope.interface import implementer

from fmqbus.errors import PeerError
from fmqbus.interfaces import IMicroMsg2Extension
from fmqbus.limits import Limits
from fmqbus.protocols.micromsg2.events import Event, Subscribe, Unsubscribe
from fmqbus.protocols.micromsg2.fields import Pairs, to_octets
from fmqbus.protocols.micromsg2.filters import parse_filter
from fmqbus.protocols.micromsg2.hooks import Hooks
from fmqbus.protocols.micromsg2.numbers import Numbers

#: Names of the destination → what it then begins with.
_DESTINATIONS = {"destination": "", "name": "", "topic": "topic/", "queue": "queue/"}
_FILTER = "filter"


@implementer(IPlugin, IMicroMsg2Extension)
class PubSub:
    """`IMicroMsg2Extension` of subscribing."""

    name = "pubsub"
    #: The specification does not name it (reading 24).
    aliases = ("pub-sub", "pub/sub", "publish-subscribe")
    choice = ""
    summary = "subscribes to topics, with filters, and consumes queues"

    def answer(self, properties: Mapping[str, str], limits: Limits) -> Mapping[str, str]:
        return {}

    def activate(self, properties: Mapping[str, str], numbers: Numbers, limits: Limits) -> Hooks:
        return Hooks(
            commands={"subscribe": lambda arguments: _subscribe(arguments, limits), "unsubscribe": _unsubscribe}
        )


def _subscribe(arguments: Pairs, limits: Limits) -> Iterable[Event]:
    filters = [value for name, value in arguments if name.lower() == _FILTER]
    options = {name.lower(): value for name, value in arguments}
    for name in (*_DESTINATIONS, _FILTER):
        options.pop(name, None)
    return (Subscribe(_destination(arguments), parse_filter(filters, limits), options),)


def _unsubscribe(arguments: Pairs) -> Iterable[Event]:
    return (Unsubscribe(_destination(arguments)),)


def _destination(arguments: Pairs) -> bytes:
    given = [
        value if value.startswith(prefix) else prefix + value
        for name, value in arguments
        if (prefix := _DESTINATIONS.get(name.lower())) is not None
    ]
    if len(given) != 1:
        raise PeerError("exactly one destination is needed", "destination")
    return to_octets(given[0])


PUBSUB = PubSub()
