"""Can a vendor's package be built, installed beside fmqbus, and found? (examples/fmqbus-example-extension)"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fmqbus

EXAMPLE = Path(__file__).parents[1] / "examples/fmqbus-example-extension"
FMQBUS = Path(fmqbus.__file__).parents[1]

pytestmark = pytest.mark.packages


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of installed packages that holds the example alone, from its wheel."""
    folder = tmp_path_factory.mktemp("example")
    source, wheels, site = folder / "source", folder / "wheels", folder / "site"
    # building leaves files behind
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    run("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, source)
    [wheel] = wheels.iterdir()
    run("-m", "pip", "install", "--quiet", "--no-deps", "--target", site, wheel)
    return site


def run(*arguments: str | Path, path: Path = FMQBUS, folder: Path | None = None) -> str:
    """Run Python with `path` before fmqbus on its own path; returns what it wrote."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), str(FMQBUS)])}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, env=environment, cwd=folder, stdout=subprocess.PIPE, check=True, text=True, timeout=300
    ).stdout


def test_fmqbus_finds_it_with_its_origin(site: Path) -> None:
    """As any other part, through its entry point; nothing is left out."""
    program = "from fmqbus.cli.main import main; main()"
    told = json.loads(run("-c", program, "plugins", "--json", "--strict", path=site))
    assert {
        "name": "x-trace",
        "interface": "IMicroMsg2Extension",
        "origin": "fmqbus-example-extension 1.0",
    } in told["plugs"]


def test_its_own_tests_pass(site: Path) -> None:
    """Against the package that was installed."""
    run("-m", "pytest", "--quiet", "-p", "no:cacheprovider", EXAMPLE / "tests", path=site, folder=site)
