"""Where does ``wstest`` come from, and how is it run? It needs Python 2.7, which nothing else here wants."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

#: Of the AutobahnTestsuite.
RELEASE = "25.10.1"
MISSING = "wstest needs Python 2.7, and there is none on the path or among pyenv's: name one with --python."

_NAMES = ("python2.7", "pypy2.7", "pypy")
_AGENT = "fmqbus"
#: Ten times what all cases take.
_SECONDS = 3 * 60 * 60


def find_python() -> Path | None:
    """A Python 2.7 on the path or among pyenv's, if there is one."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    folders = [*map(Path, os.get_exec_path()), *sorted(pyenv.glob("versions/*2.7*/bin"))]
    for folder, name in product(folders, _NAMES):
        if _is_python_2(folder / name):
            return folder / name
    return None


def _is_python_2(path: Path) -> bool:
    """Asked, for pyenv puts programs on the path that only say that they are elsewhere."""
    if not path.is_file():
        return False
    asked = [str(path), "-c", "import sys; print(sys.version_info[:2])"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip() == "(2, 7)"


def install(python: Path, folder: Path) -> Path:
    """The program, in an environment of its own in this folder."""
    subprocess.run([sys.executable, "-m", "virtualenv", "--quiet", "--python", str(python), str(folder)], check=True)
    package = f"autobahntestsuite=={RELEASE}"
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
    # It only complains of the age of Python 2, unless something goes wrong.
    installed = subprocess.run(pip, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if installed.returncode:
        sys.exit(f"{package} cannot be installed:\n{installed.stdout}")
    return folder / "bin" / "wstest"


def run(program: Path, url: str, cases: Sequence[str], folder: Path) -> dict[str, dict[str, str]]:
    """Put the cases on the server at the URL, tell of each, and return what the report says of it."""
    report, settings = folder / "report", folder / "settings.json"
    servers = [{"agent": _AGENT, "url": url}]
    wanted = {"cases": list(cases), "exclude-cases": [], "exclude-agent-cases": {}}
    settings.write_text(json.dumps({"outdir": str(report), "servers": servers, **wanted}))
    command = [str(program), "--mode", "fuzzingclient", "--spec", str(settings)]
    subprocess.run(command, cwd=folder, check=True, timeout=_SECONDS)
    found: dict[str, dict[str, str]] = json.loads((report / "index.json").read_text()).get(_AGENT, {})
    return found
