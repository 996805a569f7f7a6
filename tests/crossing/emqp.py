"""How eMQP says it: publishers and subscribers, clients and workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from fmqbus.model import NO_PROPERTIES
from tests.crossing.speakers import Heard, Speaker
from tests.live.broker import Broker
from tests.live.emqp_peers import LISTEN, PUBIN, Client, Place, Worker

_numbers = count()
_STAR = b"/*"
#: What was published is heard by then, if its subscriber is known.
_PAUSE_MILLISECONDS = 100


class EMQP(Speaker):
    """Sockets for all that eMQP has."""

    protocol = "emqp"
    listens = LISTEN
    has_properties = False
    has_filters = False
    has_copies = False
    has_marks = False
    has_empty = True
    has_wills = False
    has_levels = False
    longest_topic = 255

    def __init__(self, place: Place) -> None:
        self._place = place
        self._publisher = place.peer(PUBIN)
        self._subscriber = place.subscriber()
        #: Below it only this one publishes and listens.
        self._own = b"emqp/%d" % next(_numbers)
        self._heard: list[Heard] = []
        self.subscribe(self._own)

    @classmethod
    def join(cls, broker: Broker) -> EMQP:
        return cls(Place(broker))

    def publish(
        self, topic: bytes, payload: bytes, *, retain: bool = False, properties: Mapping[str, str] = NO_PROPERTIES
    ) -> None:
        assert not properties, "there are none"
        self._publisher.say("PUBLISH", topic, *([b"retain"] if retain else []), payload)
        self._publisher.heard()

    def leave_will(self, topic: bytes, payload: bytes) -> None:
        raise AssertionError("there are none")

    def subscribe(self, pattern: bytes, *filters: str) -> None:
        """A star at the end is all that follows; there are no others."""
        assert not filters, "there are none"
        self._subscriber.subscribe(self._prefix(pattern))
        self._listen()

    def unsubscribe(self, pattern: bytes) -> None:
        self._subscriber.unsubscribe(self._prefix(pattern))
        self._listen()

    def heard(self) -> Sequence[Heard]:
        self._listen()
        heard, self._heard = self._heard, []
        return heard

    def worker(self, queue: bytes) -> Worker:
        """One that serves this queue, and can take a job."""
        return self._place.worker().inform([(10, queue.decode())]).ready()

    def bare_worker(self) -> Worker:
        """One that has not INFORMed."""
        return self._place.worker()

    def client(self) -> Client:
        """One that hands in jobs."""
        return self._place.client()

    def close(self) -> None:
        self._place.close()

    def _prefix(self, pattern: bytes) -> bytes:
        assert b"*" not in pattern.removesuffix(_STAR).split(b"/"), "a wildcard is the beginning of a topic"
        return pattern[:-1] if pattern.endswith(_STAR) else pattern

    def _listen(self) -> None:
        """Returns when the bus has acted on what was said: nobody tells when a subscription has got through, so it is
        tried out, by a word that comes behind it."""
        word = b"%d" % next(_numbers)
        while True:
            self._publisher.say("PUBLISH", self._own, word)
            while self._subscriber.poll(_PAUSE_MILLISECONDS):
                topic, payload = self._subscriber.recv_multipart()
                if topic != self._own:
                    self._heard.append(Heard(topic, payload))
                elif payload == word:
                    return
