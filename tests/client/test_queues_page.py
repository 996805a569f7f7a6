"""Does docs/queues.md tell the truth?"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import attrs

import fmqbus
from fmqbus.management.queues import _VERBS, _message
from fmqbus.model import Message, QueueOverflow, QueueSettings, QueueStatus, StoredMessage
from tests.live.broker import Broker

PROGRAM = "from fmqbus.cli.main import main; main()"
PAGE = (Path(__file__).parents[2] / "docs/queues.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (.*fmqbus (?:send|consume|queue) .+)$", PAGE, re.MULTILINE)


def test_the_example_runs() -> None:
    """As it stands; each message is handed out twice."""
    [program] = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert sorted(line.rstrip() for line in done.stdout.splitlines()) == [
        "orders/new cannot be read",
        "orders/new nonsense",
        "orders/new nonsense again",
        "orders/new three apples",
        "orders/new three apples again",
    ]


def shell(command: str, url: str) -> list[str]:
    """What a command of the page prints."""
    done = subprocess.run(
        ["sh", "-c", f'fmqbus() {{ "{sys.executable}" -c "{PROGRAM}" "$@"; }}\n{command}'],
        env={**os.environ, "FMQBUS_URL": url, "PYTHONPATH": str(Path(fmqbus.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_the_commands_do_what_the_page_says() -> None:
    """In the order in which they are there."""
    with Broker("--listen", "micromsg2:tcp:0:interface=127.0.0.1") as broker:
        url = f"micromsg2://127.0.0.1:{broker.port}"
        printed = [shell(command, url) for command in COMMANDS]
    send, send_lines, consume, look, listed, show, peek, held, requeue, remove, purge = printed
    assert send == send_lines == []
    assert consume == ["three apples", *map(str, range(1, 10))]
    assert [json.loads(line)["payload"] for line in look] == [str(number) for number in range(10, 101)]
    assert [line.split("\t")[:2] for line in listed] == [["orders", "91"]]
    assert "ready 91" in show
    assert [line.split("\t")[-1] for line in peek] == ["10", "11", "12"]
    assert (held, requeue, remove, purge) == ([], ["0"], ["2"], ["89"])


def test_every_setting_and_policy_is_explained() -> None:
    """And every number of a queue, every field of a message, and every request."""
    words = [
        *(field.name for field in attrs.fields(QueueSettings)),
        *(overflow.value for overflow in QueueOverflow),
        *(field.name for field in attrs.fields(QueueStatus)),
        *_message(StoredMessage(b"q", 1, Message(b"q", b"x"))),
    ]
    assert [word for word in words if f"`{word}`" not in PAGE] == []
    assert [verb for verb in _VERBS if f'{{"do": "{verb}"' not in PAGE] == []
