"""Do the tests of the client in JavaScript pass? They run in Node, without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

TESTS = Path(__file__).parent / "js"


def test_the_client_in_javascript_passes_its_tests() -> None:
    """Each of them is a test of its own there."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed")
    scripts = sorted(map(str, TESTS.glob("*.test.mjs")))
    run = subprocess.run([node, "--test", *scripts], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "\n# fail 0" in run.stdout


def test_the_page_that_the_documentation_shows_is_the_example() -> None:
    """Which is opened in a browser elsewhere."""
    root = Path(__file__).parents[2]
    [shown] = re.findall(r"```html\n<!-- (\S+) -->\n(.*?)```", (root / "docs/javascript.md").read_text(), re.DOTALL)
    assert (root / shown[0]).read_text() == shown[1]
