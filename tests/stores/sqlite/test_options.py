"""What may stand in ``[stores.sqlite]``, and what the parts make of it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import msgspec
import pytest
from twisted.internet.task import Clock

from fmqbus.errors import ConfigError
from fmqbus.limits import DEFAULT_LIMITS
from fmqbus.stores.sqlite.options import Options, parse_options
from fmqbus.stores.sqlite.plug import Files, sqlite_messages, sqlite_retained


def test_the_documentation_tells_of_every_option_and_its_default() -> None:
    """In one table."""
    page = (Path(__file__).parents[3] / "docs" / "durability.md").read_text()
    told = dict(re.findall(r"^\| `(\w+)` \| `?(.*?)`? ?\|", page, re.MULTILINE))
    defaults = msgspec.structs.asdict(Options(path=""))
    assert {name: json.loads(default or '""') for name, default in told.items()} == defaults


def test_a_path_is_all_that_is_needed() -> None:
    """The rest is as safe as can be."""
    assert parse_options({"path": "/bus.db"}) == Options(
        path="/bus.db",
        synchronous="full",
        commit_seconds=0.005,
        commit_operations=1_000,
        commit_octets=4 * 1024 * 1024,
        damaged="refuse",
    )


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({}, r"stores\.sqlite: .*`path`"),
        ({"path": ""}, r"stores\.sqlite\.path: "),
        ({"path": 1}, r"stores\.sqlite\.path: "),
        ({"path": "bus.db", "size": 1}, r"stores\.sqlite: .*`size`"),
        ({"path": "bus.db", "synchronous": "off"}, r"stores\.sqlite\.synchronous: .*'off'"),
        ({"path": "bus.db", "commit_seconds": -1}, r"stores\.sqlite\.commit_seconds: "),
        ({"path": "bus.db", "commit_operations": 0}, r"stores\.sqlite\.commit_operations: "),
        ({"path": "bus.db", "damaged": "ignore"}, r"stores\.sqlite\.damaged: "),
    ],
)
@pytest.mark.parametrize("maker", [sqlite_messages, sqlite_retained])
def test_what_cannot_be_meant_is_named(maker: object, table: dict[str, object], complaint: str) -> None:
    """By whichever of the stores is made first."""
    with pytest.raises(ConfigError, match=complaint):
        maker.make(Clock(), DEFAULT_LIMITS, table)  # type: ignore[attr-defined]


def test_a_relative_path_is_from_where_the_process_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not from where it goes afterwards."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "later").mkdir()
    file = Files().file(Clock(), {"path": "bus.db"})
    os.chdir(tmp_path / "later")
    assert file.path == tmp_path / "bus.db"


def test_both_stores_of_a_bus_are_in_one_file() -> None:
    """Those of another bus, or of another file, are not."""
    clock, files = Clock(), Files()
    file = files.file(clock, {"path": "bus.db"})
    assert files.file(clock, {"path": "bus.db"}) is file
    assert files.file(clock, {"path": "other.db"}) is not file
    assert files.file(Clock(), {"path": "bus.db"}) is not file
