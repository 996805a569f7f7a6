"""Every bound that keeps a peer from spending what belongs to others, each with the reason for its default.

A limit is checked before the memory or time it guards is spent. All of them can be set in the
configuration file under ``[limits]`` by these names; docs/limits.md is made from this file.
"""

from __future__ import annotations

from typing import Any

import attrs

KIB = 1024
MIB = 1024 * KIB


def _limit(default: float, unit: str, reason: str) -> Any:
    """A limit with its unit and the reason for its default, both kept for the documentation."""
    return attrs.field(default=default, metadata={"unit": unit, "reason": reason})


@attrs.frozen(kw_only=True)
class Limits:
    """The bounds of one bus. Immutable: a reload makes a new one."""

    body_octets: int = _limit(
        16 * MIB, "octets", "the upper end of the range the readings recommend; a larger body is skipped unbuffered"
    )
    control_octets: int = _limit(
        64 * KIB, "octets", "a command, or what an extension says beside the messages; all of it is text or short"
    )
    attachments_per_message: int = _limit(1_000, "attachments", "each is a message of its own, and is waited for")
    incomplete_octets_per_peer: int = _limit(
        64 * MIB, "octets", "as outbox_octets, for messages and attachments that wait for further attachments"
    )
    attachment_seconds: float = _limit(60.0, "seconds", "how long an announced attachment may not come")
    callbacks_per_peer: int = _limit(10_000, "callbacks", "as calls_per_peer; each can be called once")
    attributes_per_peer: int = _limit(
        100, "attributes", "what a client may tell of itself; nobody but us has to read it"
    )
    attribute_octets_per_peer: int = _limit(64 * KIB, "octets", "as attributes_per_peer, for long values")
    assembly_octets: int = _limit(
        256 * MIB, "octets", "all half-received units of a listener together; beyond it the one that grows is cut off"
    )
    batch_messages: int = _limit(
        10_000, "messages", "what a turn does at once for one client; some 0.1 s, in which all others wait"
    )
    batch_producers: int = _limit(
        10_000, "producers", "whose last batch is remembered, some 500 octets each; one who comes later drives one out"
    )
    connections: int = _limit(
        65_536, "connections", "what NATS allows; the listener stops accepting at the limit instead of spinning"
    )
    connections_per_address: int = _limit(
        16_384, "connections", "one host cannot take a whole listener; loopback and UNIX sockets are not counted"
    )
    subscriptions: int = _limit(
        4_000_000, "subscriptions", "of all peers; some 500 octets each, so that 2 GB at most go into them"
    )
    subscriptions_per_peer: int = _limit(
        200_000, "subscriptions", "twice what the adversarial suite subscribes from one client"
    )
    wildcards_per_peer: int = _limit(
        1_000, "subscriptions", "bounds the work of matching one name, which grows with overlapping wildcards"
    )
    watches_per_peer: int = _limit(1_000, "watches", "as wildcards: each subscription of others is matched with them")
    wills_per_peer: int = _limit(1_000, "messages", "a will is memory held for as long as the client stays")
    wills_octets_per_peer: int = _limit(16 * MIB, "octets", "as wills_per_peer, for large bodies")
    match_visits: int = _limit(
        10_000, "names", "what one wildcard publication may look at, some 50 ms; beyond it, it is refused"
    )
    replay_visits: int = _limit(
        50_000, "names", "what a wildcard may bring of retained values and interest; it comes piece by piece"
    )
    retained_topics: int = _limit(100_000, "messages", "one kept message a topic; topics are the peers' to invent")
    retained_octets: int = _limit(256 * MIB, "octets", "as retained_topics, for large bodies")
    queues: int = _limit(
        100_000, "queues", "as retained_topics; those that are empty and have no consumer do not count"
    )
    queued_messages: int = _limit(
        4_000_000, "messages", "of all queues together; some 350 octets each besides what they carry"
    )
    queued_octets: int = _limit(2048 * MIB, "octets", "of all queues together, whatever each may hold by itself")
    schedules: int = _limit(
        100_000, "schedules", "as queues; some 1 KB each, and a fraction of a millisecond whenever it is due"
    )
    scheduled_octets: int = _limit(256 * MIB, "octets", "as retained_octets, for what schedules are to send")
    consumers_per_peer: int = _limit(10_000, "consumers", "as wildcards_per_peer: each is looked at when a link clears")
    consumer_window: int = _limit(
        65_536, "messages", "what MicroMsg2's numbers can tell apart; a consumer that asks for more has this"
    )
    consumer_weight: int = _limit(
        100, "shares", "of a consumer or a server; beyond it the others of its queue or method would hardly have a turn"
    )
    methods: int = _limit(100_000, "methods", "as queues; those that nobody serves do not count")
    services_per_peer: int = _limit(10_000, "services", "as consumers_per_peer")
    calls_per_peer: int = _limit(
        10_000, "calls", "asked and not yet ended, some 400 octets each besides what they carry"
    )
    call_octets_per_peer: int = _limit(64 * MIB, "octets", "as outbox_octets, for what the calls of one client carry")
    calls_in_hand_per_peer: int = _limit(
        10_000, "calls", "as calls_per_peer, for one that serves; what it never answers counts for a while"
    )
    call_seconds: float = _limit(3600.0, "seconds", "how long a call may wait for its answer, whatever its caller says")
    leases: int = _limit(
        10_000,
        "leases",
        "of all clients, not yet used; MTL gives one out before its flow of data exists",
    )
    leases_per_peer: int = _limit(100, "leases", "as leases; one flow of data takes two at most")
    lease_octets: int = _limit(64 * MIB, "octets", "as leases, for the names of what they are for")
    lease_seconds: float = _limit(60.0, "seconds", "how long a lease waits to be used; connecting takes less")
    resources_per_lease: int = _limit(1_000, "resources", "of MTL; each is kept as long as the flow of data lasts")
    table_fields: int = _limit(
        1_000, "fields", "of one field table, where a filter looks into it; handed on, it is not looked into"
    )
    table_depth: int = _limit(16, "tables", "within one another, as table_fields")
    message_parts: int = _limit(
        64, "parts", "of one message over ZeroMQ; eMQP's longest has 9, and the rest of a longer one is thrown away"
    )
    socket_messages: int = _limit(
        1_000,
        "messages",
        "what ZeroMQ itself holds for one peer, each way; it counts no octets, so the fewer the better",
    )
    window: int = _limit(
        32_767,
        "messages",
        "sent and not yet acknowledged; half the numbers of MicroMsg2, so that no acknowledgement is mistaken",
    )
    filter_clauses: int = _limit(32, "clauses", "of one subscription; each is applied to each message")
    filter_octets: int = _limit(4 * KIB, "octets", "as filter_clauses, for what they look for")
    outbox_octets: int = _limit(64 * MIB, "octets", "NATS's bound for what waits for one slow client")
    cached_routes: int = _limit(262_144, "routes", "about 100 MB; beyond it the cache starts anew, nothing is lost")
    cached_decisions: int = _limit(65_536, "answers", "of authorizers, some 25 MB; beyond it they are asked anew")
    detached_sessions: int = _limit(10_000, "sessions", "each may hold an outbox for a client that never returns")
    handshake_seconds: float = _limit(
        10.0, "seconds", "to agree on how to speak, where a protocol does; until then a client costs and is of no use"
    )
    login_octets: int = _limit(4 * KIB, "octets", "one answer of a client that logs in; PLAIN's longest has some 1,500")
    logins_waiting: int = _limit(
        1_000, "logins", "those that wait for a thread which hashes their passwords; some 6 a second leave the line"
    )
    failed_logins: int = _limit(
        10_000, "names", "and as many hosts, whose failed logins are remembered; some 300 octets each"
    )
    idle_seconds: float = _limit(0.0, "seconds", "0 is off: FMQP has no keep-alive, a silent subscriber is normal")
    drain_seconds: float = _limit(10.0, "seconds", "how long a soft stop waits for slow subscribers, per step")
    lag_seconds: float = _limit(
        5.0, "seconds", "how late the reactor may be until /healthz tells it; a supervisor may then end the process"
    )
    linger_seconds: float = _limit(1.0, "seconds", "how long a closed connection is read empty, so no reset eats data")


DEFAULT_LIMITS = Limits()
