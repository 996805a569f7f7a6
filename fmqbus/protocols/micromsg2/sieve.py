"""Which of the messages that are to be delivered pass the client's filters? (MicroMsg2, Filters)

A thousand subscriptions of one client may fit a message, each with many clauses, and a read can bring ten thousand such
messages. So this is done in steps, between which others have their turn.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from fmqbus.model import NOBODY, Publication, Subscription
from fmqbus.protocols.micromsg2.properties import values_of

#: What `IPeer.deliver` is given. The tag of a subscription is its filter, or None.
Delivery = tuple[Publication, tuple[Subscription, ...]]


def is_filtered(batch: Sequence[Delivery]) -> bool:
    """Whether something in it may not pass."""
    return any(None not in [subscription.tag for subscription in matched] for _, matched in batch)


def sift(batch: Sequence[Delivery]) -> Generator[None, None, list[Publication]]:
    """Return the publications with the messages that pass any of their filters; a step is one filter that looks at one
    message."""
    passing = []
    for publication, matched in batch:
        filters = [subscription.tag for subscription in matched]
        if None in filters:
            passing.append(publication)
            continue
        messages = []
        for message in publication.messages:
            yield
            values = values_of(message.properties)
            for wanted in filters:
                if wanted.holds(values):
                    messages.append(message)
                    break
                yield
        if len(messages) == publication.count:
            passing.append(publication)
        elif messages:
            passing.append(Publication(None, b"", len(messages), NOBODY, publication.route, tuple(messages)))
    return passing
