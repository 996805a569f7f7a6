"""The pages on Spark are true: their programs run, and their tables have all that there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from fmqbus.pipeline.columns import COLUMNS
from fmqbus.pipeline.jobs.table import JOBS
from fmqbus.pipeline.main import OTHERS
from fmqbus.pipeline.options import NAMES
from fmqbus.pipeline.sink import OPTIONS
from tests.protocols.pages import ROOT

_PAGES = ROOT / "docs" / "pipeline"


def text_of(page: str) -> str:
    """A page as it stands."""
    return (_PAGES / page).read_text(encoding="utf-8")


def programs_in(page: str) -> list[str]:
    """The Python of a page, block by block."""
    return re.findall(r"^```python\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL)


def first_cells(text: str) -> set[str]:
    """What stands in backquotes in the first column of tables."""
    cells = re.findall(r"^\| ([^|]*) \|", text, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_option_and_column_is_on_the_page() -> None:
    """In its table; columns of metadata in their sentence."""
    reading, writing = text_of("spark.md").split("## Writing onto the bus")
    assert set(NAMES) <= first_cells(reading)
    assert set(OPTIONS) <= first_cells(writing)
    assert all(f"`{name}`" in reading for name in COLUMNS)
    for column in ("value", "topic", "queue", "key", "properties", "headers", "retain", "priority", "delay"):
        assert column in first_cells(writing)


def test_every_command_is_on_the_page() -> None:
    """With what it tells."""
    assert {*JOBS, *OTHERS} <= first_cells(text_of("jobs.md"))


@pytest.mark.spark
@pytest.mark.parametrize("page", ["spark.md", "jobs.md"])
def test_the_programs_of_the_pages_run(spark: Any, sample: Path, tmp_path: Path, page: str) -> None:
    """From top to bottom, in one session, against a journal."""
    names: dict[str, Any] = {"spark": spark}
    for program in programs_in(page):
        # this session's processes are in another folder than the reader of the page would be
        placed = program.replace('"journal"', repr(str(sample)))
        placed = re.sub(r'"(sizes[\w-]*)"(?=\))', lambda found: repr(str(tmp_path / found[1])), placed)
        exec(compile(placed, page, "exec"), names)
    assert programs_in(page)
