"""Which functions may the bus call back? (UMQ, Command B)

A callback is called once (reading 29), over whatever connection there is then: a call that tells its id may have waited
for a later one than there was when the id was chosen.
"""

from __future__ import annotations

from collections.abc import Iterator

from fmqbus.client.umq_services import Function
from fmqbus.errors import Overloaded

#: A connection's own numbers begin at 1, and hardly come so far. What reads ids as 32 bits can read these too.
_FIRST_ID = 2**31


class Callbacks:
    """Those of one client that were not called yet."""

    def __init__(self, most: int) -> None:
        self._functions: dict[int, Function] = {}
        self._most = most
        self._next_id = _FIRST_ID

    def __iter__(self) -> Iterator[int]:
        """Their ids."""
        return iter(self._functions)

    def add(self, function: Function) -> int:
        """Returns the id that the other side has to be told. Raises `Overloaded`."""
        if len(self._functions) >= self._most:
            raise Overloaded(f"{self._most} callbacks wait to be called")
        id, self._next_id = self._next_id, self._next_id + 1
        self._functions[id] = function
        return id

    def take(self, id: int) -> Function | None:
        """It can be called no more. None if there is none, or it has been called."""
        return self._functions.pop(id, None)

    def clear(self) -> None:
        """None can be called any more."""
        self._functions.clear()
