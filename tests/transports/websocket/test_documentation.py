"""Does docs/websocket.md tell the truth?"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from fmqbus.limits import Limits
from fmqbus.model import Parting
from fmqbus.transports.listen_string import parse_listen_string
from fmqbus.transports.preamble import PREAMBLE_PLACES, PREAMBLE_SECONDS
from fmqbus.transports.websocket.opening import HEAD_OCTETS, HTTP_OCTETS
from fmqbus.transports.websocket.settings import WebSocketSettings, read_settings

PAGE = (Path(__file__).parents[3] / "docs/websocket.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]


def test_all_that_can_be_set_is_there_with_its_default() -> None:
    """In the example, and in the table below it."""
    [text] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    table = tomllib.loads(text)["protocols"]["umq"]["websocket"]
    assert list(table) == list(WebSocketSettings.__struct_fields__)
    assert read_settings(table, "protocols.umq.websocket", "/umq")
    told = {row[0].strip("`"): row[1].strip("`") for row in ROWS}
    defaults = msgspec.structs.asdict(read_settings({}, "", "/umq"))
    assert told["path"].endswith("the protocol's name")
    assert (told["origins"], defaults["origins"]) == ("none", frozenset())
    for key in ("compression", "ping_seconds", "pong_seconds"):
        assert msgspec.json.decode(told[key]) == defaults[key]


@pytest.mark.parametrize("parting", Parting)
def test_every_code_is_there(parting: Parting) -> None:
    """With when it is used."""
    assert [row for row in ROWS if row[0] == str(int(parting))]


def test_the_bounds_are_those_that_hold() -> None:
    """By their names and their numbers."""
    assert HEAD_OCTETS == 16 * 1024
    assert "send 64 KiB" in PAGE.replace("\n", " ")
    assert HTTP_OCTETS == 64 * 1024
    assert (PREAMBLE_SECONDS, PREAMBLE_PLACES) == (10, 1024)
    limits = Limits()
    assert (limits.body_octets, limits.assembly_octets, limits.outbox_octets) == (16 << 20, 256 << 20, 64 << 20)
    assert limits.linger_seconds == 1


@pytest.mark.parametrize("text", re.findall(r"^\| `(umq:.*?)`", PAGE, re.MULTILINE))
def test_the_listen_strings_are_such(text: str) -> None:
    """They can be parsed."""
    assert str(parse_listen_string(text)) == text
