"""Run EventMQ's programs against our broker. Arguments go to pytest."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

#: Files that pytest only finds if it is told of them.
FILES = ("probed", "command_line", "killed", "mixed")


def main() -> None:
    here = Path(__file__).parent
    sys.exit(pytest.main([*sys.argv[1:], *(str(here / f"{name}.py") for name in FILES)]))


main()
