"""How many clients of MTL are there? For operators' programs: no names, for those are the clients' to invent."""

from __future__ import annotations

from fmqbus.vitals import Kind, Metric, Reading, Readings

SESSIONS = Metric("fmqbus_mtl_sessions", Kind.GAUGE, "Control sessions of MTL that are open")
FLOWS = Metric("fmqbus_mtl_data_flows", Kind.GAUGE, "Data flows of MTL that are there")
LEASES = Metric("fmqbus_mtl_leases_unused", Kind.GAUGE, "Leases of MTL that nobody has used yet")
METRICS = (SESSIONS, FLOWS, LEASES)


def readings(sessions: int, flows: int, leases: int) -> Readings:
    """What a scraper is told."""
    yield Reading(SESSIONS, sessions)
    yield Reading(FLOWS, flows)
    yield Reading(LEASES, leases)
