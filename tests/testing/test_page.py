"""Is what the documentation tells vendors about the kit true?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fmqbus
from fmqbus import interfaces
from fmqbus.testing import contracts

PAGE = (Path(__file__).parents[2] / "docs" / "extend" / "testing.md").read_text()


def test_the_examples_of_the_page_pass_as_a_vendor_would_run_them(tmp_path: Path) -> None:
    """Each block is a file, named in its first line; together they are a vendor's package with its tests."""
    files = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE, re.DOTALL))
    assert len(files) == PAGE.count("```python")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", str(tmp_path)]
    paths = os.pathsep.join([str(Path(fmqbus.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    tests = sum(text.count("def test_") for text in files.values())
    assert int(re.findall(r"(\d+) passed", run.stdout)[0]) > tests


SUITES = {
    f"{path.stem}.{name}": body
    for path in sorted(Path(contracts.__file__).parent.glob("[!_]*.py"))
    for name, body in re.findall(
        r"^class (\w+Contract)\b(.*?)(?=^class |\Z)", path.read_text(), re.DOTALL | re.MULTILINE
    )
}


@pytest.mark.parametrize("suite", SUITES)
def test_every_suite_is_on_the_page_with_all_that_a_vendor_must_write(suite: str) -> None:
    """Under the names that it really has: the methods which raise `NotImplementedError`."""
    [row] = [line for line in PAGE.splitlines() if f"`{suite}`" in line]
    for method in re.findall(
        r"def (\w+)\([^)]*\)[^:]*:\n(?:        \"\"\".*?\"\"\"\n)?        raise NotImplementedError", SUITES[suite]
    ):
        assert f"`{method}`" in row
    for interface in re.findall(r"`(I\w+)`", row.split("|")[1]):
        assert hasattr(interfaces, interface)
