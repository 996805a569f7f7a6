"""Who has failed to log in so often that he has to wait? Times are the caller's.

Failures are counted by the name that was claimed, and by the host that they came from. Some are free; from then on each
begins a pause, twice as long as the last, within which nothing is tried: whatever is said there is not even looked at.
One failure after the other is forgotten with time.

Whoever fails for somebody else's name must not keep him out. So a name's pause does not hold for hosts from where that
name was proved before. Clients on this machine have no host here, as they have none where connections are counted.
"""

from __future__ import annotations

from collections import OrderedDict

import attrs

FREE_FAILURES = 5
#: The first pause; the last, after some 12 failures.
SHORTEST_SECONDS, LONGEST_SECONDS = 1.0, 60.0
#: In which one failure is forgotten.
FORGIVING_SECONDS = 60.0
#: Failures that are remembered at most, so that a long siege does not keep its victim waiting for days after it.
_MOST_FAILURES = 20.0

_Key = tuple[str, ...]


@attrs.define
class _Record:
    failures: float = 0.0
    changed: float = 0.0
    paused_until: float = 0.0

    def add(self, now: float) -> float:
        """One more failure; returns the seconds of the pause that it begins."""
        forgiven = (now - self.changed) / FORGIVING_SECONDS
        self.failures = min(_MOST_FAILURES, max(0.0, self.failures - forgiven) + 1.0)
        self.changed = now
        if self.failures <= FREE_FAILURES:
            return 0.0
        pause: float = min(LONGEST_SECONDS, SHORTEST_SECONDS * 2.0 ** (self.failures - FREE_FAILURES - 1.0))
        self.paused_until = now + pause
        return pause


class Attempts:
    """The failures that are remembered: of so many names and hosts, then the oldest are forgotten."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._records: OrderedDict[_Key, _Record] = OrderedDict()
        self._proved: OrderedDict[_Key, None] = OrderedDict()

    def __len__(self) -> int:
        """How many names and hosts are remembered, for whatever reason."""
        return len(self._records) + len(self._proved)

    def pause(self, name: str | None, host: str, now: float) -> float:
        """Seconds for which nobody may try this name from this host; 0 if he may. A name of None is not known yet."""
        keys = [] if name is None or ("proved", name, host) in self._proved else [("name", name)]
        if host:
            keys.append(("host", host))
        return max((self._records[key].paused_until - now for key in keys if key in self._records), default=0.0)

    def failed(self, name: str | None, host: str, now: float) -> float:
        """A login has failed. Returns for how many seconds none is tried now, 0 if one may be at once."""
        pause = 0.0
        for key in (("name", name), ("host", host)):
            if key[1]:
                pause = max(pause, self._record(key).add(now))  # type: ignore[arg-type]
        return pause

    def succeeded(self, name: str, host: str) -> None:
        """A login has succeeded. Failures stay: otherwise a user of his own would free the guesser of any."""
        if host:
            self._proved[("proved", name, host)] = None
            self._proved.move_to_end(("proved", name, host))
            if len(self._proved) > self._most:
                self._proved.popitem(last=False)

    def _record(self, key: _Key) -> _Record:
        record = self._records.setdefault(key, _Record())
        self._records.move_to_end(key)
        if len(self._records) > self._most:
            self._records.popitem(last=False)
        return record
