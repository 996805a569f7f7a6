"""What came of a soak, as a table, and whether it is as it should be."""

from __future__ import annotations

from collections.abc import Sequence

from tests.measured import Cells
from tests.soak.campaign import SCHEDULE_SECONDS, Campaign, Reign
from tests.soak.casts import CASTS

#: What the witness may wait for an answer; in the short form, which others may run beside, longer.
STALL_MS, SMOKE_STALL_MS = 250.0, 1_000.0
#: What memory may grow by after the warm-up, and how large it may become at all.
SLOPE_MIB_PER_HOUR, PEAK_MIB = 12.0, 256.0
#: Of what was to be done at set times, so much is: it is not made up for while there is no broker.
_TICKS_SHARE = 0.8


def rows(campaign: Campaign) -> Sequence[Cells]:
    """What happened, and how often."""
    ledger, troupe = campaign.ledger, campaign.troupe
    total = ledger.total()
    brokers = campaign.reigns
    counts = {
        "members of the troupe, all told: " + _by_cast(campaign): len(ledger.lives),
        "killed, and another in the place": troupe.killed,
        "gone in good order, and another in the place": troupe.gone,
        "stalled for a while": troupe.stalled,
        "brokers ended by SIGTERM": sum(not is_kill for _, _, is_kill in ledger.ends),
        "brokers killed": sum(is_kill for _, _, is_kill in ledger.ends),
        "messages sent to queues": len(ledger.sent),
        "acknowledged": len(ledger.acknowledged),
        "taken": ledger.taken,
        "came again, where they may": ledger.repeats,
        "marked although nobody had written down to have had them": ledger.marked_unseen,
        **{f"dead letters: {reason}": number for reason, number in sorted(ledger.deaths.items())},
        **dict(sorted(total.items())),
        f"scheduled every {SCHEDULE_SECONDS:g} s, and done": ledger.ticks,
        "scheduled, and its worker was lost": ledger.lost_ticks.total(),
        "had no room at slow clients, as brokers tell": sum(reign.told.dropped for reign in brokers),
        "refused, as brokers tell": sum(reign.told.refused for reign in brokers),
        "**promises broken**": len(ledger.faults),
    }
    return [
        *((what, f"{count:,}") for what, count in counts.items()),
        *(row for number, reign in enumerate(brokers, 1) for row in _of(number, reign)),
    ]


def judge(campaign: Campaign, is_smoke: bool) -> Sequence[str]:
    """What is beyond a bound."""
    faults = []
    most = SMOKE_STALL_MS if is_smoke else STALL_MS
    for reign in campaign.reigns:
        slope = reign.health.slope_mib_per_hour
        if slope is not None and reign.health.is_long and slope > SLOPE_MIB_PER_HOUR:
            faults.append(f"memory grows by {slope:.1f} MiB an hour, at most {SLOPE_MIB_PER_HOUR:g} are borne")
        if reign.health.peak_mib > PEAK_MIB:
            faults.append(f"memory was {reign.health.peak_mib:.0f} MiB, at most {PEAK_MIB:g} are borne")
        if reign.latency.worst > most:
            faults.append(f"others waited {reign.latency.worst:.0f} ms, at most {most:g} are borne")
    due = sum(reign.seconds for reign in campaign.reigns) / SCHEDULE_SECONDS
    if campaign.ledger.ticks + campaign.ledger.lost_ticks.total() < due * _TICKS_SHARE:
        faults.append(f"what is scheduled was done {campaign.ledger.ticks} times, and not some {due:.0f}")
    for cast in CASTS:
        if not any(life.counts or life.cast == "emqp-worker" for life in campaign.ledger.lives if life.cast == cast):
            faults.append(f"no {cast} has done anything")
    return faults


def _by_cast(campaign: Campaign) -> str:
    return ", ".join(f"{count} {cast}" for cast, count in campaign.ledger.lives_by_cast.items())


def _of(number: int, reign: Reign) -> Sequence[Cells]:
    latency, health = reign.latency, reign.health
    slope = health.slope_mib_per_hour
    growth = "" if slope is None else f", {slope:+.1f} MiB an hour after the warm-up"
    first = health.samples[0].memory_mib if health.samples else 0.0
    name = f"broker {number}"
    times = f"{latency.p50:.1f} / {latency.p99:.1f} / {latency.worst:.0f} ms"
    ends = f"{reign.start_seconds:.1f} / {reign.end_seconds:.1f} s"
    return [
        (f"{name}, which lived {reign.seconds:.0f} s: its start, and its end", ends),
        (f"{name}: memory at first and at most{growth}", f"{first:.0f} / {health.peak_mib:.0f} MiB"),
        (f"{name}: a question and its answer, median, 99th percentile and longest", times),
        (f"{name}: how late its reactor was at most, as it tells", f"{health.worst_lag_ms:.0f} ms"),
    ]
