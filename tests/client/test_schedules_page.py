"""Does docs/schedules.md tell the truth?"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from fmqbus.management.schedules import _VERBS, Request, _all
from fmqbus.model import Message, PeerFacts, Principal
from fmqbus.schedules.errands import Errand, Order, ScheduleStatus
from fmqbus.schedules.table import Missed, begin
from fmqbus.schedules.timing import Cron, Every
from tests.client.test_queues_page import shell
from tests.live.broker import Broker

PAGE = (Path(__file__).parents[2] / "docs/schedules.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (fmqbus schedule .+)$", PAGE, re.MULTILINE)


def test_the_example_runs() -> None:
    """As it stands."""
    [program] = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["tick", "tick", "the last tick"]


def test_the_commands_do_what_the_page_says() -> None:
    """In the order in which they are there."""
    with Broker("--listen", "fmqp:tcp:0:interface=127.0.0.1") as broker:
        printed = [shell(command, f"fmqp://127.0.0.1:{broker.port}") for command in COMMANDS]
    count, nightly, job, listed, show, *changes = printed
    assert (count, nightly) == (["count"], ["nightly"])
    assert len(listed) == 3
    assert any(line.startswith(job[0]) for line in listed)
    assert "cron 0 3 * * *" in show
    assert changes == [[]] * 4


def test_every_request_and_every_field_is_explained() -> None:
    """And every policy."""
    owner = Principal("memory", PeerFacts("memory"))
    told = [
        word
        for timing in (Every(60), Cron("* * * * *"))
        for queue in (None, b"q")
        for word in _all(ScheduleStatus(begin("k", timing, Order(Errand(Message(b"q", b"x"), queue), owner), 0.0)))
    ]
    words = [*told, *(missed.value for missed in Missed)]
    assert [word for word in words if f"`{word}`" not in PAGE] == []
    assert [field for field in Request.__struct_fields__ if f'"{field}"' not in PAGE] == []
    assert [verb for verb in _VERBS if f'{{"do": "{verb}"' not in PAGE] == []
