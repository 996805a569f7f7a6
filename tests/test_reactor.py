"""Who may choose the reactor? Only what starts a process: `fmqbus.app`, and commands, also twistd's, once they run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import fmqbus

PACKAGE = Path(fmqbus.__file__).parent
#: All files but those of the application, which may.
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if PACKAGE / "app" not in path.parents]


def imports_reactor(node: ast.AST) -> bool:
    """Tell whether the statement imports the global reactor, and thereby chooses one for the whole process."""
    match node:
        case ast.Import(names=names):
            return any(name.name == "twisted.internet.reactor" for name in names)
        case ast.ImportFrom(module="twisted.internet", names=names):
            return any(name.name == "reactor" for name in names)
        case _:
            return False


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_nothing_below_the_application_imports_the_reactor(path: Path) -> None:
    """Everything else is given its reactor and clock: it can then be embedded, and be tested without either."""
    tree = ast.parse(path.read_bytes())
    is_command = PACKAGE / "cli" in path.parents or path.name == "twistd.py"
    statements = tree.body if is_command else ast.walk(tree)
    assert not any(map(imports_reactor, statements))
