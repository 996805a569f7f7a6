"""What a bus as a whole tells operators, beside its router: its listeners, its logins, its journal, its version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import fmqbus
from fmqbus.auth.sasl.logins import Logins
from fmqbus.observers.journal.journal import Journal
from fmqbus.transports.listen_string import ListenString
from fmqbus.transports.listener import Listener
from fmqbus.vitals import Kind, Metric, Reading, Readings, Vitals

VERSION = Metric("fmqbus_build_info", Kind.GAUGE, "1; the version is a label", ("version",))

_OF_LISTENER = ("listener",)
CONNECTIONS = Metric("fmqbus_connections", Kind.GAUGE, "Open connections", _OF_LISTENER)
TURNED_AWAY = Metric(
    "fmqbus_connections_turned_away_total", Kind.COUNTER, "Connections turned away at a limit", _OF_LISTENER
)
IS_LISTENING = Metric("fmqbus_listening", Kind.GAUGE, "1 if the listener accepts connections", _OF_LISTENER)
IS_FULL = Metric("fmqbus_listener_full", Kind.GAUGE, "1 if it has as many as it may, and others wait", _OF_LISTENER)
HALF_RECEIVED = Metric("fmqbus_half_received_bytes", Kind.GAUGE, "What has arrived of unfinished units", _OF_LISTENER)

LOGINS = Metric(
    "fmqbus_logins_total", Kind.COUNTER, "Logins that have ended: admitted, or why not", ("mechanism", "outcome")
)
LOGINS_WAITING = Metric("fmqbus_logins_waiting", Kind.GAUGE, "Logins that wait for a thread which hashes passwords")

JOURNAL_LOST = Metric("fmqbus_journal_lost_rows_total", Kind.COUNTER, "Rows that the journal had to leave out")
JOURNAL_BEHIND = Metric("fmqbus_journal_behind", Kind.GAUGE, "1 while the disk is slower than what the journal keeps")
JOURNAL_FAILED = Metric("fmqbus_journal_failed", Kind.GAUGE, "1 while the journal cannot be written")


def add_version(vitals: Vitals) -> None:
    """Tell which version it is."""
    vitals.add_figures([VERSION], lambda: iter([Reading(VERSION, 1, (fmqbus.__version__,))]))


def add_listeners(vitals: Vitals, places: Sequence[ListenString], listeners: Sequence[Listener]) -> None:
    """Tell of these listeners, which are at these places. The bus is ready when all of them accept."""
    labels = _labels(places)

    def read() -> Readings:
        for label, listener in zip(labels, listeners, strict=True):
            yield Reading(CONNECTIONS, listener.connections, (label,))
            yield Reading(TURNED_AWAY, listener.turned_away, (label,))
            yield Reading(IS_LISTENING, listener.port is not None, (label,))
            yield Reading(IS_FULL, listener.is_full, (label,))
            yield Reading(HALF_RECEIVED, listener.held_octets, (label,))

    def check() -> str:
        return "; ".join(
            f"{label} does not listen" for label, one in zip(labels, listeners, strict=True) if one.port is None
        )

    vitals.add_figures([CONNECTIONS, TURNED_AWAY, IS_LISTENING, IS_FULL, HALF_RECEIVED], read)
    vitals.ready.add("listeners", check)


def add_logins(vitals: Vitals, logins: Logins | None) -> None:
    """Tell of logins, if clients can log in at all."""
    vitals.add_figures([LOGINS, LOGINS_WAITING], partial(_read_logins, logins))


def add_journal(vitals: Vitals, journal: Journal | None, is_open: Callable[[], bool]) -> None:
    """Tell of the journal, if there is one. The bus is ready while all goes into it that should."""

    def read() -> Readings:
        if journal is not None:
            writer = journal.writer
            yield Reading(JOURNAL_LOST, writer.lost)
            yield Reading(JOURNAL_BEHIND, writer.is_behind)
            yield Reading(JOURNAL_FAILED, writer.failure is not None)

    def check() -> str | None:
        if journal is None:
            return None
        if journal.writer.failure is not None:
            return journal.writer.failure
        if not is_open():
            return "it is not yet open"
        return "the disk is too slow, and rows are left out" if journal.writer.is_losing else None

    vitals.add_figures([JOURNAL_LOST, JOURNAL_BEHIND, JOURNAL_FAILED], read)
    vitals.ready.add("journal", check)


def _read_logins(logins: Logins | None) -> Readings:
    if logins is not None:
        for (mechanism, outcome), count in list(logins.ended.items()):
            yield Reading(LOGINS, count, (mechanism, outcome))
        yield Reading(LOGINS_WAITING, logins.labour.waiting)


def _labels(places: Sequence[ListenString]) -> Sequence[str]:
    """A short word for each place: without its options, which may name files, and different from all others."""
    seen: Counter[str] = Counter()
    labels = []
    for place in places:
        label = ":".join((place.protocol, place.prefix, *place.arguments))
        seen[label] += 1
        labels.append(label if seen[label] == 1 else f"{label}#{seen[label]}")
    return labels
