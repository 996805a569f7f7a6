"""Does docs/queues.md tell the truth?"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import attrs

from fmqbus.management.queues import _VERBS, _message
from fmqbus.model import Message, QueueOverflow, QueueSettings, QueueStatus, StoredMessage

PAGE = (Path(__file__).parents[2] / "docs/queues.md").read_text(encoding="utf-8")


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
