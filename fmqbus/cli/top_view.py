"""How is a bus shown on a terminal of any size, and in a pipe?

What matters most comes first: what is not well, then what is lost, who is slow, what waits, and what goes by. Each of
these has as many lines as there are for it; on a small terminal all have few, and the last ones none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from fmqbus.cli.overview import Overview
from fmqbus.cli.text import printable
from fmqbus.cli.traffic import Sample

#: A heading and one row.
_LEAST_LINES = 2


@attrs.frozen
class Shown:
    """All that is known at one moment."""

    sample: Sample
    #: None where the bus does not tell it; then `complaint` says why.
    overview: Overview | None = None
    complaint: str = ""


@attrs.frozen
class Section:
    """A table. The first columns are words, the others are numbers."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1
    #: Of rows that call for attention.
    alarming: frozenset[int] = frozenset()


def screen(shown: Shown, console: Console) -> RenderableType:
    """What fits on the terminal. The head has half of it at most."""
    head = [part for line, style in _head(shown) for part in Text(line, style=style).wrap(console, console.width)]
    del head[max(1, console.height // 2) :]
    sections = _sections(shown)
    lines = rows_for(sections, console.height - len(head))
    tables = [_table(section, count) for section, count in zip(sections, lines, strict=True) if count]
    return Group(*head, *tables)


def plain_lines(shown: Shown) -> str:
    """The same in lines that programs can read, whatever the width: words, then numbers, parted by tabs."""
    lines = [line for line, _ in _head(shown)]
    for section in _sections(shown):
        if section.rows:
            lines += ["\t".join(row) for row in (section.headings, *section.rows)]
    return "\n".join(lines)


def rows_for(sections: Sequence[Section], lines: int) -> Sequence[int]:
    """How many rows each section has on so many lines."""
    counts = [0] * len(sections)
    for number, section in enumerate(sections):
        if section.rows and lines >= _LEAST_LINES:
            counts[number] = 1
            lines -= _LEAST_LINES
    while lines > 0:
        growing = [number for number, count in enumerate(counts) if 0 < count < len(sections[number].rows)]
        if not growing:
            break
        for number in growing[:lines]:
            counts[number] += 1
        lines -= len(growing[:lines])
    return counts


def _head(shown: Shown) -> Iterator[tuple[str, str]]:
    overview = shown.overview
    numbers = [f"{_clean(name)} {value:,}" for name, value in shown.sample.bus.items()]
    if overview is not None:
        numbers = [f"fmqbus {_clean(overview.version)}", *numbers]
        for check, reason in overview.complaints.items():
            yield f"{_clean(check)}: {_clean(reason)}", "bold red"
    if shown.complaint:
        yield _clean(shown.complaint), "yellow"
    yield "  ".join(numbers), "bold"


def _sections(shown: Shown) -> Sequence[Section]:
    overview = shown.overview
    topics = Section(
        ("topic", "messages/s", "octets/s", "messages", "octets"),
        [
            (
                _clean(rate.topic),
                f"{rate.messages_per_second:,.1f}",
                f"{rate.octets_per_second:,.0f}",
                f"{rate.messages:,}",
                f"{rate.octets:,}",
            )
            for rate in shown.sample.topics
        ],
    )
    return [topics] if overview is None else [*_of_bus(overview), topics]


def _of_bus(overview: Overview) -> Iterator[Section]:
    yield Section(
        ("protocol", "sessions", "in/s", "out/s", "octets in/s", "octets out/s"),
        [
            (
                _clean(line.protocol),
                f"{line.sessions:,}",
                f"{line.messages_in_per_second:,.1f}",
                f"{line.messages_out_per_second:,.1f}",
                f"{line.octets_in_per_second:,.0f}",
                f"{line.octets_out_per_second:,.0f}",
            )
            for line in overview.protocols
        ],
    )
    yield Section(
        ("lost or refused", "reason", "by", "messages/s", "messages"),
        [
            (line.what, _clean(line.reason), _clean(line.protocol), f"{line.per_second:,.1f}", f"{line.messages:,}")
            for line in overview.drops
        ],
        words=3,
        alarming=frozenset(number for number, line in enumerate(overview.drops) if line.per_second),
    )
    yield Section(
        ("peer", "by", "", "in/s", "out/s", "kept octets", "lost", "subscriptions"),
        [
            (
                _clean(line.peer),
                _clean(line.protocol),
                "slow" if line.is_slow else "",
                f"{line.messages_in_per_second:,.1f}",
                f"{line.messages_out_per_second:,.1f}",
                f"{line.kept_octets:,}",
                f"{line.lost:,}",
                f"{line.subscriptions:,}",
            )
            for line in overview.peers
        ],
        words=3,
        alarming=frozenset(number for number, line in enumerate(overview.peers) if line.is_slow),
    )
    yield Section(
        ("queue", "ready", "unsettled", "delayed", "consumers", "in/s", "done/s"),
        [
            (
                _clean(line.name),
                f"{line.ready:,}",
                f"{line.unsettled:,}",
                f"{line.delayed:,}",
                f"{line.consumers:,}",
                f"{line.enqueued_per_second:,.1f}",
                f"{line.accepted_per_second:,.1f}",
            )
            for line in overview.queues
        ],
        alarming=frozenset(number for number, line in enumerate(overview.queues) if line.ready and not line.consumers),
    )


def _table(section: Section, rows: int) -> Table:
    table = Table(box=None, pad_edge=False)
    for number, heading in enumerate(section.headings):
        is_word = number < section.words
        table.add_column(heading, justify="left" if is_word else "right", no_wrap=True, overflow="ellipsis")
    for number, row in enumerate(section.rows[:rows]):
        table.add_row(*map(Text, row), style="red" if number in section.alarming else None)
    return table


def _clean(text: str) -> str:
    """What does nothing to a terminal; names are the peers' to choose."""
    return printable(text.encode("utf-8", "surrogatepass"))
