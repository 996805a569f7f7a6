"""Is there code in the documentation that nobody runs?

Configurations are read as the bus reads them, and commands of ours are parsed by what parses them, on all pages. Whole
pages are followed by `tests.docs.reader`. Programs are run by tests of their pages, which are named here, and so is the
little that cannot be run, with the reason.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from fmqbus.app.config import parse_config
from tests.docs.blocks import ROOT, Block, blocks_of, pages
from tests.docs.test_extending import FILES, PACKAGES
from tests.docs.test_operating import PAGES
from tests.docs.typed import OURS, commands_in, complaint_about, names_of_options

#: Files are written, and what stands at a prompt is typed.
FOLLOWED = {*PAGES, *PACKAGES, *FILES}

#: The tests that run all blocks of a language of a page.
RUN_BY: Mapping[tuple[str, str], str] = {
    ("README.md", "python"): "tests/docs/test_snippets.py",
    ("docs/access.md", "toml"): "tests/docs/test_snippets.py",
    ("docs/architecture.md", "text"): "tests/docs/test_architecture.py",
    ("docs/calls.md", "python"): "tests/client/test_calls_page.py",
    ("docs/client.md", "python"): "tests/client/test_page.py",
    ("docs/embedding.md", "python"): "tests/live/test_embedding.py",
    ("docs/extend/testing.md", "python"): "tests/testing/test_page.py",
    ("docs/extend/umq-method.md", "text"): "tests/protocols/umq/test_extend_page.py",
    ("docs/extend/unit-carrier.md", "python"): "tests/docs/test_snippets.py",
    ("docs/javascript.md", "html"): "tests/client/test_javascript.py",
    # drawn from the code itself
    ("docs/imports.md", "text"): "tests/docs/places.py",
    ("docs/jobs.md", "python"): "tests/client/test_jobs_page.py",
    ("docs/observability.md", "json"): "tests/metrics/test_documentation.py",
    ("docs/observability.md", "python"): "tests/metrics/test_documentation.py",
    ("docs/pipeline/jobs.md", "python"): "tests/pipeline/test_pages.py",
    ("docs/pipeline/journal.md", "python"): "tests/journal/test_page.py",
    ("docs/pipeline/quick-start.md", "python"): "tests/pipeline/test_pages.py",
    ("docs/pipeline/quick-start.md", "text"): "tests/pipeline/test_pages.py",
    ("docs/pipeline/recipes.md", "python"): "tests/pipeline/test_pages.py",
    ("docs/pipeline/spark.md", "python"): "tests/pipeline/test_pages.py",
    ("docs/plugs.md", "toml"): "tests/docs/test_every_block.py",
    ("docs/queues.md", "python"): "tests/client/test_queues_page.py",
    ("docs/schedules.md", "python"): "tests/client/test_schedules_page.py",
    ("docs/users.md", "python"): "tests/docs/test_snippets.py",
    ("docs/websocket.md", "python"): "tests/docs/test_snippets.py",
    ("docs/zeromq-security.md", "python"): "tests/transports/zeromq/test_documentation.py",
}

#: Single blocks, by page and beginning, and the test that runs each.
RUN_ALONE = [
    ("docs/configuration.md", "bus.toml, line 8: ", "tests/docs/test_snippets.py"),
    ("docs/observability.md", '{"reply": "TOKEN", ', "tests/docs/test_snippets.py"),
    ("docs/pipeline/journal.md", '{"state":', "tests/docs/test_snippets.py"),
    ("docs/protocols/micromsg2.md", "subscribe;destination=", "tests/docs/test_snippets.py"),
    ("docs/protocols/umq.md", "client: H1:", "tests/docs/test_snippets.py"),
    ("docs/start.md", "fmqp:tcp:7700:interface=127.0.0.1 listens at ", "tests/test_start_page.py"),
]

#: Likewise what no test runs, and why.
NOT_RUN = [
    ("README.md", "python3 -m venv .venv && .venv/bin/pip install --quiet tox", "runs all tests"),
    ("docs/durability.md", "fmqbus: ", "tests/stores/sqlite/test_damage.py makes such damage"),
    ("docs/extend/testing.md", "pip install ", "needs a package index; tox installs just that"),
    (
        "docs/javascript.md",
        "import { connect }",
        "needs Node 22; tests/client/js makes the same calls without a network",
    ),
    ("docs/jobs.md", "pip install ", "needs a package index"),
    ("docs/jobs.md", "# apps.py", "needs Django"),
    ("docs/observability.md", "error   certificates: ", "tests/doctor/test_certificates.py has such a certificate"),
    ("docs/operate.md", "useradd ", "changes a machine"),
    ("docs/pipeline/cluster.md", "$ spark-submit --master yarn", "needs YARN, as the page says"),
    ("docs/pipeline/quick-start.md", "$ mkdir first-look", "needs a package index"),
    ("docs/pipeline/quick-start.md", "$ sudo apt-get install ", "changes a machine"),
    (
        "docs/pipeline/spark.md",
        'spark.read.format("fmqbus").option("url"',
        "tests/pipeline/test_url.py has a port of its own",
    ),
    (
        "docs/protocols/emqp.md",
        '"" "eMQP/1.0" ',
        "words in capitals stand for others; see tests/protocols/emqp/test_codec.py",
    ),
    ("docs/protocols/umq.md", "[to a queue?, ", "names of what there is in an array"),
    ("docs/start.md", "python3 -m venv ", "needs a package index; tox installs in the same way"),
    ("docs/websocket.md", "location /umq {", "needs nginx"),
    ("docs/zeromq.md", "PROTOCOL:zmq:", "words in capitals stand for others"),
]

BLOCKS = [block for page in pages() for block in blocks_of(page)]


def is_seen_to(block: Block) -> bool:
    """Whether a test runs it, reads it, or says why not."""
    is_followed = block.page in FOLLOWED and (bool(block.file) or block.language == "console")
    return (
        is_followed
        or is_configuration(block)
        or (block.page, block.language) in RUN_BY
        or any(is_meant(block, *row) for row in (*RUN_ALONE, *NOT_RUN))
        or any(commands_in(block.text))
    )


def is_meant(block: Block, page: str, beginning: str, _: str) -> bool:
    """Whether a row of the lists is for it."""
    return block.page == page and block.text.startswith(beginning)


def is_configuration(block: Block) -> bool:
    """Whether a bus would read it."""
    return block.language == "toml" and block.file in ("", "bus.toml") and "[project" not in block.text


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_each_block_is_run_or_it_is_said_why_not(block: Block) -> None:
    """A new one that nobody has thought of fails here."""
    assert is_seen_to(block), f"nobody runs this:\n{block.text}"


@pytest.mark.parametrize("block", [block for block in BLOCKS if is_configuration(block)], ids=str)
def test_each_configuration_is_one(block: Block) -> None:
    """With all its keys."""
    parse_config(block.text, str(block))


COMMANDS = [(block, words) for block in BLOCKS for words in commands_in(block.text)]


@pytest.mark.parametrize(("block", "words"), COMMANDS, ids=lambda value: value if isinstance(value, Block) else None)
def test_each_command_would_be_taken(block: Block, words: list[str]) -> None:
    """Its options are there, and take what they are given."""
    assert complaint_about(words) is None


INLINE = sorted(
    {
        (page, command)
        for page in pages()
        for command in re.findall(rf"`((?:{'|'.join(OURS)}) [^`]+)`", (ROOT / page).read_text(encoding="utf-8"))
    }
)


@pytest.mark.parametrize(("page", "command"), INLINE)
def test_each_command_within_a_sentence_is_there(page: str, command: str) -> None:
    """It may lack arguments; its name and its options are real."""
    words = command.split()
    known = names_of_options(words)
    if words[0] != "twistd":
        assert known is not None, f"there is no {command}"
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known


def test_who_is_named_here_runs_what_it_is_named_for() -> None:
    """The test is there, speaks of the page, and takes blocks from it; nothing is named for a block that is gone."""
    there_are = {(block.page, block.language) for block in BLOCKS}
    for (page, language), test in RUN_BY.items():
        assert (page, language) in there_are
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8"), f"{test} does not speak of {page}"
    for page, _, test in RUN_ALONE:
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8"), f"{test} does not speak of {page}"
    for row in (*RUN_ALONE, *NOT_RUN):
        assert any(is_meant(block, *row) for block in BLOCKS), f"there is no such block: {row}"
    for _, _, reason in NOT_RUN:
        assert all((ROOT / path).exists() for path in re.findall(r"tests/[\w/.]+", reason)), reason


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "json"], ids=str)
def test_json_is_json(block: Block) -> None:
    """Each block of it."""
    json.loads(block.text)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "python"], ids=str)
def test_programs_can_be_read(block: Block) -> None:
    """By this very Python."""
    ast.parse(block.text)
