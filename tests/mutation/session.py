"""One run of pytest in which mistakes are made: all is loaded and collected once, then each mistake has a child.

First a child runs all tests as they are, and tells which tests have come by which lines, and how long each took. Then a
child for each mistake replaces the code of the one function, and runs the tests that come by its line, the quickest
first, until one fails.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from types import CodeType, FrameType, FunctionType
from typing import Any

import attrs
import pytest

from tests.mutation.mutants import Mutant

#: A mistake may make tests so much slower, and a bit more; then it has been noticed.
_SLOWER, _LEAST_SECONDS, _MOST_SECONDS = 3.0, 5.0, 60.0
#: Or so much larger.
_MOST_OCTETS = 4 << 30
_COVER_SECONDS = 600.0

_NOTICED, _SURVIVED = b"noticed", b"survived"

Trace = Callable[[FrameType, str, Any], Any]


@attrs.frozen
class Verdict:
    """What became of a mistake."""

    mutant: Mutant
    #: ``noticed``, ``too slow``, ``survived``, or ``not run`` where no test comes by.
    end: str
    tests: int


@attrs.define(eq=False)
class Session:
    """A plugin for pytest. `chosen` are the mistakes to be made, in whatever modules."""

    chosen: Sequence[Mutant]
    verdicts: list[Verdict] = attrs.field(factory=list)
    #: Why there are no verdicts; empty if there are.
    failure: str = ""
    _failed: bool = False

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A part of a test is over."""
        self._failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests once."""
        if session.testsfailed or not session.items:
            self.failure = "the tests cannot be collected"
            return True
        paths = {mutant.path for mutant in self.chosen}
        said = _in_child(lambda: self._cover(session.items, paths), _COVER_SECONDS)
        if not said:
            self.failure = "the tests fail without any mistake"
            return True
        seconds, lines = json.loads(said)
        originals = _loaded(paths)
        in_other_order = sorted(range(len(seconds)), key=seconds.__getitem__)
        if _in_child(lambda: self._run_all(session.items, in_other_order), _COVER_SECONDS) != _SURVIVED:
            self.failure = "the tests fail without any mistake, in another order"
            return True
        for mutant in self.chosen:
            self.verdicts.append(self._try(mutant, session.items, seconds, lines, originals))
        return True

    def _cover(self, items: Sequence[pytest.Item], paths: Collection[str]) -> bytes:
        """How long each test took, and which have come by which lines; nothing if one failed."""
        seconds: list[float] = []
        lines: dict[str, list[int]] = defaultdict(list)
        for number, item in enumerate(items):
            seen: set[str] = set()
            trace = _tracer(paths, seen)
            begun = time.perf_counter()
            sys.settrace(trace)
            try:
                self._run(item, items[number + 1] if number + 1 < len(items) else None)
            finally:
                sys.settrace(None)
            seconds.append(time.perf_counter() - begun)
            for line in seen:
                lines[line].append(number)
            if self._failed:
                return b""
        return json.dumps((seconds, lines)).encode()

    def _try(
        self,
        mutant: Mutant,
        items: Sequence[pytest.Item],
        seconds: Sequence[float],
        lines: Mapping[str, Sequence[int]],
        originals: Mapping[tuple[str, str, int], CodeType],
    ) -> Verdict:
        original = originals.get((mutant.path, mutant.function, mutant.function_line))
        if original is None:
            return Verdict(mutant, "not run", 0)
        covering = sorted(_covering(mutant, original, lines), key=seconds.__getitem__)
        if not covering:
            return Verdict(mutant, "not run", 0)
        patience = _LEAST_SECONDS + min(_MOST_SECONDS, _SLOWER * sum(seconds[number] for number in covering))

        def child() -> bytes:
            _put(original, mutant.code())
            return self._run_all(items, covering)

        # a child that dies of it has noticed it too
        said = _in_child(child, patience)
        end = "too slow" if said is None else (said or _NOTICED).decode()
        return Verdict(mutant, end, len(covering))

    def _run_all(self, items: Sequence[pytest.Item], numbers: Sequence[int]) -> bytes:
        """Until one fails."""
        for at, number in enumerate(numbers):
            self._run(items[number], items[numbers[at + 1]] if at + 1 < len(numbers) else None)
            if self._failed:
                return _NOTICED
        return _SURVIVED

    @staticmethod
    def _run(item: pytest.Item, following: pytest.Item | None) -> None:
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def _covering(mutant: Mutant, original: CodeType, lines: Mapping[str, Sequence[int]]) -> Sequence[int]:
    """A line that is none for Python belongs to the one before, such as within a call that is written in several."""
    known = _lines_of(original)
    at = mutant.line
    while at > mutant.function_line and at not in known:
        at -= 1
    return lines.get(_place(mutant.path, at), ())


def _lines_of(code: CodeType) -> set[int]:
    within = [each for each in code.co_consts if isinstance(each, CodeType)]
    return {line for _, _, line in code.co_lines() if line}.union(*map(_lines_of, within))


def _place(path: str, line: int) -> str:
    return f"{path}:{line}"


def _tracer(paths: Collection[str], seen: set[str]) -> Trace:
    def local(frame: FrameType, event: str, argument: Any) -> Any:
        seen.add(_place(frame.f_code.co_filename, frame.f_lineno))
        return local

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        return local(frame, event, argument) if frame.f_code.co_filename in paths else None

    return trace


def _loaded(paths: Collection[str]) -> Mapping[tuple[str, str, int], CodeType]:
    """The code of the modules' functions as it is in use."""
    codes = (each.__code__ for each in gc.get_objects() if isinstance(each, FunctionType))
    return {
        (code.co_filename, code.co_qualname, code.co_firstlineno): code for code in codes if code.co_filename in paths
    }


def _put(original: CodeType, code: CodeType) -> None:
    """Whoever has the function has it with the mistake from now on."""
    for each in gc.get_referrers(original):
        if isinstance(each, FunctionType):
            each.__code__ = code


def _in_child(work: Callable[[], bytes], seconds: float) -> bytes | None:
    """What comes of it in a process of its own; empty if that has died, None if it took too long."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_child(work, writing)
    os.close(writing)
    said, end = b"", time.monotonic() + seconds
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, end - time.monotonic()))
        data = os.read(reading, 1 << 20) if ready else None
        if not data:
            break
        said += data
    os.close(reading)
    if data is None:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None if data is None else said


def _be_child(work: Callable[[], bytes], writing: int) -> None:
    """Never returns."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_OCTETS, _MOST_OCTETS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        said = work()
        while said:
            said = said[os.write(writing, said) :]
    except BaseException:  # whatever it is, the mistake has shown
        os._exit(1)
    finally:
        os._exit(0)
