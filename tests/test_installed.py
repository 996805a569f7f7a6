"""Which fmqbus do the tests test?"""

from __future__ import annotations

import os
from pathlib import Path

import fmqbus

TREE = Path(__file__).parent.parent


def test_tox_tests_what_users_install_and_everybody_else_tests_this_tree() -> None:
    """Under tox the package comes from a built wheel; otherwise from here, never from a forgotten installation."""
    comes_from_the_tree = Path(fmqbus.__file__).is_relative_to(TREE / "fmqbus")
    assert comes_from_the_tree == ("TOX_ENV_NAME" not in os.environ), f"fmqbus comes from {fmqbus.__file__}"
