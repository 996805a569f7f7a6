"""Does docs/pipeline/journal.md tell the truth?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from fmqbus.app.config import parse_config
from fmqbus.app.config_journal import JournalTable
from fmqbus.app.sealer import Options
from fmqbus.cli.seal import command
from fmqbus.journal.journal_schema import SCHEMA
from fmqbus.journal.kinds import Kind
from fmqbus.journal.samples import write_sample

PAGE = (Path(__file__).parents[2] / "docs" / "pipeline" / "journal.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The page's examples."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_configuration_that_it_shows_can_be_used() -> None:
    """And its table has every option, with the default as it is."""
    for example in blocks("toml"):
        assert parse_config(example, "journal.md").journal.settings is not None
    for option, default in zip(JournalTable.__struct_encode_fields__, JournalTable.__struct_defaults__, strict=True):
        (said,) = re.findall(rf"^\| `{option}` \| (.*?) \|", PAGE, re.MULTILINE)
        if isinstance(default, int | float) and "MiB" in said:
            default, said = default // 2**20, said.removesuffix(" MiB")
        if said.startswith("`"):
            assert said.strip('`"') == str(getattr(default, "value", default)).removesuffix(".0")


def test_the_program_that_it_shows_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a journal that is there."""
    write_sample(tmp_path, 1_000)
    for example in blocks("python"):
        exec(example.replace("/var/lib/fmqbus/journal", str(tmp_path)), {})
    assert "size_sum" in capsys.readouterr().out


def test_the_commands_that_it_shows_can_be_given(tmp_path: Path) -> None:
    """The one that goes on for ever, once."""
    write_sample(tmp_path, 1_000, is_open=False)
    (line,) = re.findall(r"^    fmqbus seal (.*)$", PAGE, re.MULTILINE)
    arguments = line.replace("/var/lib/fmqbus/journal", str(tmp_path)).replace("--every 60s ", "").split()
    assert CliRunner().invoke(command, arguments).exit_code == 0
    (line,) = re.findall(r"^    twistd -n fmqbus-sealer (.*)$", PAGE, re.MULTILINE)
    options = Options()
    options.parseOptions(line.split())
    assert options.settings().keep_seconds == 30 * 86_400


def test_every_column_and_kind_says_what_it_means() -> None:
    """The page on the schema has tables that are made of it."""
    assert all(field.metadata[b"meaning"] for field in SCHEMA)
    assert all(kind.meaning for kind in Kind)
    columns = set(SCHEMA.names)
    for kind in Kind:
        assert set(re.findall(r"`(\w+)`", kind.meaning)) <= columns | {"replied"}
