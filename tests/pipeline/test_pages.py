"""The pages on Spark are true: their programs run, and their tables have all that there is."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fmqbus.pipeline.columns import COLUMNS
from fmqbus.pipeline.jobs.table import JOBS
from fmqbus.pipeline.main import OTHERS
from fmqbus.pipeline.options import NAMES
from fmqbus.pipeline.sink import OPTIONS
from tests.live.broker import Broker
from tests.protocols.pages import ROOT, docstrings_in

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
@pytest.mark.parametrize("page", ["spark.md", "jobs.md", "recipes.md"])
def test_the_programs_of_the_pages_run(spark: Any, sample: Path, tmp_path: Path, page: str) -> None:
    """From top to bottom, in one session, against a journal."""
    names: dict[str, Any] = {"spark": spark}
    for program in programs_in(page):
        # this session's processes are in another folder than the reader of the page would be
        placed = program.replace('"journal"', repr(str(sample)))
        placed = re.sub(r'"(sizes[\w-]*)"(?=\))', lambda found: repr(str(tmp_path / found[1])), placed)
        exec(compile(placed, page, "exec"), names)
    assert programs_in(page)


def commands_in(page: str) -> list[list[str]]:
    """The commands of a page that are ours, word by word."""
    return [shlex.split(line) for line in re.findall(r"^\$ (.*)$", text_of(page), re.MULTILINE)]


@pytest.mark.spark
def test_the_quick_start_comes_to_what_it_shows(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its commands are run as they stand, against a bus on a port of its own, and its programs print what it says."""
    journal = tmp_path / "journal"
    commands = commands_in("quick-start.md")
    assert ["twistd", "-n", "fmqbus", "--journal", "journal"] in commands
    with Broker("--journal", str(journal), "--listen", "fmqp:tcp:0") as broker:
        for words in commands:
            if words[:2] == ["fmqbus", "pub"]:
                subprocess.run(
                    [sys.executable, "-c", "from fmqbus.cli.main import main; main()", *words[1:]],
                    env=broker.environment | {"FMQBUS_URL": f"fmqp://127.0.0.1:{broker.port}"},
                    check=True,
                )
        assert broker.stop() == 0
    names: dict[str, Any] = {}
    capsys.readouterr()
    for program in programs_in("quick-start.md"):
        exec(compile(program.replace('"journal"', repr(str(journal))), "quick-start.md", "exec"), names)
    shown = re.findall(r"^```text\n(.*?)^```", text_of("quick-start.md"), re.MULTILINE | re.DOTALL)
    assert capsys.readouterr().out.split() == "".join(shown).split()
    assert shown


def test_the_report_of_the_quick_start_is_a_command() -> None:
    """And the folder is what it is given."""
    assert ["fmqbus-pipeline", "report", "journal"] in commands_in("quick-start.md")
    assert "report" in OTHERS


def test_every_promise_names_tests_that_there_are() -> None:
    """Or a file of tests."""
    rows = re.findall(r"^\| \*\*.*\| (.*) \|$", text_of("guarantees.md"), re.MULTILINE)
    assert rows
    for row in rows:
        named = re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", row)
        assert named
        for file, name in named:
            assert not name or name in docstrings_in(ROOT / "tests" / file)
            assert docstrings_in(ROOT / "tests" / file)
