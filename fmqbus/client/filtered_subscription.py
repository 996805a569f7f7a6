"""A subscription with filters, and how it is said. (MicroMsg2, PUB/SUB, Filters)

The server has one subscription for each pattern, with the filters that all who stand behind it agree on, or with none.
So each message is looked at once more here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fmqbus.client.events import from_bus
from fmqbus.client.subscription import Subscription
from fmqbus.model import Publication
from fmqbus.protocols.micromsg2.codec import encode_command
from fmqbus.protocols.micromsg2.fields import to_text
from fmqbus.protocols.micromsg2.filters import Filter
from fmqbus.protocols.micromsg2.wire import TOPIC


class FilteredSubscription(Subscription):
    """A subscription of a MicroMsg2 client."""

    #: As the application wrote them; all must hold.
    filters: Sequence[str] = ()
    #: The same, understood.
    filter = Filter()

    def put(self, publication: Publication, matched: tuple[Any, ...], source: Any) -> None:
        passing = [message for message in publication.messages if self.filter.passes(message.properties)]
        self.extend(from_bus(passing))


def encode_subscription(name: bytes, standing: Sequence[FilteredSubscription]) -> bytes:
    """What the server must be told about a pattern that these stand behind."""
    destination = ("destination", to_text(TOPIC + name))
    if not standing:
        return b"".join(encode_command("unsubscribe", (destination,)))
    wanted = {tuple(subscription.filters) for subscription in standing}
    filters = wanted.pop() if len(wanted) == 1 else ()
    return b"".join(encode_command("subscribe", (destination, *(("filter", each) for each in filters))))
