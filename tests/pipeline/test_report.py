"""The report says what the figures are, in a page and a terminal, whatever peers have called things; without Spark."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest
from rich.console import Console

from fmqbus.pipeline.report.figures import Figures, step_for
from fmqbus.pipeline.report.page import octets, page
from fmqbus.pipeline.report.summary import bars, tell

BEGIN = datetime(2026, 11, 27, tzinfo=UTC)

#: What somebody might call a topic.
EVIL = "<script>alert(1)</script>\x1b[31m"


def point(minute: int, protocol: str, **more: Any) -> dict[str, Any]:
    """A row of traffic."""
    row = {"messages": 60, "bytes": 600, "copies": 60, "unwanted": 0, "drops": 0, "rows": 70, "lost": None}
    return {"time": BEGIN + timedelta(minutes=minute), "protocol": protocol, **row, "latency_p95_ms": None, **more}


@pytest.fixture
def figures() -> Figures:
    """A short day."""
    return Figures(
        "/var/lib/journal",
        BEGIN,
        BEGIN + timedelta(minutes=30),
        60,
        traffic=[
            *[point(minute, "fmqp") for minute in range(30)],
            point(3, "umq", messages=600, latency_p95_ms=12.5, drops=4),
        ],
        topics=[{"topic": EVIL, "messages": 5, "bytes": 50, "unwanted": 0, "latency_p95_ms": None}],
        demand=[],
        demand_total={"topics": 1, "publications": 5, "unwanted": 0, "saved": 1234},
        delivery=[
            {"queue": "q", "fate": "stuck", "messages": 3, "redelivered": 0, "most_deliveries": 1, "for_instance": 7,
             "oldest": BEGIN},
        ],
        jobs=[],
        slow=[],
        sessions=[],
        reconnecting=[],
    )  # fmt: skip


def text_of(figures: Figures) -> str:
    """What a terminal gets."""
    written = io.StringIO()
    tell(figures, Console(file=written, width=120))
    return written.getvalue()


def test_the_page_needs_nothing_else(figures: Figures) -> None:
    """No script, and nothing that a browser would fetch."""
    html = page(figures)
    assert html.count("<svg") == 3
    assert "<script" not in html
    # the names of XML's spaces are no addresses that anybody fetches
    assert not re.search(r"""(src|href)=["'](?!#)(?!http://www\.w3\.org/)""", html)
    assert "@import" not in html


def test_figures_are_told(figures: Figures) -> None:
    """In both forms."""
    html, text = page(figures), text_of(figures)
    for told in ("2,400", "1,234", "stuck"):
        assert told in html
        assert told in text
    assert "queue messages to look at" in html


def test_what_peers_have_chosen_does_nothing(figures: Figures) -> None:
    """Neither to a browser nor to a terminal."""
    assert "&lt;script&gt;" in page(figures)
    assert "\x1b[31m" not in text_of(figures)
    assert "\x1b" not in page(figures)


def test_a_time_without_rows_is_told(figures: Figures) -> None:
    """Rather than a page of noughts."""
    empty = attrs.evolve(figures, traffic=[], topics=[], delivery=[])
    assert "Nothing was journaled" in page(empty)
    assert "Nothing was journaled" in text_of(empty)


def test_what_the_journal_lacks_is_told(figures: Figures) -> None:
    """All figures are too low then."""
    lacking = attrs.evolve(figures, traffic=[*figures.traffic, point(4, "bus", lost=77)])
    assert "could not write 77 rows" in page(lacking)
    assert "could not write 77 rows" in text_of(lacking)


def test_the_same_figures_make_the_same_page(figures: Figures) -> None:
    """So that two of them can be compared."""
    assert page(figures) == page(figures)


@pytest.mark.parametrize(
    ("length", "step"),
    [(timedelta(0), 1), (timedelta(minutes=2), 1), (timedelta(hours=1), 60), (timedelta(days=1), 900)],
)
def test_plots_have_points_enough_and_not_too_many(length: timedelta, step: int) -> None:
    """Over minutes, and over days."""
    assert step_for(BEGIN, BEGIN + length) == step


def test_bars_are_as_high_as_values() -> None:
    """Nought is nothing, and all else can be seen."""
    assert bars([0, 1, 50, 100]) == " ▁▄█"
    assert len(bars(list(range(1000)))) <= 60
    assert bars([0, 0]) == "  "


def test_octets_are_for_people() -> None:
    """In the units of disks."""
    assert [octets(count) for count in (0, 999, 1000, 2_500_000)] == ["0 B", "999 B", "1.0 kB", "2.5 MB"]
