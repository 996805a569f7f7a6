"""Does the report say what the runs say?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench import load_mtl
from tests.bench.load import Run
from tests.bench.report import Section, put_section
from tests.bench.workloads import CONTESTS

TOPICS, QUEUES, CALLS = (
    contest for name in ("topics", "queues", "calls") for contest in CONTESTS if contest.name == name
)


def runs(key: str, workload: str, **figures: list[float]) -> list[Run]:
    """One run for each broker and round, with one figure each."""
    return [
        Run(turn, broker, workload, {key: figure})
        for broker, of_rounds in figures.items()
        for turn, figure in enumerate(of_rounds, 1)
    ]


def row(report: Section) -> list[str]:
    """The cells of the only row."""
    _, _, only = report.table().splitlines()
    return [cell.strip() for cell in only.strip("|").split("|")]


def test_a_ratio_is_taken_within_a_round() -> None:
    """The machine was twice as fast in the second round; the ratio is what it was."""
    report = Section(TOPICS, runs("msgs_s", "p2p-16", fmqbus=[300, 600], NATS=[100, 200], Mosquitto=[20, 40]))
    _, ours, nats, mosquitto, to_nats, to_mosquitto, goals = row(report)
    assert (ours, nats, mosquitto) == ("450/s (300 to 600)", "150/s (100 to 200)", "30/s (20 to 40)")
    assert (to_nats, to_mosquitto) == ("3 (3 to 3)", "15 (15 to 15)")
    assert goals == "2 × NATS: reached, 10 × Mosquitto: reached"


def test_a_median_below_its_goal_is_called_missed() -> None:
    """One good round among three does not reach a goal."""
    report = Section(TOPICS, runs("msgs_s", "fanin", fmqbus=[90, 300, 80], NATS=[100, 100, 100]))
    assert row(report)[-1] == "1 × NATS: **missed**"


def test_memory_is_judged_by_itself_and_at_most() -> None:
    """A goal without a peer bounds the figure, whatever the peers need."""
    assert row(Section(TOPICS, runs("bytes_each", "idle", fmqbus=[8192])))[-1] == "at most 8,192 B: reached"
    assert (
        row(Section(TOPICS, runs("bytes_each", "idle", fmqbus=[8193], NATS=[9e9])))[-1] == "at most 8,192 B: **missed**"
    )


def test_a_lost_message_fails_the_measurement() -> None:
    """However fast it was."""
    sound: dict[str, Any] = {"msgs_s": 1e9, "lost": 0, "disorder": 0, "misrouted": 0, "bad": 0}
    report = Section(TOPICS, [Run(1, "fmqbus", "mixed", sound), Run(2, "fmqbus", "mixed", sound | {"lost": 1})])
    assert report.failures() == ["round 2, fmqbus, mixed: {'lost': 1}"]


def test_who_asks_at_a_pace_is_no_bound() -> None:
    """The load generator polls then. Where it sends as fast as it can, being busy means that it could no more."""
    busy = {"msgs_s": 500.0, "rtt_p50": 400.0, "rtt_p99": 800.0, "bytes_each": 9000.0, "lg_cpu": 1.0}
    paced = Section(CALLS, [Run(1, "fmqbus", name, busy) for name in ("call-rtt", "idle-websocket")])
    assert "*" not in paced.table()
    assert "500/s *" in Section(CALLS, [Run(1, "fmqbus", "call", busy)]).table()


def test_each_row_is_beside_its_own_peers() -> None:
    """What a peer was not asked stays open."""
    report = Section(QUEUES, runs("msgs_s", "fanout-micromsg2", fmqbus=[300], FMQP=[600]))
    _, ours, rabbitmq, fmqp, to_rabbitmq, to_fmqp, goals = row(report)
    assert (ours, rabbitmq, fmqp, to_rabbitmq, to_fmqp) == ("300/s", "–", "600/s", "–", "0.5")
    assert goals == "0.3 × FMQP: reached"


def test_a_section_is_written_anew_and_the_others_stay() -> None:
    """In their places."""
    section = Section(QUEUES, runs("msgs_s", "fanout-micromsg2", fmqbus=[1], FMQP=[1]))
    page = put_section(f"# Old\n\n## A\nkept\n\n## {QUEUES.title}\nold\n\n## B\nkept too\n", section, "a command")
    assert page.startswith("# Benchmarks\n")
    parts = page.split("\n## ")
    assert parts[1] == "A\nkept\n"
    assert parts[2].startswith(f"{QUEUES.title}\n\nMeasured on ")
    assert "`a command`" in parts[2]
    assert "old" not in parts[2]
    assert parts[3] == "B\nkept too\n"


@pytest.mark.parametrize(
    ("cores", "processes", "is_bound"),
    [({0}, (0.82, 0.18), True), ({0}, (0.35, 0.5), False), ({0, 1}, (0.82, 0.18), False), ({0, 1}, (0.95, 0.1), True)],
)
def test_processes_that_share_a_core_are_a_bound_together(
    monkeypatch: pytest.MonkeyPatch, cores: set[int], processes: tuple[float, ...], is_bound: bool
) -> None:
    """Else none of them could ever be seen to be one."""
    monkeypatch.setattr(load_mtl.os, "sched_getaffinity", lambda pid: cores)
    assert Run(1, "fmqbus", "mtl-topic-20", {"lg_cpu": load_mtl.bound(*processes)}).is_load_bound is is_bound
