"""Can vendors' packages be built, installed beside fmqbus, and found? (examples/)"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

import fmqbus

EXAMPLES = Path(__file__).parents[1] / "examples"
FMQBUS = Path(fmqbus.__file__).parents[1]

pytestmark = pytest.mark.packages


@attrs.frozen
class Example:
    """A vendor's package, and the part in it."""

    package: str
    interface: str
    name: str
    #: A folder of installed packages that holds this one alone, from its wheel.
    site: Path = Path()

    @property
    def source(self) -> Path:
        """Where it is."""
        return EXAMPLES / self.package


PACKAGES = [
    Example("fmqbus-example-extension", "IMicroMsg2Extension", "x-trace"),
    Example("fmqbus-example-profile", "IMTLProfile", "acme/log"),
]


@pytest.fixture(scope="module", params=PACKAGES, ids=lambda example: example.package)
def example(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Example:
    """One of them, installed."""
    example: Example = request.param
    folder = tmp_path_factory.mktemp("example")
    source, wheels, site = folder / "source", folder / "wheels", folder / "site"
    # building leaves files behind
    shutil.copytree(example.source, source, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    run("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, source)
    [wheel] = wheels.iterdir()
    run("-m", "pip", "install", "--quiet", "--no-deps", "--target", site, wheel)
    return attrs.evolve(example, site=site)


def run(*arguments: str | Path, path: Path = FMQBUS, folder: Path | None = None) -> str:
    """Run Python with `path` before fmqbus on its own path; returns what it wrote."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), str(FMQBUS)])}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(
        command, env=environment, cwd=folder, stdout=subprocess.PIPE, check=True, text=True, timeout=300
    ).stdout


def test_fmqbus_finds_it_with_its_origin(example: Example) -> None:
    """As any other part, through its entry point; nothing is left out."""
    program = "from fmqbus.cli.main import main; main()"
    told = json.loads(run("-c", program, "plugins", "--json", "--strict", path=example.site))
    assert {
        "name": example.name,
        "interface": example.interface,
        "origin": f"{example.package} 1.0",
    } in told["plugs"]


def test_its_own_tests_pass(example: Example) -> None:
    """Against the package that was installed."""
    tests = example.source / "tests"
    run("-m", "pytest", "--quiet", "-p", "no:cacheprovider", tests, path=example.site, folder=example.site)
