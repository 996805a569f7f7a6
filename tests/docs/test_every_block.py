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
    ("docs/calls.md", "python"): "tests/client/test_calls_page.py",
    ("docs/client.md", "python"): "tests/client/test_page.py",
    ("docs/embedding.md", "python"): "tests/live/test_embedding.py",
    ("docs/extend/testing.md", "python"): "tests/testing/test_page.py",
    ("docs/extend/umq-method.md", "python"): "tests/protocols/umq/test_extend_page.py",
    ("docs/extend/umq-method.md", "text"): "tests/protocols/umq/test_extend_page.py",
    ("docs/extend/unit-carrier.md", "python"): "tests/docs/test_snippets.py",
    ("docs/javascript.md", "html"): "tests/client/test_javascript.py",
    ("docs/jobs.md", "python"): "tests/client/test_jobs_page.py",
    ("docs/observability.md", "json"): "tests/metrics/test_documentation.py",
    ("docs/observability.md", "python"): "tests/metrics/test_documentation.py",
    ("docs/pipeline/jobs.md", "python"): "tests/pipeline/test_pages.py",
    ("docs/pipeline/journal.md", "python"): "tests/journal/test_page.py",
    ("docs/pipeline/spark.md", "python"): "tests/pipeline/test_pages.py",
    ("docs/plugs.md", "toml"): "tests/docs/test_every_block.py",
    ("docs/queues.md", "python"): "tests/client/test_queues_page.py",
    ("docs/schedules.md", "python"): "tests/client/test_schedules_page.py",
    ("docs/users.md", "python"): "tests/docs/test_snippets.py",
    ("docs/websocket.md", "python"): "tests/docs/test_snippets.py",
    ("docs/zeromq-security.md", "python"): "tests/transports/zeromq/test_documentation.py",
}

_DAMAGED = (
    "fmqbus: /var/lib/fmqbus/bus.db: damaged: messages b'orders' 1204 (damaged = \"set-aside\" goes on without that)"
)
_EXPIRED = "error   certificates: /etc/fmqbus/cert.pem: CN=bus has expired on 2026-10-01"
_NODE = 'import { connect } from "./fmqbus.js"; // or wherever you put it and the two modules beside it'
_REQUEST = (
    """"" "eMQP/1.0" "REQUEST" ID QUEUE HEADERS '["run", {"path": "shop.jobs", "callable": "pack", "args": [17]}]'"""
)
_MISSPELT = "bus.toml, line 8: limits.conections: Object contains unknown field `conections`"
_FAILING = '{"state":"failing","failure":"[Errno 28] No space left on device","lost":0}'
_SUBSCRIBE = "subscribe;destination=topic%2Froom%2F*,filter=age%3E%3DN18,filter=who%26Tworld"
_LOGIN = 'client: H1:{"mechanism":"PLAIN","response":"AGFubmEAb3BlbiBzZXNhbWU="}'
_BATCH = "[to a queue?, topic or queue, payload, properties, retain, priority, time to live, delay]"

#: By page and first line: what no test runs, and why.
NOT_RUN: Mapping[tuple[str, str], str] = {
    ("README.md", "python3 -m venv .venv && .venv/bin/pip install --quiet tox && .venv/bin/tox"): "runs all tests",
    ("docs/durability.md", _DAMAGED): "tests/stores/sqlite/test_damage.py makes such damage",
    ("docs/extend/testing.md", "pip install 'fmqbus[test]'"): "needs a package index; tox installs just that",
    ("docs/javascript.md", _NODE): "needs Node 22; tests/client/js has the same calls without a network",
    ("docs/jobs.md", "pip install fmqbus"): "needs a package index",
    ("docs/jobs.md", "# apps.py"): "needs Django",
    ("docs/observability.md", _EXPIRED): "tests/doctor/test_certificates.py has such a certificate",
    (
        "docs/operate.md",
        "useradd --system --home-dir /var/lib/fmqbus --shell /usr/sbin/nologin fmqbus",
    ): "changes a machine",
    (
        "docs/pipeline/cluster.md",
        "$ spark-submit --master yarn --deploy-mode client \\",
    ): "needs YARN, as the page says",
    ("docs/pipeline/spark.md", "$ sudo apt-get install openjdk-17-jre-headless"): "changes a machine",
    (
        "docs/protocols/emqp.md",
        _REQUEST,
    ): "ID and HEADERS stand for others; tests/protocols/emqp/test_codec.py has them",
    ("docs/protocols/emqp.md", '"" "eMQP/1.0" "ACK" ID2 ID'): "the answer to that",
    ("docs/protocols/umq.md", _BATCH): "names of what there is in an array",
    ("docs/start.md", "python3 -m venv .venv"): "needs a package index; tox installs in the same way",
    ("docs/websocket.md", "location /umq {"): "needs nginx",
    ("docs/zeromq.md", "PROTOCOL:zmq:NAME=PORT:NAME=PORT:interface=127.0.0.1"): "words in capitals stand for others",
}

#: Single blocks that are run by `tests.docs.test_snippets` and others: by page and first line.
RUN_ALONE: Mapping[tuple[str, str], str] = {
    ("docs/configuration.md", _MISSPELT): "tests/docs/test_snippets.py",
    ("docs/observability.md", '{"reply": "TOKEN", "do": "show", "most": 20}'): "tests/docs/test_snippets.py",
    ("docs/pipeline/journal.md", _FAILING): "tests/docs/test_snippets.py",
    ("docs/protocols/micromsg2.md", _SUBSCRIBE): "tests/docs/test_snippets.py",
    ("docs/protocols/umq.md", "client: H1:"): "tests/docs/test_snippets.py",
    ("docs/protocols/umq.md", _LOGIN): "tests/docs/test_snippets.py",
    ("docs/start.md", "fmqp:tcp:7700:interface=127.0.0.1 listens at 127.0.0.1:7700"): "tests/test_start_page.py",
}

BLOCKS = [block for page in pages() for block in blocks_of(page)]


def is_seen_to(block: Block) -> bool:
    """Whether a test runs it, reads it, or says why not."""
    is_followed = block.page in FOLLOWED and (bool(block.file) or block.language == "console")
    first_line = (block.page, block.text.split("\n")[0])
    return (
        is_followed
        or is_configuration(block)
        or (block.page, block.language) in RUN_BY
        or first_line in RUN_ALONE
        or first_line in NOT_RUN
        or any(commands_in(block.text))
    )


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
    first_lines = {(block.page, block.text.split("\n")[0]) for block in BLOCKS}
    assert (RUN_ALONE | NOT_RUN).keys() <= first_lines
    for (page, _), test in RUN_ALONE.items():
        assert Path(page).name in (ROOT / test).read_text(encoding="utf-8"), f"{test} does not speak of {page}"


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "json"], ids=str)
def test_json_is_json(block: Block) -> None:
    """Each block of it."""
    json.loads(block.text)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "python"], ids=str)
def test_programs_can_be_read(block: Block) -> None:
    """By this very Python."""
    ast.parse(block.text)
