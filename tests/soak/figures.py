"""What does a broker tell of itself? Its own figures, as operators read them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import attrs
from prometheus_client.parser import text_string_to_metric_families

from tests.live.broker import PATIENCE_SECONDS, Broker

#: eMQP has one for the calls of jobs, from when a worker is there.
_LATER_SESSIONS = 1

LISTEN = "http:tcp:0:interface=127.0.0.1"


@attrs.frozen
class Remains:
    """What clients leave behind if somebody forgets it."""

    sessions: int
    subscriptions: int
    outbox_octets: int
    unsettled: int
    #: By the kernel's count.
    sockets: int

    def beyond(self, before: Remains) -> dict[str, int]:
        """By how much which of these has become more."""
        more = {name: now - attrs.asdict(before)[name] for name, now in attrs.asdict(self).items()}
        more["sessions"] -= _LATER_SESSIONS
        return {name: excess for name, excess in more.items() if excess > 0}


class Figures:
    """All figures at one moment."""

    def __init__(self, broker: Broker) -> None:
        """Ask for them."""
        self._sockets = _sockets_of(broker.pid)
        with urlopen(f"http://127.0.0.1:{broker.port_of('http')}/metrics", timeout=PATIENCE_SECONDS) as page:
            families = list(text_string_to_metric_families(page.read().decode()))
        self._samples = [sample for family in families for sample in family.samples]

    def sum(self, name: str) -> float:
        """Over all labels."""
        return sum(sample.value for sample in self._samples if sample.name == f"fmqbus_{name}")

    def by(self, label: str, name: str) -> dict[str, float]:
        """By the values of one label, without zeros."""
        found: dict[str, float] = {}
        for sample in self._samples:
            if sample.name == f"fmqbus_{name}" and sample.value:
                found[sample.labels[label]] = found.get(sample.labels[label], 0.0) + sample.value
        return found

    @property
    def remains(self) -> Remains:
        """See there."""
        return Remains(
            sessions=int(self.sum("sessions")),
            subscriptions=int(self.sum("subscriptions")),
            outbox_octets=int(self.sum("outbox_bytes")),
            unsettled=int(self.sum("queue_unsettled_messages")),
            sockets=self._sockets,
        )

    @property
    def dropped(self) -> int:
        """Messages for which slow clients had no room."""
        return int(self.sum("messages_dropped_total"))

    @property
    def refused(self) -> int:
        """What clients said that was discarded."""
        return int(self.sum("refusals_total"))

    @property
    def worst_lag_ms(self) -> float:
        """How late the reactor was at worst in the last ten seconds, in milliseconds."""
        return self.sum("reactor_lag_worst_seconds") * 1000


def _sockets_of(pid: int) -> int:
    links = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            links.append(str(descriptor.readlink()))
    return sum(link.startswith("socket:") for link in links)
