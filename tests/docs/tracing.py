"""Which functions of ours does a piece of a program call, and in which order?"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from tests.docs.names import find


def code_of(name: str) -> CodeType:
    """The code that runs when what is called so is called."""
    found = find(name)
    if isinstance(found, type):
        found = found.__init__
    elif isinstance(found, property):
        found = found.fget
    code: CodeType = inspect.unwrap(found).__code__
    return code


class Trace:
    """The calls that there were."""

    def __init__(self) -> None:
        self._calls: list[CodeType] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Note what is called meanwhile, in this thread and in those that begin meanwhile."""
        threading.setprofile(self._noted)
        sys.setprofile(self._noted)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]

    def missing(self, names: Sequence[str]) -> list[str]:
        """From the first name on that is not called after those before it; empty if each is."""
        calls = iter(self._calls)
        for index, name in enumerate(names):
            code = code_of(name)
            if not any(call is code for call in calls):
                return list(names[index:])
        return []

    def _noted(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            self._calls.append(frame.f_code)
