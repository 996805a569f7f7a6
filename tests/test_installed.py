"""Which fmqbus do the tests test?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fmqbus

TREE = Path(__file__).parent.parent


def test_tox_tests_what_users_install_and_everybody_else_tests_this_tree() -> None:
    """Under tox the package comes from a built wheel; otherwise from here, never from a forgotten installation."""
    comes_from_the_tree = Path(fmqbus.__file__).is_relative_to(TREE / "fmqbus")
    assert comes_from_the_tree == ("TOX_ENV_NAME" not in os.environ), f"fmqbus comes from {fmqbus.__file__}"


def test_twistd_finds_the_commands() -> None:
    """They are plugins in a folder of Twisted's, which a careless build leaves out; and nothing is amiss in them."""
    twistd = Path(sys.executable).with_name("twistd")
    shown = subprocess.run([sys.executable, twistd, "--help"], capture_output=True, text=True, check=True, timeout=60)
    assert {"fmqbus", "fmqp"} <= {line.split()[0] for line in shown.stdout.splitlines() if line.strip()}
    assert shown.stderr == ""
