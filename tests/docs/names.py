"""Which names of the code does a page mention, and what are they?"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parents[2] / "docs"


def read(page: str) -> str:
    """A page as it stands."""
    return (PAGES / page).read_text(encoding="utf-8")


def names_on(text: str) -> list[str]:
    """The dotted names in backquotes that begin with ours, in their order."""
    return re.findall(r"`(fmqbus(?:\.\w+)+)`", text)


def find(name: str) -> Any:
    """What a dotted name is. Raises `ImportError` or `AttributeError` if there is no such thing."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise ImportError(name)
