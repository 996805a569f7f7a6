"""Does docs/calls.md tell the truth?"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import attrs

from fmqbus import calls
from fmqbus.calls import REPLIED, Choice, MethodSettings

PAGE = (Path(__file__).parents[2] / "docs/calls.md").read_text(encoding="utf-8")


def test_the_example_runs() -> None:
    """As it stands."""
    [program] = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["a pot of tea", "failed 418 I am a teapot", "unserved"]


def test_every_setting_choice_and_end_is_explained() -> None:
    """Reasons are the constants of `fmqbus.calls`."""
    reasons = {value for name, value in vars(calls).items() if name.isupper() and isinstance(value, str)}
    words = [
        *(field.name for field in attrs.fields(MethodSettings)),
        *(choice.value for choice in Choice),
        *(reasons - {REPLIED}),
    ]
    assert "expired" in words
    assert [word for word in words if f"| `{word}` |" not in PAGE] == []
